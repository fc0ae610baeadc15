// If this fails, a model's name gives the wrong shapes, or a broken table is taken without a word.
#include "engine/models/catalogue.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "engine/base/error.h"
#include "engine/base/text.h"
#include "tests/support/catch.h"

namespace servetwin::catalogue_test {
namespace {

const std::vector<std::string> kFolders{SERVETWIN_SOURCE_DIR};

// A table in the test's own folder, removed afterwards.
class TableFile {
 public:
  explicit TableFile(const std::string& text) : path_("catalogue_test.csv") { std::ofstream(path_) << text; }
  ~TableFile() { std::filesystem::remove(path_); }
  TableFile(const TableFile&) = delete;
  TableFile& operator=(const TableFile&) = delete;

  Problem problem() const {
    try {
      read_model_catalogue(path_);
    } catch (const ConfigError& error) {
      return error.problems().front();
    }
    FAIL("was accepted");
    return {};
  }

 private:
  std::string path_;
};

constexpr const char* kHeader =
    "model,alias_of,arch,layers,hidden,heads,kv_heads,head_dim,intermediate,vocab,experts,topk,moe_"
    "intermediate,"
    "shared_experts,first_dense_layers,kv_lora_rank,q_lora_rank,qk_rope_head_dim,qk_nope_head_dim,v_head_dim,"
    "sliding_window,max_position,tied_embeddings,qkv_bias,qk_norm,dtype\n";

TEST_CASE("a second name gives the same model") {
  const ModelSpec a = find_model("meta-llama/Llama-3.1-8B", kFolders);
  const ModelSpec b = find_model("meta-llama/Meta-Llama-3.1-8B", kFolders);
  CHECK(parameter_count(a) == parameter_count(b));
  CHECK(a.name == "meta-llama/Llama-3.1-8B");
}

TEST_CASE("an unknown name suggests the nearest") {
  try {
    find_model("meta-llama/Lama-3.1-8B", kFolders);
    FAIL("was accepted");
  } catch (const ConfigError& error) {
    CHECK(error.problems().front().remedy == "did you mean meta-llama/Llama-3.1-8B?");
  }
}

TEST_CASE("a broken table is refused with its line") {
  const TableFile heads(std::string("# comment\n") + kHeader +
                        "a/b,,X,2,8,3,2,4,16,10,,,,,,,,,,,,64,false,false,false,bf16\n");
  CHECK(heads.problem().message == "3 heads are no multiple of 2 kv_heads");
  CHECK(heads.problem().place.line == 3);
  const TableFile cells(std::string(kHeader) + "a/b,,X\n");
  CHECK(cells.problem().message == "3 cells under 26 column names");
  const TableFile alias(std::string(kHeader) + "a/b,c/d,,,,,,,,,,,,,,,,,,,,,,,,\n");
  CHECK(alias.problem().message == "c/d is no model above this line");
}

TEST_CASE("shapes equal the public table they come from") {
  std::ifstream in(std::string(SERVETWIN_DATA_DIR) + "/hardware_and_models/models.csv");
  if (!in) {
    WARN("skipped: no hardware_and_models in SERVETWIN_DATA_DIR");
    return;
  }
  std::map<std::string, std::vector<std::string>> source;
  for (std::string line; std::getline(in, line);) source[split_csv_line(line)[0]] = split_csv_line(line);
  int compared = 0;
  for (const ModelSpec& m : known_models(kFolders)) {
    const auto row = source.find(m.name);
    if (row == source.end()) continue;
    INFO(m.name);
    const auto& cells = row->second;
    CHECK(cells[2] == std::to_string(m.layers));
    CHECK(cells[3] == std::to_string(m.hidden));
    CHECK(cells[4] == std::to_string(m.heads));
    CHECK(cells[5] == std::to_string(m.kv_heads));
    CHECK(cells[7] == std::to_string(m.intermediate));
    CHECK(cells[8] == std::to_string(m.vocab));
    CHECK(cells[20] == std::to_string(m.max_position));
    ++compared;
  }
  CHECK(compared >= 12);
}

}  // namespace
}  // namespace servetwin::catalogue_test
