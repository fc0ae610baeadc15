// Fails when the installed archive loses plug-ins, which nothing names and a linker would drop.
#include <algorithm>
#include <cstdio>

#include "engine/base/registry.h"
#include "engine/serving/router.h"

int main() {
  const auto names = servetwin::Registry<servetwin::Router>::instance().names();
  if (std::find(names.begin(), names.end(), "round_robin") == names.end()) {
    std::puts("the installed archive has no router named round_robin");
    return 1;
  }
  std::printf("%zu routers\n", names.size());
  return 0;
}
