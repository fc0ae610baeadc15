// From a URL to a profile: the measuring is the library's, the words are here.
#include "cli/calibrate_endpoint.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <optional>
#include <random>

#include "calibrate/endpoint/endpoint_campaign.h"
#include "calibrate/endpoint/endpoint_profile.h"
#include "cli/calibration.h"
#include "cli/numbers.h"
#include "cli/stop_signal.h"
#include "engine/base/text.h"
#include "engine/metrics/output_file.h"
#include "scenarios/yaml_loader.h"

namespace servetwin {
namespace {

constexpr std::int64_t kUsualModelLen = 4096;
constexpr std::int64_t kLeastResident = 256;
constexpr double kPlannedShare = 0.8;  // of the cache that a server states, for loads that shall not queue

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::now())); }

// What the server runs is what the user says: an API does not.
ProfileSubject subject_of(const std::optional<Scenario>& scenario, const LoadSubject& server) {
  ProfileSubject subject;
  if (scenario) {
    subject = subject_here(*scenario, 1);
    if (!scenario->spec().engine.kv_dtype) subject.kv_dtype = subject.dtype;
  } else {
    subject.device = subject.shape = subject.dtype = subject.kv_dtype = "unknown";
    subject.model = server.model;
  }
  subject.cpu = "behind " + server.url + ", version " + server.server;
  subject.kernels = subject.build = "";
  subject.date = today();
  return subject;
}

// The most requests at once, and the longest prompt.
struct LoadLimits {
  std::int64_t concurrency;
  std::int64_t prompt;
};

LoadSpace space_of_server(const EndpointServer& server, const LoadLimits& limits) {
  LoadSpace space;
  space.max_model_len = server.max_model_len().value_or(kUsualModelLen);
  space.max_prompt = limits.prompt;
  space.max_concurrency = limits.concurrency;
  const auto metrics = server.metrics();
  if (metrics && metrics->num_blocks && metrics->block_size) {
    const auto held = static_cast<double>(*metrics->num_blocks * *metrics->block_size);
    const auto planned = static_cast<std::int64_t>(kPlannedShare * held);
    // Less than one short conversation is no cache, but a number that the server does not know yet.
    if (planned > kLeastResident) space.max_resident = std::min(space.max_resident, planned);
  }
  return space;
}

EndpointCampaignOptions campaign_of(const EndpointServer& server,
                                    const LoadLimits& limits,
                                    Duration budget,
                                    Terminal& terminal) {
  EndpointCampaignOptions campaign;
  campaign.budget = budget;
  campaign.space = space_of_server(server, limits);
  if (terminal.shows_progress()) {
    campaign.progress = [&terminal, budget](const EndpointProgress& now) {
      terminal.progress(fmt::format("{} rows, {:.0f} of {:.0f} s, {}", now.rows, to_seconds(now.spent),
                                    to_seconds(budget), now.doing));
    };
  }
  return campaign;
}

std::string amount_of_load(const EndpointServer& server,
                           const std::vector<LoadRow>& rows,
                           const EndpointCampaignResult& done) {
  const double noise = load_repeat_difference(rows);
  return fmt::format(
      "{} (version {}), model {}, prompts as {}: {} rows in {:.0f} s{}\n\n", server.address().text(),
      server.version(), server.dialect().model, to_string(server.dialect().form), rows.size(),
      to_seconds(done.spent),
      noise > 0 ? fmt::format("; the same load again differs by {:.1f} % in the median", 100 * noise) : "");
}

std::string shown_ns(double ns) {
  if (ns >= 1e6) return fmt::format("{:.4g} ms", ns / 1e6);
  return ns >= 1e3 ? fmt::format("{:.4g} us", ns / 1e3) : fmt::format("{:.4g} ns", ns);
}

std::string price_table(const StepProfile& profile) {
  const StepTerms& terms = profile.step;
  std::string text = fmt::format("{:<18}{:>12}   {}\n", "price", "fitted", "95 of 100 within");
  std::vector<double> values{profile.endpoint->front_end_ns, profile.endpoint->front_end_token_ns,
                             terms.base_ns, terms.context_ns, terms.pair_ns};
  values.insert(values.end(), terms.token_ns.begin(), terms.token_ns.end());
  values.insert(values.end(), {terms.row_ns, terms.prefill_step_ns});
  const auto& intervals = profile.endpoint->intervals;
  for (std::size_t i = 0; i < std::min(values.size(), intervals.size()); ++i) {
    text += fmt::format("{:<18}{:>12}   {} to {}\n", intervals[i].price, shown_ns(values[i]),
                        shown_ns(intervals[i].low), shown_ns(intervals[i].high));
  }
  return text;
}

std::string capacity_text(const EndpointFacts& facts) {
  if (!facts.kv_tokens) return "KV cache: nothing showed how much it holds\n";
  const auto tokens = [](double value) { return format_grouped(static_cast<std::int64_t>(value + 0.5)); };
  const std::string range = facts.kv_tokens_high
                                ? tokens(*facts.kv_tokens_low) + " to " + tokens(*facts.kv_tokens_high)
                                : "at least " + tokens(*facts.kv_tokens_low);
  return fmt::format("KV cache: {} tokens, {} ({})\n", tokens(*facts.kv_tokens), range, facts.kv_evidence);
}

}  // namespace

