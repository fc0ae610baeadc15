// Adapts the JSON library's events; the library checks grammar and UTF-8.
#include "engine/models/checkpoints/strict_json.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/models/checkpoints/model_error.h"

namespace servetwin {

namespace {
constexpr std::size_t kMaxDepth = 8;
}

class JsonEvents final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonEvents(StrictJson& reader) : reader_(reader) {}

  bool null() override { reader_.wrong_kind("null"); }
  bool boolean(bool /*value*/) override { reader_.wrong_kind("a boolean"); }
  bool number_integer(number_integer_t value) override {
    reader_.fail(kModelHeaderField, "has a negative number: " + std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    require_object();
    reader_.on_count(value);
    return true;
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    reader_.fail(kModelHeaderField, "has a number that is not whole or above 2^64: " + printable(text));
  }
  bool string(string_t& value) override {
    require_object();
    reader_.on_text(std::move(value));
    return true;
  }
  bool binary(binary_t& /*value*/) override { reader_.wrong_kind("binary data"); }

  bool start_object(std::size_t /*size*/) override {
    open();
    reader_.on_object();
    return true;
  }
  bool key(string_t& name) override {
    StrictJson::Level& level = reader_.open_.back();
    level.key = name;
    if (!level.seen.insert(std::move(name)).second) reader_.on_twice();
    reader_.on_key();
    return true;
  }
  bool end_object() override {
    reader_.open_.pop_back();
    reader_.on_object_end();
    return true;
  }
  bool start_array(std::size_t /*size*/) override {
    require_object();
    open();
    reader_.on_array();
    return true;
  }
  bool end_array() override {
    reader_.open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t /*position*/,
                   const std::string& /*token*/,
                   const nlohmann::json::exception& error) override {
    fail_model(reader_.file_, "", {kModelHeaderText, std::string("is no JSON: ") + error.what()});
  }

 private:
  void require_object() const {
    if (reader_.open_.empty()) fail_model(reader_.file_, "", {kModelHeaderText, "is no JSON object"});
  }
  void open() {
    if (reader_.open_.size() == kMaxDepth) reader_.fail(kModelHeaderText, "is nested deeper than 8 levels");
    reader_.open_.emplace_back();
  }

  StrictJson& reader_;
};

void StrictJson::parse(const std::string& text) {
  open_.clear();
  JsonEvents events(*this);
  nlohmann::json::sax_parse(text, &events);
}

void StrictJson::fail(const char* code, std::string message, std::string remedy) const {
  ModelFault fault{code, std::move(message)};
  if (!remedy.empty()) fault.remedy = std::move(remedy);
  fail_model(file_, open_.empty() ? "" : open_.front().key, std::move(fault));
}

void StrictJson::wrong_kind(const char* kind) const {
  std::string where = "the outermost level";
  for (std::size_t i = 1; i < open_.size(); ++i)
    where = open_[i].key.empty() ? where : printable(open_[i].key);
  fail(kModelHeaderField, std::string("has ") + kind + " where none may be, in " + where);
}

}  // namespace servetwin
