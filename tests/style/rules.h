// The style rules: each reads a tree and says what it refuses and where.
#pragma once

#include <set>
#include <string>

#include "tests/style/tree.h"

namespace servetwin::style {

// Includes follow the arrows between folders of docs/architecture.md; heavy headers stay out of headers.
Findings include_findings(const Tree& tree);

// Words that a folder may not use: clocks, unordered containers, library mathematics, macros, and so on.
Findings word_findings(const Tree& tree);

// The project speaks of itself alone: no path or word of the place where it was written.
Findings environment_findings(const Tree& tree);

// Lines per file and per function, columns per line.
Findings budget_findings(const Tree& tree);

// Every file opens with one to three comment lines on its role, which an empty comment line ends where an
// example follows; a header goes on with #pragma once.
Findings role_findings(const Tree& tree);

// Files with test cases are compiled a dozen at a time: each has a namespace of its own, named after it.
Findings namespace_findings(const Tree& tree);

// The names of all test cases of the tree.
std::set<std::string> test_case_names(const Tree& tree);

// Each numbered invariant of docs/invariants.md names, in quotes or backticks, a test case that exists.
Findings invariant_findings(const Tree& tree);

// Each scenario file is named in docs/scenarios.md.
Findings scenario_findings(const Tree& tree);

// The files and tests that docs/glossary.csv names exist; a term is done only with both.
Findings glossary_findings(const Tree& tree);

// A shown command of ours stands in a ```sh block, which tests/docs runs, or in a ```text block, which it
// does not.
Findings command_findings(const Tree& tree);

}  // namespace servetwin::style
