// A file of its own for each test, and helpers to write and read journals in it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "engine/journal/frame_file.h"
#include "engine/journal/journal_reader.h"
#include "engine/journal/journal_writer.h"
#include "engine/journal/line_codec.h"

namespace servetwin {

// Removed when it goes out of scope.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_((std::filesystem::temp_directory_path() /
               ("servetwin_" + name + "_" + std::to_string(::getpid())))
                  .string()) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  const std::string& path() const { return path_; }

  std::string bytes() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  void set_bytes(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // One frame per element.
  void set_frames(const std::vector<std::string>& frames) const {
    FrameWriter writer(path_);
    for (const std::string& frame : frames) {
      writer.write(frame);
      writer.end_frame();
    }
    writer.close();
  }

 private:
  std::string path_;
};

template <class... Lines>
std::string lines_text(const Lines&... lines) {
  std::string text;
  (append_line(text, lines), ...);
  return text;
}

inline JournalEvent event_at(std::int64_t ns, const Event& event, StepId started = StepId{0}) {
  return {{time_at_ns(ns), event}, started, Duration::zero()};
}

inline RequestSpec small_request(std::uint32_t id) {
  RequestSpec request;
  request.id = RequestId{id};
  request.prompt = Tokens{8};
  request.max_tokens = Tokens{4};
  return request;
}

// What a reader gave, written again: equal texts mean equal entries.
inline std::string read_text(JournalReader& reader) {
  std::string text;
  JournalEntry entry;
  while (reader.next(entry)) std::visit([&](const auto& line) { append_line(text, line); }, entry);
  return text;
}

}  // namespace servetwin
