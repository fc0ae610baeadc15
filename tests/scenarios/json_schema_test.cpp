// If these fail, editors underline good scenarios or accept bad ones.
#include "scenarios/json_schema.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>

#include "engine/base/unit_text.h"
#include "scenarios/input_text.h"
#include "scenarios/scenario_files.h"
#include "scenarios/yaml_loader.h"
#include "tests/support/catch.h"

namespace servetwin::json_schema_test {
namespace {

using Json = nlohmann::json;

// As an editor's YAML parser (version 1.2) sees the tree.
Json json_of(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kNull:
      return nullptr;
    case ConfigNode::Kind::kScalar: {
      if (node.quoted) return node.text;
      if (node.text == "true" || node.text == "false") return node.text == "true";
      const bool is_plain_number = node.text.find('_') == std::string::npos;
      if (const auto whole = parse_integer(node.text); whole && is_plain_number) return *whole.value;
      if (const auto decimal = parse_decimal(node.text); decimal && is_plain_number) return *decimal.value;
      return node.text;
    }
    case ConfigNode::Kind::kList: {
      Json list = Json::array();
      for (const ConfigNode& item : node.items) list.push_back(json_of(item));
      return list;
    }
    case ConfigNode::Kind::kMap: {
      Json map = Json::object();
      for (const auto& [name, child] : node.entries) map[name] = json_of(child);
      return map;
    }
  }
  return nullptr;
}

// The independent validator, where the test extras or the system have it.
class Validator {
 public:
  explicit Validator(const std::string& schema = json_schema())
      : folder_(std::filesystem::temp_directory_path() / ("servetwin_schema_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "schema.json") << schema;
    for (const std::string& candidate :
         {std::string(SERVETWIN_SOURCE_DIR) + "/build/oracles/bin/python", std::string("python3")}) {
      if (run(candidate, "-c 'import jsonschema'")) python_ = candidate;
      if (!python_.empty()) break;
    }
  }
  ~Validator() { std::filesystem::remove_all(folder_); }
  Validator(const Validator&) = delete;
  Validator& operator=(const Validator&) = delete;

  bool is_there() const { return !python_.empty(); }
  // For each text 'y' when it is accepted, else 'n'.
  std::string verdicts(const std::vector<std::string>& texts) const {
    Json instances = Json::array();
    for (const std::string& text : texts) instances.push_back(json_of(load_yaml_text(text, "a.yaml")));
    std::ofstream(folder_ / "instances.json") << instances.dump();
    run(python_,
        "-c 'import json, jsonschema; s = json.load(open(\"schema.json\")); "
        "jsonschema.Draft7Validator.check_schema(s); v = jsonschema.Draft7Validator(s); "
        "print(\"\".join(\"yn\"[not v.is_valid(i)] for i in json.load(open(\"instances.json\"))))'");
    std::string result;
    std::ifstream(folder_ / "out.txt") >> result;
    return result;
  }

 private:
  bool run(const std::string& python, const std::string& arguments) const {
    const std::string command =
        "cd '" + folder_.string() + "' && '" + python + "' " + arguments + " > out.txt 2>&1";
    return std::system(command.c_str()) == 0;
  }

  std::filesystem::path folder_;
  std::string python_;
};

TEST_CASE("the schema names every part of a scenario") {
  const Json schema = Json::parse(json_schema());
  CHECK(schema["$schema"] == kSchemaUrl);
  const Json& spec = schema["properties"]["spec"]["anyOf"][0]["properties"];
  for (const char* key : {"model", "device", "replicas", "layout", "engine", "workload", "router", "slo",
                          "front_end", "run", "initial", "cost", "seed"}) {
    CAPTURE(key);
    CHECK(spec.contains(key));
    CHECK_FALSE(spec[key]["description"].get<std::string>().empty());
  }
  const std::string text = spec["cost"].dump();
  for (const char* model : {"analytic", "replay", "linear"}) CHECK(text.find(model) != std::string::npos);
}

TEST_CASE("an independent validator accepts the shipped scenarios and refuses broken ones") {
  const Validator validator;
  if (!validator.is_there()) {
    WARN("skipped: no Python module jsonschema (tools/setup --test-extras installs it)");
    return;
  }
  const std::string folder = shipped_scenarios_folder();
  REQUIRE(shipped_scenarios().size() >= 6);
  std::vector<std::string> shipped;
  for (const std::string& name : shipped_scenarios())
    shipped.push_back(read_input(folder + '/' + name + ".yaml"));
  shipped.emplace_back("extends: quickstart\nspec: {replicas: 4}\n");
  const std::string chunked = read_input(folder + "/chunked_prefill.yaml");
  const auto with_slo = [&](const std::string& limits) {
    const std::string name = "name: chat";
    REQUIRE(chunked.find(name) != std::string::npos);
    return std::string(chunked).insert(chunked.find(name) + name.size(), "\n        slo: {" + limits + '}');
  };
  shipped.push_back(with_slo("ttft: 300ms"));
  CHECK(validator.verdicts(shipped) == std::string(shipped.size(), 'y'));
  CHECK(validator.verdicts({with_slo("ttft: 300"), with_slo("tttf: 300ms")}) == "nn");

  const std::string good = read_input(folder + "/quickstart.yaml");
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(
      validator.verdicts({changed("replicas: 2", "replicaz: 2"), changed("replicas: 2", "replicas: 0"),
                          changed("ttft: 500ms", "ttft: 500"), changed("process: poisson", "process: poison"),
                          changed("engine: vllm-0.15}", "engine: vllm-0.15, rate: 3}"),
                          changed("device: h100-sxm", "")}) == "nnnnnn");
}

TEST_CASE("an independent validator accepts the shipped comparison and refuses broken ones") {
  const Validator validator(comparison_schema());
  if (!validator.is_there()) {
    WARN("skipped: no Python module jsonschema (tools/setup --test-extras installs it)");
    return;
  }
  const std::string good = read_input(shipped_scenarios_folder() + "/policies.yaml");
  const auto with = [&](const std::string& line) { return good + "  " + line + "\n"; };
  CHECK(validator.verdicts({good, with("seeds: 12"), with("seeds: [3, 4]"), with("baseline: swap")}) ==
        "yyyy");
  CHECK(validator.verdicts({with("seeds: 0"), with("seeds: [1, 1]"), with("baselin: swap"),
                            with("confidence: 1.5"), with("tolerance: much")}) == "nnnnn");
}

}  // namespace
}  // namespace servetwin::json_schema_test
