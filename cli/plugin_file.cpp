// Reads the mark in the file before any of its code may run, then loads it.
#include "cli/plugin_file.h"

#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"
#include "generated/servetwin_abi.h"

namespace servetwin {
namespace {

const std::string kOwnMark = SERVETWIN_PLUGIN_ABI;

[[noreturn]] void reject(const std::string& code,
                         const std::string& file,
                         const std::string& message,
                         const std::string& remedy) {
  throw ConfigError(Problem{code, SourcePlace{file, 0, 0}, "", message, remedy});
}

// The mark with what follows it up to its end; empty when there is none.
std::string mark_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) reject("PLG001", file, "cannot be read", "name a shared object made for this program");
  const std::string start = kOwnMark.substr(0, kOwnMark.find(' ') + 1);
  const std::size_t at = bytes.find(start);
  return at == std::string::npos ? "" : bytes.substr(at, std::min(bytes.find('\0', at), at + 100) - at);
}

std::string& loading() {
  static std::string file;
  return file;
}

}  // namespace

const std::string& plugin_being_loaded() { return loading(); }

void load_plugin(const std::string& file) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed))
    reject("PLG001", file, "no such file", "name a shared object made for this program");
  const std::string mark = mark_of(file);
  if (mark.empty())
    reject("PLG001", file, "is no plug-in of this program",
           "make it with servetwin_add_plugin() of its package");
  if (mark != kOwnMark)
    reject("PLG002", file, "was made for '" + mark + "', and this is '" + kOwnMark + "'",
           "compile it against the headers installed with this program");
  loading() = file;
  void* const handle = dlopen(std::filesystem::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  loading().clear();
  if (handle == nullptr) reject("PLG003", file, dlerror(), "see `servetwin explain PLG003`");
}

}  // namespace servetwin
