// JSON of model files, event by event, with what ordinary parsers let pass refused: duplicate keys, depth.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace servetwin {

// A reader derives and says what each event means. `depth()` counts the objects and arrays that are open:
// a value directly inside the outermost object comes at depth 1, and `path(1)` is its key. In handlers of an
// object or array that begins, it counts already; when one ends, no longer.
class StrictJson {
 public:
  // Keys and texts are valid UTF-8, numbers whole and not negative; the outermost value is an object.
  // Everything else, and more than 8 levels, is a ConfigError.
  void parse(const std::string& text);

 protected:
  explicit StrictJson(std::string file) : file_(std::move(file)) {}
  virtual ~StrictJson() = default;
  StrictJson(const StrictJson&) = delete;
  StrictJson& operator=(const StrictJson&) = delete;

  virtual void on_key() {}
  virtual void on_twice() = 0;  // a key that its object has already; must throw
  virtual void on_object() = 0;
  virtual void on_object_end() {}
  virtual void on_array() = 0;
  virtual void on_text(std::string value) = 0;
  virtual void on_count(std::uint64_t value) = 0;

  std::size_t depth() const { return open_.size(); }
  // The key at a level, from 1; of a level that is an array, empty.
  const std::string& path(std::size_t level) const { return open_[level - 1].key; }
  [[noreturn]] void fail(const char* code, std::string message, std::string remedy = "") const;
  // The value found here is `kind`, which nothing may be here.
  [[noreturn]] void wrong_kind(const char* kind) const;

 private:
  struct Level {
    std::string key;
    std::set<std::string> seen;
  };
  friend class JsonEvents;

  std::string file_;
  std::vector<Level> open_;
};

}  // namespace servetwin
