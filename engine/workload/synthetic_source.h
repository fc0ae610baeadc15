// Requests drawn from distributions: arrivals or users, classes, conversations, shared prefixes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/flat_map.h"
#include "engine/base/samplers.h"
#include "engine/workload/arrival_process.h"
#include "engine/workload/traffic.h"
#include "engine/workload/workload_spec.h"

namespace servetwin {

struct SyntheticParts {
  std::uint64_t seed = 0;
  std::optional<std::int64_t> num_requests;
  std::optional<Duration> duration;
  std::unique_ptr<ArrivalProcess> arrivals;   // or
  std::optional<ClosedLoopSpec> closed_loop;  // this
  std::vector<Traffic> classes;               // by ClassId
  std::vector<std::string> class_names;
  std::vector<double> class_weights;
  std::string description;
};

class SyntheticSource final : public RequestSource {
 public:
  explicit SyntheticSource(SyntheticParts parts);
  Time next_arrival() override;
  void take(WorkloadItem& item) override;
  void on_end(const RequestRecord& record) override;
  bool reacts_to_ends() const override;
  std::optional<std::int64_t> total() const override;
  std::string describe() const override { return parts_.description; }
  SourceFacts facts() const override;

 private:
  // A conversation between two of its turns, or while one runs; a lone request is a conversation of one turn.
  struct Session {
    std::uint64_t number = 0;
    std::uint32_t turn = 0;
    std::uint32_t turns = 1;
    std::uint32_t class_index = 0;
    Tokens said{};  // by both sides so far, without the shared prefix
  };
  struct Due {
    Time at = kTimeNever;
    Session session;
  };

  static bool later(const Due& a, const Due& b);
  Session start_session(std::uint64_t number) const;
  DrawSite site_of(const Session& session) const;
  Due take_due();
  void push_due(Time at, const Session& session);
  void fill_content(const Session& session, Tokens new_text, RequestSpec& spec) const;
  void start_next_of_user(const Session& session, const RequestRecord& record);

  SyntheticParts parts_;
  WeightedChoice class_choice_;
  Time next_start_ = kTimeNever;             // of an open loop
  std::uint64_t sessions_started_ = 0;       // of an open loop
  std::vector<Due> due_;                     // a heap, earliest first, then by conversation
  FlatMap<std::uint32_t, Session> waiting_;  // for the end of their request, by request
  std::int64_t taken_ = 0;
};

}  // namespace servetwin
