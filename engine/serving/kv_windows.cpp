// Each rule is applied to its own table; a hit is what all of them can go on from.
#include "engine/serving/kv_windows.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {
namespace {

// What a run holds in one group's layers is nothing to another's.
ContentRun run_of_table(ContentRun run, std::size_t table) {
  run.key.high ^= table * 0x9e3779b97f4a7c15ULL;
  return run;
}

// In records, the tables of an admission are told apart like admissions.
std::uint32_t life_of_table(std::uint32_t life, std::size_t table) {
  return life ^ (static_cast<std::uint32_t>(table) << 24U);
}

}  // namespace

KvWindows::Rule KvWindows::rule_of(const KvRetention& group, const EngineConfig& config) {
  const std::int64_t size = config.block_size.value;
  Rule rule;
  if (group.window.value == 0) {
    rule.seen = kOpenEnd;
    rule.most = kOpenEnd;
    return rule;
  }
  rule.window = group.window.value;
  rule.sink = static_cast<std::int32_t>(ceil_div(group.sink.value, size));
  rule.seen = static_cast<std::int32_t>(std::max<std::int64_t>(1, ceil_div(rule.window - 1, size)));
  rule.most = rule.sink + ceil_div(rule.window - 1 + config.max_num_batched_tokens.value, size) + 1;
  return rule;
}

KvWindows::KvWindows(const EngineConfig& config)
    : any_(!config.kv_groups.empty()),
      block_size_(config.block_size.value),
      step_blocks_(std::max<std::int64_t>(1, config.max_num_batched_tokens.value / block_size_)) {
  for (const KvRetention& group : config.kv_groups) rules_.push_back(rule_of(group, config));
  hits_.resize(rules_.size());
}

Blocks KvWindows::most(const EngineConfig& config, Blocks entries) {
  if (config.kv_groups.empty()) return entries;
  Blocks all{0};
  for (const KvRetention& group : config.kv_groups)
    all += Blocks{std::min(entries.value, rule_of(group, config).most)};
  return all;
}

// Greatest hit that a table may have: the blocks just before its end that the next query sees are there, and
// so are the sinks.
std::int32_t KvWindows::longest(const Rule& rule,
                                const std::vector<KvExtent>& found,
                                std::int32_t most) const {
  std::int32_t best = 0;
  std::int32_t first = 0;  // of the stretch without a gap that the extent belongs to
  std::int32_t end = 0;
  std::int32_t from_start = 0;
  for (const KvExtent& extent : found) {
    if (extent.first >= most) break;
    if (extent.first != end) first = extent.first;
    end = std::min(extent.end, most);
    if (first == 0) from_start = end;
    const bool has_sinks = from_start >= std::min(rule.sink, end);
    if (has_sinks && (first == 0 || end - first >= rule.seen)) best = end;
  }
  return best;
}

// Drops what the table does without after the hit.
void KvWindows::keep_seen(const Rule& rule, std::int32_t hit, std::vector<KvExtent>& found) const {
  const std::int32_t seen_from = hit - std::min(hit, rule.seen);
  std::vector<KvExtent> kept;
  const auto keep = [&](KvExtent extent, std::int32_t first, std::int32_t end) {
    extent.first = std::max(extent.first, first);
    extent.end = std::min(extent.end, end);
    if (extent.first < extent.end) kept.push_back(extent);
  };
  for (const KvExtent& extent : found) {
    keep(extent, 0, std::min(rule.sink, seen_from));
    keep(extent, seen_from, hit);
  }
  found = std::move(kept);
}

// A shorter hit of one table may be none of another: they are asked in turn until they agree.
std::int32_t KvWindows::look_up(const KvGroup& kv, const std::vector<ContentRun>& runs, std::int32_t most) {
  std::vector<ContentRun> own;
  for (std::size_t table = 0; table < rules_.size(); ++table) {
    own.clear();
    for (const ContentRun& run : runs) own.push_back(run_of_table(run, table));
    kv.find_all(own, most, hits_[table]);
  }
  std::int32_t hit = most;
  for (std::size_t agreed = 0; agreed < rules_.size();) {
    for (std::size_t table = 0; table < rules_.size() && agreed < rules_.size(); ++table) {
      const std::int32_t longest_here = longest(rules_[table], hits_[table], hit);
      agreed = longest_here == hit ? agreed + 1 : 1;
      hit = longest_here;
    }
  }
  for (std::size_t table = 0; table < rules_.size(); ++table) keep_seen(rules_[table], hit, hits_[table]);
  return hit;
}

