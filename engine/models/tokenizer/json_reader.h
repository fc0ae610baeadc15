// Typed access to a JSON value that knows its place in the file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/models/tokenizer/tokenizer_error.h"

namespace servetwin {

// A view: the JsonFile it comes from must outlive it.
class JsonReader {
 public:
  const TokenizerPlace& place() const { return place_; }

  bool is_text() const;
  bool is_object() const;
  // Whether the key is there and not null.
  bool has(const std::string& key) const;
  // The value of a key, an error when it is absent.
  JsonReader at(const std::string& key) const;
  std::vector<JsonReader> items() const;
  std::vector<JsonReader> items(const std::string& key) const { return at(key).items(); }
  // The keys of an object.
  std::vector<std::string> keys() const;
  std::string text(const std::string& key) const { return at(key).text(); }
  std::string text() const;
  bool flag(const std::string& key, bool absent) const;
  std::int64_t integer() const;
  // The value of "type".
  std::string type() const { return text("type"); }
  // Refuses any key of the object that is not among `known`.
  void only(const std::vector<std::string>& known) const;

 private:
  friend class JsonFile;
  JsonReader(const void* value, TokenizerPlace place) : value_(value), place_(std::move(place)) {}

  const void* value_;  // of the JSON library, whose headers stay out of this one
  TokenizerPlace place_;
};

// Throws ConfigError for text that is no JSON object or is nested too deep.
class JsonFile {
 public:
  JsonFile(const std::string& text, const std::string& file);
  JsonFile(const JsonFile&) = delete;
  JsonFile& operator=(const JsonFile&) = delete;
  ~JsonFile();

  JsonReader root() const;

 private:
  struct Value;
  std::unique_ptr<Value> value_;
  std::string file_;
};

}  // namespace servetwin
