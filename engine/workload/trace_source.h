// Requests replayed from a recorded trace, read as the run goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/workload/traces/trace_reader.h"
#include "engine/workload/traffic.h"

namespace servetwin {

struct TraceParts {
  TraceSpec spec;
  std::uint64_t seed = 0;
  std::optional<std::int64_t> num_requests;
  std::optional<Duration> duration;
  std::vector<Traffic> classes;  // by ClassId
  std::vector<std::string> class_names;
};

class TraceSource final : public RequestSource {
 public:
  TraceSource(OpenedBytes bytes, const std::string& name, TraceParts parts);
  Time next_arrival() override { return has_row_ ? arrival_ : kTimeNever; }
  void take(WorkloadItem& item) override;
  bool reacts_to_ends() const override { return false; }
  std::string describe() const override;
  SourceFacts facts() const override;

 private:
  void fetch();
  bool accept(Duration since_first);
  std::optional<std::size_t> class_of(const TraceRow& row);
  void fill_content(RequestSpec& spec) const;

  TraceParts parts_;
  TraceReader reader_;
  TraceRow row_;
  bool has_row_ = false;
  std::size_t class_index_ = 0;
  Time arrival_ = kTimeNever;
  std::optional<std::int64_t> first_ns_;
  std::int64_t taken_ = 0;
  std::int64_t outside_ = 0;  // rows before the window
};

}  // namespace servetwin
