// Reads a journal line by line in bounded memory; what is wrong with it is said with its line.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "engine/journal/format.h"
#include "engine/journal/frame_file.h"

namespace servetwin {

using JournalEntry = std::variant<RequestSpec, JournalEvent>;

struct JournalLimits {
  FrameLimits frame;
  std::uint64_t max_line_bytes = std::uint64_t{16} << 20;
  std::size_t max_awaited = 1'000'000;  // requests with a row that have not arrived
};

// A file that is no journal, has another version or holds a broken line is a ConfigError; one that cannot be
// opened is an IoError. A torn end is neither: the entries before it are given and torn() says so.
class JournalReader {
 public:
  explicit JournalReader(const std::string& path, const JournalLimits& limits = {});
  // `name` stands for the file in messages.
  JournalReader(FilePtr file, std::string name, const JournalLimits& limits = {});

  const JournalHeader& header() const { return header_; }
  const std::string& name() const { return name_; }

  // False at the end. Rows come with rising ids, each before the one Arrived of its request.
  bool next(JournalEntry& out);

  // What next() found at the end; final once it returned false.
  const std::optional<JournalFooter>& footer() const { return footer_; }
  bool complete() const { return footer_.has_value() && footer_->complete; }
  bool torn() const { return torn_; }
  // Bytes of the file behind the last whole frame.
  std::uint64_t lost_bytes() const { return lost_bytes_; }
  // Lines read so far.
  std::uint64_t line() const { return line_; }
  // One sentence on the end of the journal for people, empty when it is complete.
  std::string end_text() const;

  // Throws the ConfigError of the line just read.
  [[noreturn]] void fail(const char* code, const std::string& message, const std::string& remedy) const;

 private:
  bool next_line(std::string_view& out);
  bool next_frame();
  void check(const RequestSpec& request);
  void check(const JournalEvent& event);

  std::string name_;
  JournalLimits limits_;
  FrameReader frames_;
  JournalHeader header_;
  std::optional<JournalFooter> footer_;
  std::string frame_;
  std::size_t frame_used_ = 0;
  std::uint64_t line_ = 0;
  std::uint64_t events_ = 0;
  std::optional<RequestId> last_request_;
  std::set<RequestId> awaited_;  // have a row and have not arrived
  bool torn_ = false;
  std::uint64_t lost_bytes_ = 0;
};

}  // namespace servetwin
