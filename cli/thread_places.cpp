// Cores are numbers and ranges, as taskset writes them.
#include "cli/thread_places.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/verb.h"
#include "engine/base/text.h"
#include "kernels/thread_place.h"

namespace servetwin {
namespace {

std::vector<int> cores_of(const char* verb, const std::string& list) {
  const std::vector<int> allowed = cpus_of_this_thread();
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("servetwin {}: --cpus takes cores such as 0-2,4, each once; {}; there are {}", verb, why,
                    fmt::join(allowed, ",")));
  };
  std::vector<int> cores;
  std::size_t at = 0;
  while (at <= list.size()) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string range = list.substr(at, end - at);
    const std::size_t dash = range.find('-');
    const auto first = parse_integer(range.substr(0, dash));
    const auto last = dash == std::string::npos ? first : parse_integer(range.substr(dash + 1));
    if (!first || !last || *first.value > *last.value || *last.value > allowed.back()) {
      refuse('"' + range + "\" is none");
    }
    for (auto core = static_cast<int>(*first.value); core <= *last.value; ++core) {
      if (std::find(allowed.begin(), allowed.end(), core) == allowed.end()) {
        refuse(std::to_string(core) + " is none");
      }
      if (std::find(cores.begin(), cores.end(), core) != cores.end()) {
        refuse(std::to_string(core) + " stands twice");
      }
      cores.push_back(core);
    }
    at = end + 1;
  }
  return cores;
}

}  // namespace

void ThreadPlaces::declare(Arguments& arguments) {
  arguments.option("--cpus", "LIST", list_,
                   "Cores, such as 0-2,4: one for each compute thread, the rest for all others.");
}

void ThreadPlaces::take(const char* verb, std::size_t compute_threads) {
  if (list_.empty()) return;
  const std::vector<int> cores = cores_of(verb, list_);
  if (cores.size() < compute_threads) {
    throw UsageError(fmt::format("servetwin {}: {} compute threads need a core each, and --cpus {} has {}",
                                 verb, compute_threads, list_, cores.size()));
  }
  const auto rest = cores.begin() + static_cast<std::ptrdiff_t>(compute_threads);
  compute_.assign(cores.begin(), rest);
  others_.assign(rest == cores.end() ? cores.begin() : rest, cores.end());
  keep_this_thread_on(others_);
}

std::string ThreadPlaces::text() const {
  if (others_.empty()) return "";
  const std::string others = fmt::format("{}", fmt::join(others_, ","));
  if (compute_.empty()) return fmt::format("threads: all on cores {}\n", others);
  return fmt::format("threads: compute on core {}, one each; all others on {}\n", fmt::join(compute_, ","),
                     others);
}

}  // namespace servetwin
