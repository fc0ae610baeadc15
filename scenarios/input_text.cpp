// Opens, measures and checks a text before any parser sees it.
#include "scenarios/input_text.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/text.h"

namespace servetwin {
namespace {

// Closes on every way out of the reader.
class FileHandle {
 public:
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  ~FileHandle() {
    if (descriptor_ > STDERR_FILENO) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void refuse(const std::string& file, const char* code, std::string message, std::string remedy) {
  throw ConfigError(Problem{code, SourcePlace{file, 0, 0}, "", std::move(message), std::move(remedy)});
}

[[noreturn]] void refuse_size(const std::string& file) {
  refuse(file, "CFG004", "larger than 16 MiB",
         "a scenario is a few kB; data belong into a trace file that it names");
}

int open_regular(const std::string& path) {
  if (auto problem = file_problem(path)) throw ConfigError(std::move(*problem));
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && status.st_size > static_cast<off_t>(kMaxInputBytes)) {
    refuse_size(path);
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    refuse(path, "CFG003", std::string("cannot be read: ") + std::strerror(errno), "check its permissions");
  }
  return descriptor;
}

// Length of the UTF-8 sequence at `i`, or 0: overlong forms, surrogates and values above U+10FFFF are no
// UTF-8.
std::size_t utf8_length(const std::string& text, std::size_t i) {
  const auto byte = [&](std::size_t k) {
    return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : std::uint8_t{0};
  };
  const auto tail = [&](std::size_t k) { return (byte(k) & 0xC0U) == 0x80U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned second = byte(1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned second = byte(1);
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

bool is_control(unsigned char c) { return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F; }

std::optional<Problem> text_problem(const std::string& text, const std::string& file) {
  SourcePlace place{file, 1, 1};
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    place.column = static_cast<int>(i - line_start) + 1;
    const std::size_t length = utf8_length(text, i);
    if (length == 0) {
      return Problem{"CFG006", place, "", "is not valid UTF-8", "save the file as UTF-8"};
    }
    const auto c = static_cast<unsigned char>(text[i]);
    if (is_control(c)) {
      return Problem{"CFG006", place, "", "holds the control character " + std::to_string(int{c}),
                     "remove it"};
    }
    i += length;
    if (c == '\n') {
      line_start = i;
      ++place.line;
    } else if (i - line_start > kMaxInputLine) {
      return Problem{"CFG014", place, "", "has a line of more than 65,536 bytes", "break the line"};
    }
  }
  return std::nullopt;
}

std::string with_plain_line_ends(const std::string& text, std::size_t start) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = start; i < text.size(); ++i) {
    if (text[i] != '\r') {
      result += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      result += '\n';
    }
  }
  return result;
}

}  // namespace

std::optional<Problem> file_problem(const std::string& path) {
  const auto problem = [&](const char* code, std::string message, std::string remedy) {
    return Problem{code, SourcePlace{path, 0, 0}, "", std::move(message), std::move(remedy)};
  };
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    const int why = errno;
    if (why == ENOENT) return problem("CFG001", "no such file", "check the path");
    return problem("CFG003", std::string("cannot be read: ") + std::strerror(why),
                   "check the path and its permissions");
  }
  if (S_ISDIR(status.st_mode)) return problem("CFG002", "is a directory", "name a file in it");
  if (S_ISREG(status.st_mode)) return std::nullopt;
  return problem("CFG002", "is not a regular file", "name a regular file, or - for standard input");
}

std::string read_input(const std::string& path) {
  const bool from_stdin = path == "-";
  const FileHandle file(from_stdin ? STDIN_FILENO : open_regular(path));
  std::string text;
  char buffer[std::size_t{1} << 16];
  for (;;) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count == 0) break;
    if (count < 0) {
      if (errno == EINTR) continue;
      refuse(path, "CFG003", std::string("cannot be read: ") + std::strerror(errno), "check the file");
    }
    text.append(buffer, static_cast<std::size_t>(count));
    if (text.size() > kMaxInputBytes) refuse_size(path);
  }
  return text;
}

std::string clean_text(std::string text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.size() > kMaxInputBytes) refuse_size(file);
  const std::size_t start =
      text.compare(0, kByteOrderMark.size(), kByteOrderMark) == 0 ? kByteOrderMark.size() : 0;
  std::string clean = with_plain_line_ends(text, start);
  if (auto problem = text_problem(clean, file)) throw ConfigError(std::move(*problem));
  if (clean.find_first_not_of(" \t\n") == std::string::npos) {
    refuse(file, "CFG005", "is empty", "`servetwin init` writes a scenario to start from");
  }
  return clean;
}

}  // namespace servetwin
