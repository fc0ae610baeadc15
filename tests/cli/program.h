// Runs the built program as a user does: a process with its own folder, streams and environment.
#pragma once

#include <string>
#include <vector>

namespace servetwin::test {

struct Outcome {
  int code = -1;  // exit code; 128 + signal when one ended it
  std::string out;
  std::string err;
};

// A folder that is gone with this object; commands run in it.
class Playground {
 public:
  Playground();
  ~Playground();
  Playground(const Playground&) = delete;
  Playground& operator=(const Playground&) = delete;

  // `command` is a line for sh in which $S stands for the program.
  Outcome run(const std::string& command) const;
  std::string read(const std::string& file) const;
  void write(const std::string& file, const std::string& text) const;
  bool has(const std::string& file) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A scenario that takes no time to run: three requests, 10 ms a step, in tiny.yaml with its files.
void write_tiny(const Playground& ground);
// The same with two classes, chat and document, of which chat has a TTFT of its own that one request misses.
void write_tiny_classes(const Playground& ground);
bool contains(const std::string& text, const std::string& part);

}  // namespace servetwin::test
