// Tells names from folders and files.
#include "scenarios/model_source.h"

#include <filesystem>
#include <system_error>

#include "engine/base/data_files.h"
#include "engine/models/catalogue.h"
#include "engine/models/checkpoints/gguf_spec.h"
#include "engine/models/checkpoints/weight_source.h"

namespace servetwin {
namespace {

constexpr const char* kDrawn = "servetwin/";  // the catalogue's models whose weights are drawn
constexpr const char* kGgufEnding = ".gguf";

bool is_drawn(const std::string& name) { return name.rfind(kDrawn, 0) == 0; }

bool is_gguf(const std::string& name) {
  std::error_code ignored;
  return name.ends_with(kGgufEnding) || std::filesystem::is_regular_file(name, ignored);
}

bool is_folder(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::is_directory(name, ignored);
}

}  // namespace

ModelSpec named_model(const std::string& name) {
  return is_gguf(name) ? gguf_model_spec(open_gguf(name)) : find_model(name, data_folders());
}

std::string why_no_weights(const std::string& name) {
  if (is_drawn(name) || is_gguf(name) || is_folder(name)) return "";
  return "has no weights here: the catalogue knows its shape only";
}

ModelWeights named_weights(const std::string& name, const ModelSpec& spec, std::uint64_t seed) {
  if (is_drawn(name)) return random_weights(spec, seed);
  return load_weights(open_weights(name));
}

ModelText named_text(const std::string& name) {
  if (is_drawn(name)) return byte_model_text();
  return is_gguf(name) ? gguf_model_text(open_gguf(name).metadata) : read_model_text(name);
}

}  // namespace servetwin
