// If this fails, a failed write passes for a result, or a scrape of the snapshot differs from a server's.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/metrics/output_file.h"
#include "engine/metrics/prometheus_text.h"
#include "tests/metrics/hand_run.h"
#include "tests/support/catch.h"

namespace servetwin::output_test {
namespace {

std::string scratch(const std::string& name) {
  return std::string(SERVETWIN_BINARY_DIR) + "/metrics_" + std::to_string(::getpid()) + "_" + name;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

TEST_CASE("a full disk is an error that names the file") {
  if (!exists("/dev/full")) {
    WARN("skipped: there is no /dev/full here");
    return;
  }
  const auto message = [] {
    try {
      write_file("/dev/full", "text");
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string();
  }();
  CHECK(message.find("/dev/full") != std::string::npos);
  CHECK(message.find("No space left") != std::string::npos);
  CHECK(exists("/dev/full"));
  CHECK(!exists("/dev/full.partial"));
}

TEST_CASE("a folder that is not there is an error that names the file") {
  CHECK_THROWS_AS(OutputFile(scratch("absent/summary.json")), IoError);
}

TEST_CASE("a file has its name only after the commit, and an abandoned one leaves nothing") {
  const std::string path = scratch("file");
  {
    OutputFile file(path);
    file.append(std::string(200'000, 'x'));
    CHECK(!exists(path));
    CHECK(exists(path + ".partial"));
  }
  CHECK(!exists(path));
  CHECK(!exists(path + ".partial"));
  OutputFile file(path);
  file.append("ab");
  file.append_integer(INT64_MIN);
  file.append(';');
  CHECK(file.size() == 23);
  file.commit();
  std::ifstream in(path);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "ab-9223372036854775808;");
  CHECK(!exists(path + ".partial"));
  std::remove(path.c_str());
}

TEST_CASE("an earlier result stays whole when its successor is abandoned") {
  const std::string path = scratch("earlier");
  write_file(path, "old");
  {
    OutputFile file(path);
    file.append("new");
  }
  std::ifstream in(path);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == "old");
  std::remove(path.c_str());
}

std::vector<std::string> snapshot(const Recorder& recorder) {
  ServerLabels labels;
  labels.model_name = "m";
  labels.max_model_len = Tokens{4096};
  std::istringstream in(prometheus_text(recorder, labels));
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The bounds of a histogram, as its lines spell them, and whether its counts ascend to the total.
std::string bounds_of(const std::vector<std::string>& lines, const std::string& name) {
  std::string bounds;
  std::int64_t last = 0;
  std::int64_t total = -1;
  for (const std::string& line : lines) {
    if (line.rfind(name + "_count", 0) == 0) total = std::stoll(line.substr(line.rfind(' ')));
    if (line.rfind(name + "_bucket", 0) != 0) continue;
    const std::size_t from = line.find("le=\"") + 4;
    bounds += line.substr(from, line.find('"', from) - from) + " ";
    const std::int64_t count = std::stoll(line.substr(line.rfind(' ')));
    CHECK(count >= last);
    last = count;
  }
  CHECK(total == last);
  return bounds;
}

TEST_CASE("histograms have vLLM's names and buckets") {
  Recorder recorder(RecorderOptions{});
  play_small_run(recorder);
  recorder.finish(ms_time(310), RunState::kComplete);
  const auto lines = snapshot(recorder);
  CHECK(bounds_of(lines, "vllm:time_to_first_token_seconds") ==
        "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1 2.5 5 7.5 10 20 40 80 160 640 2560 +Inf ");
  const std::string token_time =
      "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1 2.5 5 7.5 10 20 40 80 +Inf ";
  CHECK(bounds_of(lines, "vllm:inter_token_latency_seconds") == token_time);
  CHECK(bounds_of(lines, "vllm:request_time_per_output_token_seconds") == token_time);
  for (const char* name : {"e2e_request_latency", "request_queue_time", "request_inference_time",
                           "request_prefill_time", "request_decode_time"}) {
    CHECK(bounds_of(lines, std::string("vllm:") + name + "_seconds") ==
          "0.3 0.5 0.8 1 1.5 2 2.5 5 10 15 20 30 40 50 60 120 240 480 960 1920 7680 +Inf ");
  }
  CHECK(bounds_of(lines, "vllm:iteration_tokens_total") ==
        "1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 +Inf ");
  CHECK(bounds_of(lines, "vllm:request_prompt_tokens") == "1 2 5 10 20 50 100 200 500 1000 2000 +Inf ");
}

TEST_CASE("every line of the snapshot is a comment or a sample with its labels, and counts are right") {
  Recorder recorder(RecorderOptions{});
  play_small_run(recorder);
  recorder.finish(ms_time(310), RunState::kComplete);
  const auto lines = snapshot(recorder);
  int samples = 0;
  for (const std::string& line : lines) {
    INFO(line);
    if (line.rfind("# ", 0) == 0) continue;
    CHECK(line.rfind("vllm:", 0) == 0);
    CHECK(line.find("model_name=\"m\",engine=\"0\"") != std::string::npos);
    ++samples;
  }
  CHECK(samples > 100);
  const auto has = [&](const std::string& line) { return std::count(lines.begin(), lines.end(), line) == 1; };
  CHECK(has("vllm:generation_tokens_total{model_name=\"m\",engine=\"0\"} 6"));
  CHECK(has("vllm:prefix_cache_hits_total{model_name=\"m\",engine=\"0\"} 16"));
  CHECK(has("vllm:request_success_total{model_name=\"m\",engine=\"0\",finished_reason=\"length\"} 2"));
  CHECK(has("vllm:time_to_first_token_seconds_bucket{model_name=\"m\",engine=\"0\",le=\"0.1\"} 1"));
  CHECK(has("vllm:iteration_tokens_total_bucket{model_name=\"m\",engine=\"0\",le=\"1\"} 3"));
}

}  // namespace
}  // namespace servetwin::output_test
