// Turns a broken invariant into an exception, so that a test can see it without the process ending.
#pragma once

#include <stdexcept>
#include <string>

#include "engine/base/check.h"

namespace servetwin {

struct BrokenInvariant : std::logic_error {
  using std::logic_error::logic_error;
};

// Stays in force for the rest of the test program.
inline void make_checks_throw() {
  set_check_handler([](const std::string& message) { throw BrokenInvariant(message); });
}

}  // namespace servetwin