void EndpointCalibration::declare(Arguments& arguments) {
  arguments.option("--endpoint", "URL", url_,
                   "Measures the OpenAI-compatible server there; SCENARIO, if given, says what it runs.");
  arguments.option("--model", "NAME", model_, "With --endpoint: the model; by default the only one.");
  arguments.option("--api-key-env", "VAR", api_key_env_, "With --endpoint: the variable that holds the key.");
  arguments.option("--max-concurrency", "N", max_concurrency_,
                   "With --endpoint: most requests at once; by default 64.");
  arguments.option("--max-prompt", "N", max_prompt_,
                   "With --endpoint: longest prompt, in tokens; by default 8192.");
}

std::string EndpointCalibration::api_key() const {
  if (api_key_env_.empty()) return "";
  const char* const key = std::getenv(api_key_env_.c_str());
  if (key == nullptr || *key == '\0') {
    throw UsageError("servetwin calibrate: the variable " + api_key_env_ + " of --api-key-env is not set");
  }
  if (printable(key) != key) {
    throw UsageError("servetwin calibrate: the variable " + api_key_env_ +
                     " holds a control character, which no key has");
  }
  return key;
}

void EndpointCalibration::refuse_unasked() const {
  const EndpointCalibration usual;
  const auto refuse = [](const char* option, const std::string& given, const std::string& otherwise) {
    if (given != otherwise)
      throw UsageError(std::string("servetwin calibrate: ") + option + " needs --endpoint URL");
  };
  refuse("--model", model_, usual.model_);
  refuse("--api-key-env", api_key_env_, usual.api_key_env_);
  refuse("--max-concurrency", max_concurrency_, usual.max_concurrency_);
  refuse("--max-prompt", max_prompt_, usual.max_prompt_);
}

ExitCode EndpointCalibration::run(const std::vector<std::string>& scenario,
                                  const ScenarioOverrides& overrides,
                                  const Files& files,
                                  Duration budget,
                                  Terminal& terminal) const {
  if (scenario.size() > 1) throw UsageError("servetwin calibrate: --endpoint takes one scenario at most");
  if (scenario.empty() && !overrides.set.empty())
    throw UsageError("servetwin calibrate: --set changes a scenario, and none is given");
  const auto concurrency = whole_option("calibrate", "--max-concurrency", max_concurrency_, {1, 1024});
  const auto prompt = whole_option("calibrate", "--max-prompt", max_prompt_, {16, 1'000'000});
  const EndpointAddress address = endpoint_address(url_);
  std::optional<Scenario> declared;
  if (!scenario.empty()) declared = load_scenario(scenario.front(), overrides);
  const std::string name = declared ? declared->document.metadata.name : "endpoint";
  const std::string out = files.out.empty() ? name + ".profile.yaml" : files.out;
  const std::string rows_file = files.rows.empty() ? out + ".rows.csv" : files.rows;
  make_way_for(out, rows_file, files.force);
  catch_stop_signals();

  EndpointOptions options;
  options.model = model_;
  options.api_key = api_key();
  options.salt = std::random_device{}();
  options.stop = stop_requested();
  std::optional<EndpointServer> asked;
  try {
    asked.emplace(address, options);
  } catch (const ConfigError&) {
    if (!*stop_requested()) throw;
    terminal.err("interrupted before anything was measured\n");
    return static_cast<ExitCode>(128 + stop_signal());
  }
  EndpointServer& server = *asked;
  const LoadSubject subject{address.text(), server.version(), server.dialect().model};
  if (declared && declared->spec().model != subject.model) {
    terminal.err("note: the server calls its model " + printable(subject.model) + ", the scenario " +
                 declared->spec().model + ": the profile will name the scenario's\n");
  }
  LoadRowsFile rows(rows_file, subject, today());
  const EndpointCampaignResult done =
      measure_endpoint(server, rows, campaign_of(server, {concurrency, prompt}, budget, terminal));
  terminal.progress("");
  for (const std::string& warning : done.warnings) terminal.err("note: " + warning + '\n');
  if (*stop_requested()) {
    terminal.err("interrupted: the same command goes on from " + rows_file + '\n');
    return static_cast<ExitCode>(128 + stop_signal());
  }
  const StepProfile profile =
      endpoint_profile(subject_of(declared, subject), subject, rows.rows(), rows_file);
  write_file(out, write_yaml(write_profile(profile),
                             "A step profile that `servetwin calibrate --endpoint` "
                             "measured; docs/calibrate.md."));
  terminal.out(amount_of_load(server, rows.rows(), done) + price_table(profile) + '\n' +
               capacity_text(*profile.endpoint));
  terminal.out("\nerror of loads whose kind was left out of the fit (prefill: time to the first token):\n" +
               error_table(profile.error));
  terminal.out("\nfiles:\n  " + out + "\n  " + rows_file + '\n');
  terminal.out(
      fmt::format("next: servetwin simulate {} --set 'cost={{model: fitted, profile: {}{}}}' --set "
                  "'front_end={{per_request: {:.0f}us, per_token: {:.0f}ns}}'\n",
                  declared ? scenario.front() : "SCENARIO", out, declared ? "" : ", allow_mismatch: true",
                  profile.endpoint->front_end_ns / 1e3, profile.endpoint->front_end_token_ns));
  return ExitCode::kOk;
}

}  // namespace servetwin
