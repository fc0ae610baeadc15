// Reports a broken invariant with everything needed to replay it.
#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace servetwin {
namespace {

void print_and_abort(const std::string& message) {
  std::fputs(message.c_str(), stderr);
  std::fflush(stderr);
  std::abort();
}

CheckHandler& handler() {
  static CheckHandler current = &print_and_abort;
  return current;
}

}  // namespace

CheckContext& check_context() {
  thread_local CheckContext context;
  return context;
}

void set_check_handler(CheckHandler new_handler) { handler() = new_handler; }

void check_failed(const char* file, int line, const char* expression, const std::string& values) {
  const CheckContext& context = check_context();
  std::ostringstream out;
  out << "invariant broken: " << expression << " at " << file << ':' << line;
  if (!values.empty()) out << " with " << values;
  out << "(seed " << context.seed << ", time " << context.time_ns << " ns, event " << context.event_number
      << ")\n";
  handler()(out.str());
  std::abort();
}

}  // namespace servetwin
