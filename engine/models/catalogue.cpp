// The table is CSV because it is one: a model a line, a shape a column, blank where a model has none.
#include "engine/models/catalogue.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "engine/base/data_files.h"
#include "engine/base/error.h"
#include "engine/base/params.h"
#include "engine/base/text.h"
#include "engine/base/unit_text.h"
#include "engine/models/config_json.h"

namespace servetwin {
namespace {

constexpr const char* kCatalogue = "costmodels/models/catalogue.csv";

// One line of the table by column name; a blank number is 0.
class Row {
 public:
  Row(const std::map<std::string, std::size_t>& columns, std::vector<std::string> cells, SourcePlace place)
      : columns_(columns), cells_(std::move(cells)), place_(std::move(place)) {}

  const std::string& text(const char* column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end()) fail(kCodeMissing, column, "is no column of the table");
    return cells_[found->second];
  }

  std::int64_t count(const char* column) const {
    if (text(column).empty()) return 0;
    const auto number = parse_integer(text(column));
    if (!number) fail(kCodeBadValue, column, number.message);
    return *number.value;
  }

  bool flag(const char* column) const {
    const auto value = parse_bool(text(column));
    if (!value) fail(kCodeBadValue, column, value.message);
    return *value.value;
  }

  DType dtype(const char* column) const {
    const auto type = dtype_from_name(text(column));
    if (!type) fail(kCodeUnknownName, column, "is \"" + text(column) + "\"");
    return *type;
  }

  [[noreturn]] void fail(const char* code, const std::string& path, const std::string& message) const {
    throw ConfigError(Problem{code, place_, path, message, ""});
  }

 private:
  const std::map<std::string, std::size_t>& columns_;
  std::vector<std::string> cells_;
  SourcePlace place_;
};

ModelSpec spec_of(const Row& row) {
  ModelSpec model;
  model.name = row.text("model");
  model.arch = row.text("arch");
  model.layers = row.count("layers");
  model.hidden = row.count("hidden");
  model.heads = row.count("heads");
  model.kv_heads = row.count("kv_heads");
  model.head_dim = row.count("head_dim");
  model.intermediate = row.count("intermediate");
  model.vocab = row.count("vocab");
  model.max_position = row.count("max_position");
  if (row.count("sliding_window") > 0) model.sliding_window = row.count("sliding_window");
  model.tied_embeddings = row.flag("tied_embeddings");
  model.qkv_bias = row.flag("qkv_bias");
  model.qk_norm = row.flag("qk_norm");
  model.dtype = row.dtype("dtype");
  model.moe = {row.count("experts"), row.count("topk"), row.count("moe_intermediate"),
               row.count("shared_experts"), row.count("first_dense_layers")};
  model.mla = {row.count("kv_lora_rank"), row.count("q_lora_rank"), row.count("qk_rope_head_dim"),
               row.count("qk_nope_head_dim"), row.count("v_head_dim")};
  complete_family(model);
  const std::string problem = problem_of(model);
  if (!problem.empty()) row.fail(kCodeInconsistent, model.name, problem);
  return model;
}

const ModelSpec* find_name(const std::vector<ModelSpec>& models, const std::string& name) {
  for (const ModelSpec& model : models) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

void add_row(const Row& row, std::vector<ModelSpec>& models) {
  const std::string& name = row.text("model");
  if (find_name(models, name) != nullptr) row.fail(kCodeBadValue, name, "stands twice in the table");
  const std::string& alias_of = row.text("alias_of");
  if (alias_of.empty()) {
    models.push_back(spec_of(row));
    return;
  }
  const ModelSpec* original = find_name(models, alias_of);
  if (original == nullptr) row.fail(kCodeUnknownName, name, alias_of + " is no model above this line");
  ModelSpec copy = *original;
  copy.name = name;
  models.push_back(copy);
}

bool names_a_folder(const std::string& name) {
  std::error_code failed;
  if (std::filesystem::is_regular_file(std::filesystem::path(name) / "config.json", failed)) return true;
  return name.rfind('/', 0) == 0 || name.rfind('.', 0) == 0;
}

}  // namespace

std::vector<ModelSpec> read_model_catalogue(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw ConfigError(Problem{kCodeBadValue, {file, 0, 0}, "", "cannot be read", ""});
  std::map<std::string, std::size_t> columns;
  std::vector<ModelSpec> models;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells = split_csv_line(line);
    if (columns.empty()) {
      for (std::size_t i = 0; i < cells.size(); ++i) columns.emplace(cells[i], i);
      continue;
    }
    const std::size_t num_cells = cells.size();
    const Row row(columns, std::move(cells), {file, number, 0});
    if (num_cells != columns.size()) {
      row.fail(
          kCodeBadValue, "",
          std::to_string(num_cells) + " cells under " + std::to_string(columns.size()) + " column names");
    }
    add_row(row, models);
  }
  return models;
}

std::vector<ModelSpec> known_models(const std::vector<std::string>& folders) {
  const auto file = find_data_file(folders, kCatalogue);
  if (!file) {
    throw ConfigError(
        Problem{kCodeBadValue, {kCatalogue, 0, 0}, "", "is in none of: " + join(folders, ", "), ""});
  }
  return read_model_catalogue(*file);
}

ModelSpec find_model(const std::string& name_or_folder, const std::vector<std::string>& folders) {
  if (names_a_folder(name_or_folder)) return read_model_folder(name_or_folder);
  const std::vector<ModelSpec> models = known_models(folders);
  if (const ModelSpec* found = find_name(models, name_or_folder)) return *found;
  std::vector<std::string> names;
  for (const ModelSpec& model : models) names.push_back(model.name);
  const std::string nearest = nearest_name(name_or_folder, names);
  throw ConfigError(Problem{kCodeUnknownName,
                            {},
                            "",
                            "no model is called \"" + name_or_folder + "\"",
                            nearest.empty()
                                ? "`servetwin list models` shows them; or name a folder with config.json"
                                : "did you mean " + nearest + "?"});
}

}  // namespace servetwin
