// sh does the redirections; what it wrote is read back from files.
#include "tests/cli/program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/wait.h>
#include <vector>

namespace servetwin::test {

namespace fs = std::filesystem;

Playground::Playground() {
  std::string name = (fs::temp_directory_path() / "servetwin-cli-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for the test: " + name);
  path_ = name;
}

Playground::~Playground() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Outcome Playground::run(const std::string& command) const {
  const std::string line =
      "cd '" + path_ + "' && S='" SERVETWIN_PROGRAM "' && { " + command + "; } >.out 2>.err </dev/null";
  const int status = std::system(line.c_str());
  Outcome outcome;
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.out = read(".out");
  outcome.err = read(".err");
  return outcome;
}

std::string Playground::read(const std::string& file) const {
  std::ifstream in(fs::path(path_) / file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Playground::write(const std::string& file, const std::string& text) const {
  std::ofstream(fs::path(path_) / file, std::ios::binary) << text;
}

bool Playground::has(const std::string& file) const { return fs::exists(fs::path(path_) / file); }

void write_tiny(const Playground& ground) {
  ground.write("trace.csv",
               "arrival_s,input_tokens,output_tokens\n"
               "0.000000,6000,3\n"
               "0.005000,200,2\n"
               "0.015000,40,1\n");
  ground.write("step.csv", "step,duration_us\n*,10000\n");
  ground.write("tiny.yaml",
               "apiVersion: servetwin/v1\n"
               "kind: Scenario\n"
               "metadata: {name: tiny}\n"
               "spec:\n"
               "  model: meta-llama/Llama-3.1-8B\n"
               "  device: h100-sxm\n"
               "  engine: {num_blocks: 1000, max_num_batched_tokens: 2048, max_model_len: 8192}\n"
               "  workload: {trace: trace.csv, max_tokens: output}\n"
               "  slo: {ttft: 35ms}\n"
               "  cost: {model: replay, durations: step.csv}\n");
}

void write_tiny_classes(const Playground& ground) {
  write_tiny(ground);
  ground.write("classes.csv",
               "arrival_s,input_tokens,output_tokens,class\n"
               "0.000000,6000,3,document\n"
               "0.005000,200,2,chat\n"
               "0.015000,40,1,chat\n");
  ground.write("classes.yaml",
               "extends: tiny.yaml\n"
               "spec:\n"
               "  workload:\n"
               "    trace: classes.csv\n"
               "    classes:\n"
               "      - {name: chat, slo: {ttft: 30ms}}\n"
               "      - name: document\n"
               "  slo: {ttft: 35ms, e2e: 1s}\n");
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace servetwin::test
