// Bad input: an error that names the place and the remedy. Thrown only while reading; caught once in main.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace servetwin {

// Where in a file something stands; line and column count from 1, 0 means unknown.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;
};

// One thing wrong with the input.
struct Problem {
  std::string code;  // stable code, for example CFG003, explained by `servetwin explain CFG003`
  SourcePlace place;
  std::string path;     // key path, for example spec.engine.block_size; empty when there is none
  std::string message;  // what is wrong, with the value found
  std::string remedy;   // what to do, for example the nearest valid name
};

// "file:line:col: path: message (remedy) [code]"
std::string to_string(const Problem& problem);

// One or more problems with the input; exit code 2.
class ConfigError : public std::runtime_error {
 public:
  explicit ConfigError(Problem problem);
  explicit ConfigError(std::vector<Problem> problems);
  const std::vector<Problem>& problems() const { return problems_; }

 private:
  std::vector<Problem> problems_;
};

// A file cannot be read or written (disk full, permission); exit code 4.
class IoError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What computes failed on the way, for example a rank of a model; exit code 4.
class ExecutionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The nearest of `candidates` to `word` by edit distance, or empty when none is near enough to suggest.
std::string nearest_name(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace servetwin
