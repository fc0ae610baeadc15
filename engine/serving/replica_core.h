// The state of one replica that step builder and event handlers share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "engine/base/digest.h"
#include "engine/serving/config.h"
#include "engine/serving/decode_pool.h"
#include "engine/serving/kv_group.h"
#include "engine/serving/kv_windows.h"
#include "engine/serving/observer.h"
#include "engine/serving/plan.h"
#include "engine/serving/request_table.h"
#include "engine/serving/rules.h"
#include "engine/serving/waiting_queue.h"

namespace servetwin {

struct InFlightStep {
  StepId step{0};
  Time planned = kTimeZero;
  StepShape shape;
  bool pooled = false;        // the pool's members are in it, without rows
  std::vector<StepRow> rows;  // in running order
};

struct ReplicaCore {
  ReplicaCore(ReplicaId replica,
              const EngineConfig& engine,
              RuleSet&& rule_set,
              RequestTable& requests,
              const std::vector<Observer*>& watchers)
      : id(replica),
        config(engine),
        rules(std::move(rule_set)),
        table(requests),
        observers(watchers),
        kv_group(engine.num_blocks),
        windows(engine),
        waiting(requests, *rules.waiting_order),
        skipped(requests, *rules.waiting_order),
        pool(requests, engine.block_size) {
    plan.replica = replica;
    spare_blocks = rules.batch->spare_block() ? 1 : 0;
    if (rules.step != nullptr && rules.step->plain_loop()) config.plain_loop = true;
    know_rules();
  }

  // One pool; where layers differ in what they keep, `windows` has their tables in it.
  KvGroup& kv() { return kv_group; }
  const KvGroup& kv() const { return kv_group; }
  std::int64_t num_running() const { return static_cast<std::int64_t>(running.size()) + pool.size(); }
  std::int64_t num_waiting() const { return waiting.size() + skipped.size(); }
  // Blocks that so many tokens take at once at most.
  Blocks most_blocks(Tokens tokens) const {
    const Blocks entries = blocks_for(tokens, config.block_size);
    return windows.any() ? KvWindows::most(config, entries) : entries;
  }
  // Blocks in the running request's tables.
  std::int64_t held(const RequestState& state) const {
    return windows.any() ? windows.held(kv(), state.owner) : static_cast<std::int64_t>(state.held);
  }
  // Of them, those that nobody else holds: what is gained by taking them.
  Blocks held_alone(const RequestState& state) const {
    return windows.any() ? Blocks{windows.held_alone(kv(), state.owner)} : kv().held_alone(state.owner);
  }
  // Blocks that it takes to its last token, at once at most.
  Blocks completion(const RequestState& state) const {
    return most_blocks(Tokens{state.spec.prompt.value + state.limit - 1});
  }
  // Its blocks, with what is counted of them, as it leaves the running ones.
  void release_blocks(const RequestState& state);
  // The request, which was swapped out, has no KV in the host tier any more.
  void leave_host(RequestState& state) {
    host_used -= blocks_for(Tokens{state.lost}, config.block_size);
    state.swapped = false;
  }
  // Counts the request under what blocks it, or under nothing, after anything that may have changed that.
  void classify(Slot slot);
  // Collects what the rules declare of themselves; those that must see every token make the plain loop run.
  void know_rules();
  bool shortcut_allowed() const { return config.in_flight.depth == 1 && !config.plain_loop; }

  ReplicaId id;
  EngineConfig config;
  RuleSet rules;
  RequestTable& table;
  const std::vector<Observer*>& observers;
  std::vector<RuleListener*> listeners;  // rules that keep state
  bool changing_order = false;
  bool yields = false;
  std::map<RequestId, std::int64_t> skips;  // how often others entered past one that was refused

  KvGroup kv_group;
  KvWindows windows;
  WaitingQueue waiting;
  WaitingQueue skipped;       // set aside while blocked; looked at before `waiting`
  std::vector<Slot> running;  // in order of admission, without the pool's members
  DecodePool pool;
  std::vector<InFlightStep> in_flight;  // oldest first
  std::vector<Slot> stopping;           // announced ends of the step in flight

  StepPlan plan;                     // the last one
  std::vector<std::uint64_t> words;  // its record, see step_record.h
  bool plan_pooled = false;
  bool steady = false;      // planning again would decide the same as long as membership does not change
  bool kv_refused = false;  // the head was refused for KV in the last plan
  StepId last_step{0};
  std::uint32_t admissions = 0;
  std::uint32_t last_pool_admission = 0;  // latest admission that ever joined the pool
  std::int64_t completion_sum = 0;        // blocks that the running ones need to their max_tokens
  std::int64_t held_sum = 0;              // blocks in their tables
  Blocks host_used{0};                    // blocks of those swapped out
  std::array<std::int64_t, kNumHeldReasons> blocked{};  // waiting requests by what blocks them
  std::int64_t spare_blocks = 0;    // that must be free for a decoder to go on, needed or not
  std::int64_t closed_windows = 0;  // running requests whose client does not read
  std::int64_t shared_growers = 0;  // pool members whose generated text others may look up
  bool paused = false;
  bool draining = false;
  Time last_end = kTimeNever;  // end of the last step that came back
  Time last_plan = kTimeZero;
  Duration head_of_line{0};   // total time with a head refused for KV
  Slot queue_head = kNoSlot;  // who was refused as head, with its id
  RequestId queue_head_id = kNoRequest;

  Digest decisions;
  Digest timeline;
};

}  // namespace servetwin
