// Records of a replica wait in its lane until the other run has its record of the same place.
#include "engine/journal/first_difference.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace servetwin {
namespace {

constexpr std::string_view kClauseEnd = "; ";

// Sorts differences: earliest first, the cluster's before those of replicas.
auto place_of(const DecisionDifference& difference) {
  const Time time_a = difference.a ? difference.a->time : kTimeNever;
  const Time time_b = difference.b ? difference.b->time : kTimeNever;
  const ReplicaId replica = difference.a ? difference.a->replica : difference.b->replica;
  return std::tuple{std::min(time_a, time_b), replica != kNoReplica, replica};
}

class Comparer {
 public:
  // Takes the next record of one run.
  void add(int side, DecisionRecord record) {
    Lane& lane = lanes_[record.replica];
    std::deque<DecisionRecord>& others = lane.waiting[1 - side];
    if (others.empty()) return lane.waiting[side].push_back(std::move(record));
    DecisionRecord other = std::move(others.front());
    others.pop_front();
    compare(lane, std::move(side == 0 ? record : other), std::move(side == 0 ? other : record));
  }

  // Both runs are over: what still waits has no counterpart.
  DecisionComparison finish() {
    for (auto& [replica, lane] : lanes_) {
      for (int side = 0; side < 2; ++side) {
        for (DecisionRecord& record : lane.waiting[side]) {
          count(replica, false);
          note(lane, side == 0 ? DecisionDifference{std::move(record), {}}
                               : DecisionDifference{{}, std::move(record)});
        }
      }
    }
    return std::move(result_);
  }

 private:
  struct Lane {
    std::deque<DecisionRecord> waiting[2];
    bool differs = false;
  };

  void compare(Lane& lane, DecisionRecord a, DecisionRecord b) {
    const bool equal = a.step == b.step && a.text == b.text;
    count(a.replica, equal);
    if (!equal) note(lane, {std::move(a), std::move(b)});
  }

  void count(ReplicaId replica, bool equal) {
    if (replica == kNoReplica) return;
    ++result_.steps;
    if (equal) ++result_.equal_steps;
  }

  void note(Lane& lane, DecisionDifference difference) {
    if (std::exchange(lane.differs, true)) return;
    if (!result_.first.has_value() || place_of(difference) < place_of(*result_.first))
      result_.first = std::move(difference);
  }

  std::map<ReplicaId, Lane> lanes_;
  DecisionComparison result_;
};

std::vector<std::string_view> clauses_of(const std::optional<DecisionRecord>& record) {
  std::vector<std::string_view> clauses;
  if (!record.has_value()) return clauses;
  std::string_view rest = record->text;
  while (true) {
    const std::size_t end = rest.find(kClauseEnd);
    clauses.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) return clauses;
    rest.remove_prefix(end + kClauseEnd.size());
  }
}

// One side's text from the first clause on that the sides do not share.
std::string side_text(const std::string& name,
                      const std::optional<DecisionRecord>& record,
                      std::size_t shared) {
  if (!record.has_value()) return fmt::format("  {}: has ended before\n", name);
  const std::vector<std::string_view> clauses = clauses_of(record);
  std::string text =
      fmt::format("  {} (at {:.9f} s): {}", name, to_seconds(record->time), shared > 0 ? "... " : "");
  if (shared == clauses.size()) return text + "nothing more\n";
  for (std::size_t i = shared; i < clauses.size(); ++i) {
    text += clauses[i];
    text += i + 1 < clauses.size() ? kClauseEnd : "\n";
  }
  return text;
}

}  // namespace

DecisionComparison first_difference(DecisionSource& a, DecisionSource& b) {
  Comparer comparer;
  DecisionSource* sources[] = {&a, &b};
  bool open[] = {true, true};
  while (open[0] || open[1]) {
    for (int side = 0; side < 2; ++side) {
      DecisionRecord record;
      open[side] = open[side] && sources[side]->next(record);
      if (open[side]) comparer.add(side, std::move(record));
    }
  }
  return comparer.finish();
}

std::string to_text(const DecisionComparison& comparison,
                    const std::string& name_a,
                    const std::string& name_b) {
  if (!comparison.first.has_value()) return fmt::format("All {} steps are equal.\n", comparison.steps);
  const auto& [a, b] = *comparison.first;
  const std::vector<std::string_view> clauses_a = clauses_of(a);
  const std::vector<std::string_view> clauses_b = clauses_of(b);
  const auto parting = std::mismatch(clauses_a.begin(), clauses_a.end(), clauses_b.begin(), clauses_b.end());
  const auto shared = static_cast<std::size_t>(parting.first - clauses_a.begin());
  const DecisionRecord& any = a ? *a : *b;
  const std::string where = any.replica == kNoReplica
                                ? fmt::format("decision {} of the cluster", raw(any.step))
                                : fmt::format("step {} of replica {}", raw(any.step), raw(any.replica));
  return fmt::format("The first difference is {}:\n", where) + side_text(name_a, a, shared) +
         side_text(name_b, b, shared) +
         fmt::format("{} of {} steps are equal ({:.2f} %).\n", comparison.equal_steps, comparison.steps,
                     100 * comparison.equal_share());
}

bool RunDecisions::next(DecisionRecord& out) {
  while (!log_.take(out)) {
    if (ended_) return false;
    StampedEvent event;
    if (backend_.next(event)) {
      cluster_.handle(event, backend_);
    } else {
      ended_ = true;
      log_.finish();
    }
  }
  return true;
}

}  // namespace servetwin
