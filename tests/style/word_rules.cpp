// Forbidden words per folder, one table row a reason.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/style/rules.h"

namespace servetwin::style {
namespace {

enum class Where { everywhere, headers, calls };

struct WordRule {
  std::vector<std::string> words;    // whole words; a * at an end lets the word go on there
  std::vector<std::string> folders;  // where they are refused; empty for all C++ files
  std::vector<std::string> except;   // files or folders that may
  Where where = Where::everywhere;
  std::string reason;
};

// Where results are made: nothing here may depend on a clock, a compiler, a library version or a hash seed.
const std::vector<std::string> kExact{
    "engine/base/", "engine/serving/", "engine/workload/", "engine/metrics/", "sim/", "costmodels/"};
const std::vector<std::string> kCore{"engine/serving/", "sim/"};

const std::vector<WordRule>& word_rules() {
  static const std::vector<WordRule> kRules{
      {{"system_clock", "steady_clock", "high_resolution_clock", "clock_gettime", "gettimeofday", "<ctime>",
        "std::time", "std::clock"},
       kExact,
       {},
       Where::everywhere,
       "no wall clock here: time comes in with each event"},
      {{"unordered_*"},
       kExact,
       {},
       Where::everywhere,
       "iteration order would reach a result: use flat_map or a map"},
      {{"std::*_distribution", "std::shuffle", "random_device", "mt19937*", "default_random_engine", "rand",
        "srand"},
       kExact,
       {},
       Where::everywhere,
       "draws come from the Philox streams and our own samplers"},
      {{"log",  "log2",  "log10", "log1p", "exp", "exp2", "expm1",  "pow",    "sin",  "cos",  "tan", "tanh",
        "atan", "atan2", "cbrt",  "hypot", "erf", "erfc", "tgamma", "lgamma", "logf", "expf", "powf"},
       kExact,
       {},
       Where::calls,
       "libm changes bits between machines: use engine/base/det_math.h"},
      {{"duration<double*", "duration<float*", "float"},
       kExact,
       {"engine/base/time.h", "engine/base/dequantise"},
       Where::everywhere,
       "time is integer nanoseconds and single precision is for kernels only"},
      {{"<iostream>", "<iomanip>", "std::locale", "imbue", "std::setlocale"},
       kExact,
       {},
       Where::everywhere,
       "output does not depend on a locale: use std::to_chars or fmt"},
      {{"<thread>", "<mutex>", "<atomic>", "<future>", "<condition_variable>", "std::thread", "std::async"},
       {"engine/serving/", "engine/base/", "engine/workload/", "sim/core/", "sim/backend/", "costmodels/"},
       {},
       Where::everywhere,
       "one simulation is one thread"},
      {{"#ifdef*", "#ifndef*", "#if"},
       kCore,
       {},
       Where::everywhere,
       "no conditional compilation in the core"},
      {{"<fstream>", "std::ifstream", "std::ofstream", "fopen", "getenv"},
       kCore,
       {},
       Where::everywhere,
       "the core does no I/O"},
      {{"using namespace"}, {}, {}, Where::headers, "a header would force it on whoever includes it"},
      {{"shared_ptr", "make_shared"}, {}, {}, Where::everywhere, "ownership has one owner"},
      {{"std::regex", "<regex>"}, {}, {}, Where::everywhere, "std::regex overflows the stack on long input"},
      {{"#define"},
       {},
       {"engine/base/check.h", "tests/support/", "tests/emulator/include/", "tests/emulator/sanitizer.h",
        "tests/emulator/front_end/include/"},
       Where::everywhere,
       "no macro but CHECK_INVARIANT"},
      {{"asm", "cooperative_groups", "clock64", "__activemask", "__threadfence*", "<<<", "__shared__"},
       {"kernels/"},
       {"kernels/cuda/launch.cuh"},
       Where::everywhere,
       "kernels stay what the emulator runs and checks; docs/cuda.md has the rules"},
  };
  return kRules;
}

// A word with a * inside stands for both of its ends in one token: "std::*_distribution".
bool has_word(std::string_view line, std::string_view word) {
  const std::size_t star = word.find('*', 1);
  if (star == std::string_view::npos || star + 1 == word.size()) {
    return find_word(line, word, 0) != std::string_view::npos;
  }
  const std::string head = std::string(word.substr(0, star)) + "*";
  for (std::size_t at = find_word(line, head, 0); at != std::string_view::npos;
       at = find_word(line, head, at + 1)) {
    std::size_t end = at + star;
    while (end < line.size() && is_identifier_char(line[end])) ++end;
    if (line.substr(at, end - at).ends_with(word.substr(star + 1))) return true;
  }
  return false;
}

// A free call of the standard library's `name`: plain or std::, not a member and not another namespace's.
bool has_call(std::string_view line, std::string_view name) {
  for (std::size_t at = find_word(line, name, 0); at != std::string_view::npos;
       at = find_word(line, name, at + 1)) {
    const std::string_view before = line.substr(0, at);
    const std::string_view after = trimmed(line.substr(at + name.size()));
    const bool member = before.ends_with(".") || before.ends_with("->");
    const bool elsewhere = before.ends_with("::") && !before.ends_with("std::");
    if (after.starts_with("(") && !member && !elsewhere) return true;
  }
  return false;
}

bool applies(const WordRule& rule, std::string_view path) {
  if (!is_cpp(path) || starts_with_any(path, rule.except)) return false;
  if (rule.where == Where::headers && !is_header(path)) return false;
  const bool cost_function = path.starts_with("kernels/") && path.find("_cost.") != std::string_view::npos;
  const bool exact = rule.folders == kExact && cost_function;
  return rule.folders.empty() || exact || starts_with_any(path, rule.folders);
}

void check_words(const WordRule& rule, const SourceFile& file, Findings& findings) {
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    for (const std::string& word : rule.words) {
      const bool found =
          rule.where == Where::calls ? has_call(file.code[i], word) : has_word(file.code[i], word);
      if (found) findings.push_back({file.path, i + 1, "`" + word + "`: " + rule.reason});
    }
  }
}

// Paths of a particular machine, and marks of work left undone.
const std::vector<std::string> kEnvironmentWords{"/tmp/", "/root/", "/home/", "TODO", "FIXME", "XXX", "HACK"};

}  // namespace

Findings word_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    for (const WordRule& rule : word_rules()) {
      if (applies(rule, file.path)) check_words(rule, file, findings);
    }
  }
  return findings;
}

Findings environment_findings(const Tree& tree) {
  Findings findings;
  for (const SourceFile& file : tree) {
    if (file.path.starts_with("tests/style/")) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string& word : kEnvironmentWords) {
        if (has_word(file.lines[i], word)) findings.push_back({file.path, i + 1, "says `" + word + "`"});
      }
    }
  }
  return findings;
}

}  // namespace servetwin::style
