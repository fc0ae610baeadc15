// Who is looked at first among the waiting, and who running may give way to a waiting one.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/serving/rule_context.h"

namespace servetwin {

struct WaitingView {
  const RequestSpec* request = nullptr;
  std::int64_t place = 0;  // order of joining the queue; a preempted request joins at the front
  // For changing orders only:
  Time now = kTimeZero;  // of the plan
  Tokens outputs{};      // so far
  Tokens rest{};         // that must be computed before its next output, recomputation included
  std::int64_t preemptions = 0;
};

// A strict total order. One that is neither by place nor changing compares immutable data only: the queue is
// a sorted set then.
class WaitingOrder {
 public:
  using MakeContext = RuleContext;
  virtual ~WaitingOrder() = default;
  virtual bool before(const WaitingView& a, const WaitingView& b) const = 0;
  // The order is that of `place` alone, so the queue need not be sorted.
  virtual bool by_place() const { return false; }
  // The order depends on more than immutable data. What it sees of everyone is taken once a plan, and the
  // first is looked for at each choice, in time that grows with the queue.
  virtual bool changing() const { return false; }
  // A changing order is told of each plan that looks at the queue, before anything else.
  virtual void on_plan(Time /*now*/, std::int64_t /*waiting*/) {}
  // Whether `rest` of the waiting leaves out what the prefix cache holds; asked after on_plan().
  virtual bool sees_cache() const { return false; }
  // Nobody who arrives more than this after a request began to wait is looked at before it. Nothing: it may
  // starve.
  virtual std::optional<Duration> starvation_bound() const { return std::nullopt; }
  virtual RuleListener* listener() { return nullptr; }
};

// May somebody running give way to the first of the waiting, who would be refused for want of a place or of
// KV? Asked before the running loop. The running ones offered have made progress since they entered and were
// preempted less often than `most`. A replica with a rule that may() runs the plain loop.
class YieldRule {
 public:
  using MakeContext = RuleContext;
  virtual ~YieldRule() = default;
  virtual bool may() const { return true; }
  virtual std::int64_t most() const = 0;
  // An index into `running`, which is in order of admission and not empty, or nothing.
  virtual std::optional<std::size_t> pick(const WaitingView& head,
                                          const std::vector<WaitingView>& running,
                                          const WaitingOrder& order) const = 0;
};

}  // namespace servetwin
