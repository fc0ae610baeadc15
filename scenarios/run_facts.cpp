// Copied from the scenario and the core.
#include "scenarios/run_facts.h"

#include <fmt/format.h>
#include <utility>

#include "generated/servetwin_build.h"

namespace servetwin {

JournalHeader journal_header(const Scenario& scenario, std::string profile_hash) {
  JournalHeader header;
  header.scenario = write_scenario(scenario);
  header.profile_hash = std::move(profile_hash);
  header.build = fmt::format("servetwin {} {} {} {}", kVersion, kGitCommit, kCompiler, kBuildType);
  header.engine = scenario.spec().engine.preset;
  header.seed = static_cast<std::uint64_t>(scenario.spec().seed);
  header.replicas = static_cast<std::uint32_t>(scenario.spec().replicas);
  return header;
}

Provenance run_provenance(const Scenario& scenario, const Cluster& cluster) {
  Provenance from;
  from.scenario = scenario.document.metadata.name;
  from.scenario_hash = scenario_hash(scenario);
  from.memory = scenario.memory ? to_text(*scenario.memory) : "num_blocks as given";
  from.model = scenario.model.name;
  from.seed = static_cast<std::uint64_t>(scenario.spec().seed);
  from.events = static_cast<std::int64_t>(cluster.num_events());
  from.decisions_digest = cluster.decisions_digest();
  from.timeline_digest = cluster.timeline_digest();
  if (!scenario.spec().front_end.takes_time()) from.not_modelled.emplace_back("front-end time");
  return from;
}

}  // namespace servetwin