std::int64_t KvWindows::need(const KvGroup& kv, std::int64_t hit, std::int64_t end, bool at_once) const {
  std::int64_t blocks = 0;
  for (std::size_t table = 0; table < rules_.size(); ++table) {
    const std::int64_t taken = std::max<std::int64_t>(end - hit, 0) + kv.free_blocks_in(hits_[table]);
    blocks += at_once ? std::min(taken, rules_[table].most) : taken;
  }
  return blocks;
}

OwnerSlot KvWindows::open(KvGroup& kv, RequestId request, std::uint32_t life, std::int64_t hit) {
  OwnerSlot owner = kNoOwner;
  for (std::size_t table = 0; table < rules_.size(); ++table) {
    const OwnerSlot own = kv.open_owner(request, life_of_table(life, table), hits_[table]);
    const Rule& rule = rules_[table];
    const auto seen_from = static_cast<std::int32_t>(hit - std::min<std::int64_t>(hit, rule.seen));
    if (rule.sink < seen_from) kv.begin_without(own, rule.sink, seen_from);
    if (table == 0) {
      owner = own;
      if (others_.size() <= owner) others_.resize(owner + std::size_t{1});
      others_[owner].clear();
    } else {
      others_[owner].push_back(own);
    }
  }
  return owner;
}

template <class Call>
void KvWindows::for_tables(OwnerSlot owner, const Call& call) const {
  for (std::size_t table = 0; table < rules_.size(); ++table) call(owner_of(owner, table), table);
}

void KvWindows::extend(KvGroup& kv, OwnerSlot owner, std::int32_t end) {
  for_tables(owner, [&](OwnerSlot own, std::size_t /*table*/) { kv.extend(own, end); });
}

// A block may have been passed before its content is known.
void KvWindows::publish(
    KvGroup& kv, OwnerSlot owner, const ContentRun& run, std::int32_t first, std::int32_t end) {
  for_tables(owner, [&](OwnerSlot own, std::size_t table) {
    const KvExtent gap = kv.gap(own);
    const ContentRun named = run_of_table(run, table);
    kv.publish(own, named, first, std::min(end, gap.first));
    kv.publish(own, named, std::max(first, gap.end), end);
  });
}

std::int64_t KvWindows::pass(KvGroup& kv, OwnerSlot owner, std::int64_t computed) {
  std::int64_t passed = 0;
  for_tables(owner, [&](OwnerSlot own, std::size_t table) {
    const Rule& rule = rules_[table];
    const std::int64_t unseen = rule.window == 0 ? 0 : computed - rule.window + 1;
    if (unseen >= block_size_)
      passed += kv.pass(own, rule.sink, static_cast<std::int32_t>(unseen / block_size_));
  });
  return passed;
}

std::int64_t KvWindows::held(const KvGroup& kv, OwnerSlot owner) const {
  std::int64_t blocks = 0;
  for_tables(owner, [&](OwnerSlot own, std::size_t /*table*/) { blocks += kv.length(own); });
  return blocks;
}

std::int64_t KvWindows::held_alone(const KvGroup& kv, OwnerSlot owner) const {
  std::int64_t blocks = 0;
  for_tables(owner, [&](OwnerSlot own, std::size_t /*table*/) { blocks += kv.held_alone(own).value; });
  return blocks;
}

void KvWindows::release(KvGroup& kv, OwnerSlot owner) {
  for_tables(owner, [&](OwnerSlot own, std::size_t /*table*/) { kv.release(own); });
}

void KvWindows::serve(KvGroup& kv,
                      RequestId request,
                      std::uint32_t life,
                      const std::vector<ContentRun>& runs,
                      std::int32_t full) {
  std::int32_t done = look_up(kv, runs, full);
  const OwnerSlot owner = open(kv, request, life, done);
  while (done < full) {
    pass(kv, owner, done * block_size_);
    const auto next = static_cast<std::int32_t>(std::min<std::int64_t>(full, done + step_blocks_));
    kv.take((next - done) * tables());
    extend(kv, owner, next);
    for (const ContentRun& run : runs)
      publish(kv, owner, run, std::max(run.first, done), std::min(run.end, next));
    done = next;
  }
  release(kv, owner);
}

}  // namespace servetwin
