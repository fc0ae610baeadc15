// Asks addr2line, which every compiler here brings along; only failures come this way.
#include "tests/emulator/source_line.h"

#include <cstdint>
#include <cstdio>
#include <dlfcn.h>
#include <map>
#include <memory>

namespace servetwin::emulator {

namespace {

std::string asked(const void* caller) {
  char address[32];
  std::snprintf(address, sizeof address, "%p", caller);
  Dl_info object{};
  if (dladdr(caller, &object) == 0 || object.dli_fname == nullptr) return address;
  // The call before the address that it returns to.
  const auto offset =
      reinterpret_cast<std::uintptr_t>(caller) - reinterpret_cast<std::uintptr_t>(object.dli_fbase) - 1;
  char command[4096];
  std::snprintf(command, sizeof command, "addr2line -e '%s' %#jx 2>&1", object.dli_fname,
                static_cast<std::uintmax_t>(offset));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command, "r"), pclose);
  char line[4096] = "";
  if (pipe == nullptr || std::fgets(line, sizeof line, pipe.get()) == nullptr) return address;
  std::string text(line);
  text = text.substr(text.rfind('/') + 1);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (const std::size_t note = text.find(" ("); note != std::string::npos) text.resize(note);
  return text.find(':') == std::string::npos || text.starts_with("?") ? address : text;
}

}  // namespace

std::string source_line(const void* caller) {
  static std::map<const void*, std::string> known;
  const auto [entry, is_new] = known.try_emplace(caller);
  if (is_new) entry->second = asked(caller);
  return entry->second;
}

}  // namespace servetwin::emulator
