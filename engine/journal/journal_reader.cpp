// Only whole frames are believed: their checksum covers every line in them.
#include "engine/journal/journal_reader.h"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>
#include <utility>

#include "engine/base/error.h"
#include "engine/journal/line_codec.h"

namespace servetwin {
namespace {

constexpr const char* kRecordAgain = "record the run again";

FilePtr open_file(const std::string& path) {
  FilePtr file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) throw IoError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  return file;
}

// The replica an event names, or nothing.
std::optional<ReplicaId> replica_of(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::optional<ReplicaId> {
        if constexpr (requires { e.replica; }) return e.replica;
        return std::nullopt;
      },
      event);
}

std::optional<RequestId> request_of(const Event& event) {
  return std::visit(
      [](const auto& e) -> std::optional<RequestId> {
        if constexpr (requires { e.request; }) return e.request;
        return std::nullopt;
      },
      event);
}

}  // namespace

JournalReader::JournalReader(const std::string& path, const JournalLimits& limits)
    : JournalReader(open_file(path), path, limits) {}

JournalReader::JournalReader(FilePtr file, std::string name, const JournalLimits& limits)
    : name_(std::move(name)), limits_(limits), frames_(std::move(file), limits.frame) {
  std::string_view text;
  if (!next_line(text))
    fail("JRN001", "holds no whole journal header", "give a journal.jsonl.zst that servetwin wrote");
  JournalLine line;
  const std::string problem = decode_line(text, line);
  const auto* header = std::get_if<JournalHeader>(&line);
  if (header == nullptr || !problem.empty()) {
    fail("JRN001", problem.empty() ? "the first line is no journal header" : problem, kRecordAgain);
  }
  if (header->version != kJournalVersion) {
    fail("JRN002",
         fmt::format("journal version {} is unknown; this build reads version {}", header->version,
                     kJournalVersion),
         "use the build that wrote it");
  }
  header_ = *header;
}

bool JournalReader::next(JournalEntry& out) {
  std::string_view text;
  if (!next_line(text)) return false;
  JournalLine line;
  const std::string problem = decode_line(text, line);
  if (!problem.empty()) fail("JRN004", problem, kRecordAgain);
  if (footer_.has_value()) fail("JRN004", "a line after the footer", kRecordAgain);
  if (auto* event = std::get_if<JournalEvent>(&line)) {
    check(*event);
    out = *event;
    return true;
  }
  if (auto* request = std::get_if<RequestSpec>(&line)) {
    check(*request);
    out = std::move(*request);
    return true;
  }
  const auto* footer = std::get_if<JournalFooter>(&line);
  if (footer == nullptr) fail("JRN004", "a second header", kRecordAgain);
  if (footer->events != events_) {
    fail("JRN004", fmt::format("the footer counts {} events, the journal holds {}", footer->events, events_),
         kRecordAgain);
  }
  footer_ = *footer;
  return next(out);
}

void JournalReader::check(const RequestSpec& request) {
  if (last_request_.has_value() && request.id <= *last_request_) {
    fail("JRN004", fmt::format("request {} after request {}", raw(request.id), raw(*last_request_)),
         kRecordAgain);
  }
  last_request_ = request.id;
  awaited_.insert(request.id);
  if (awaited_.size() > limits_.max_awaited) {
    fail("JRN005", fmt::format("more than {} requests have not arrived yet", limits_.max_awaited),
         kRecordAgain);
  }
}

void JournalReader::check(const JournalEvent& event) {
  ++events_;
  const std::optional<ReplicaId> replica = replica_of(event.stamped.event);
  if (replica.has_value() && raw(*replica) >= header_.replicas) {
    fail("JRN004", fmt::format("replica {} of {}, counted from 0", raw(*replica), header_.replicas),
         kRecordAgain);
  }
  const std::optional<RequestId> request = request_of(event.stamped.event);
  if (request.has_value() && (!last_request_.has_value() || *request > *last_request_)) {
    fail("JRN004", fmt::format("request {} has no row before its event", raw(*request)), kRecordAgain);
  }
  if (kind_of(event.stamped.event) == EventKind::kArrived && awaited_.erase(*request) == 0) {
    fail("JRN004", fmt::format("request {} arrives twice", raw(*request)), kRecordAgain);
  }
}

bool JournalReader::next_line(std::string_view& out) {
  if (frame_used_ == frame_.size() && !next_frame()) return false;
  const std::string_view rest = std::string_view(frame_).substr(frame_used_);
  const std::size_t length = rest.find('\n');
  ++line_;
  if (length == std::string_view::npos) fail("JRN003", "a frame ends within a line", kRecordAgain);
  if (length > limits_.max_line_bytes) {
    fail("JRN005", fmt::format("a line of {} bytes; at most {} are read", length, limits_.max_line_bytes),
         kRecordAgain);
  }
  frame_used_ += length + 1;
  out = rest.substr(0, length);
  return true;
}

bool JournalReader::next_frame() {
  frame_used_ = 0;
  FrameResult result = FrameResult::kFrame;
  do {
    result = frames_.next(frame_);
  } while (result == FrameResult::kFrame && frame_.empty());
  if (result == FrameResult::kFrame) return true;
  frame_.clear();
  if (result == FrameResult::kEnd) return false;
  if (result == FrameResult::kTorn) {
    torn_ = true;
    lost_bytes_ = frames_.torn_bytes();
    return false;
  }
  if (result == FrameResult::kUnreadable) {
    throw IoError(fmt::format("{}: cannot be read behind byte {}: {}", name_, frames_.frame_offset(),
                              std::strerror(errno)));
  }
  const bool too_large = result == FrameResult::kTooLarge;
  fail(too_large ? "JRN005" : "JRN003",
       fmt::format("the frame at byte {} {}", frames_.frame_offset(),
                   too_large ? "expands too far" : "is damaged or not zstd"),
       kRecordAgain);
}

std::string JournalReader::end_text() const {
  if (complete()) return {};
  if (footer_.has_value()) return "The run was stopped before its end.";
  if (torn_)
    return fmt::format("The end is torn: {} bytes of an unfinished frame after line {} are lost.",
                       lost_bytes_, line_);
  return fmt::format("The journal stops without a footer after line {}.", line_);
}

void JournalReader::fail(const char* code, const std::string& message, const std::string& remedy) const {
  throw ConfigError(Problem{code, {name_, static_cast<int>(line_), 0}, {}, message, remedy});
}

}  // namespace servetwin
