// The two streams of the program: data on standard output, messages and progress on standard error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace servetwin {

// Colour and progress only where a person looks: never into a file or a pipe, nor with NO_COLOR or TERM=dumb.
// Takes the places of standard streams that are closed, so that no file opened later becomes one of them;
// reading or writing them still fails.
void keep_standard_streams();

class Terminal {
 public:
  Terminal();

  // Data. A stream that does not take it is an IoError, at the latest from flush().
  void out(std::string_view text);
  void flush();
  // Messages; failures are ignored, for there is nobody left to tell.
  void err(std::string_view text);
  // A line that the next one replaces; nothing unless standard error is a terminal. Empty: the line is wiped.
  void progress(std::string_view line);

  bool styles() const { return colour_out_; }  // emphasis on standard output
  bool shows_progress() const { return shows_progress_; }
  std::string bold(std::string_view text) const;      // for standard output
  std::string alarming(std::string_view text) const;  // for standard error

 private:
  bool colour_out_ = false;
  bool colour_err_ = false;
  bool shows_progress_ = false;
  bool line_open_ = false;
  std::string buffer_;
  std::uint64_t written_ = 0;
};

}  // namespace servetwin
