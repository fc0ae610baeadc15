// Turns rows into requests: window, scale, class, content.
#include "engine/workload/trace_source.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/base/text.h"
#include "engine/workload/horizon.h"
#include "engine/workload/traces/trace_error.h"

namespace servetwin {

TraceSource::TraceSource(OpenedBytes bytes, const std::string& name, TraceParts parts)
    : parts_(std::move(parts)), reader_(std::move(bytes), name, parts_.spec) {
  fetch();
  if (!first_ns_) {
    throw trace_error(kCodeTraceEmpty, name, 0, "the trace holds no usable request",
                      "name a file with requests");
  }
}

void TraceSource::take(WorkloadItem& item) {
  CHECK_INVARIANT(has_row_);
  const Traffic& traffic = parts_.classes[class_index_];
  RequestSpec& spec = item.spec;
  spec.id = RequestId{static_cast<std::uint32_t>(taken_)};
  spec.arrival = arrival_;
  spec.prompt = row_.input;
  spec.session = row_.session;
  item.truth.output = row_.output;
  const DrawSite site{parts_.seed, static_cast<std::uint64_t>(taken_), 0};
  traffic.fill(site, item);
  if (row_.priority) spec.priority = *row_.priority;
  if (row_.adapter) spec.adapter = *row_.adapter;
  if (row_.tenant) {
    spec.tenant = *row_.tenant;
    spec.cache_salt = traffic.cache_salt(site, spec);
  }
  fill_content(spec);
  ++taken_;
  fetch();
}

void TraceSource::fill_content(RequestSpec& spec) const {
  spec.content.clear();
  spec.continues_content = false;
  Tokens left = row_.input;
  for (const std::uint64_t hash : row_.hashes) {
    const Tokens length = std::min(left, parts_.spec.hash_block);
    spec.content.push_back({hash, length});
    left -= length;
  }
}

void TraceSource::fetch() {
  has_row_ = false;
  const std::int64_t limit =
      std::min(parts_.spec.max_requests.value_or(kMaxRequests), parts_.num_requests.value_or(kMaxRequests));
  if (taken_ >= limit) return;
  while (reader_.next(row_)) {
    if (!first_ns_) first_ns_ = row_.time_ns;
    const Duration since_first{row_.time_ns - *first_ns_};
    if (parts_.spec.end && since_first >= *parts_.spec.end) return;
    if (since_first < parts_.spec.start) {
      ++outside_;
      continue;
    }
    const auto index = class_of(row_);
    if (!index) continue;
    class_index_ = *index;
    has_row_ = accept(since_first - parts_.spec.start);
    return;
  }
}

// Sets the arrival; false where the run is over by then.
bool TraceSource::accept(Duration since_start) {
  const double factor = parts_.spec.time_scale / parts_.spec.rate_scale;
  const double ns = static_cast<double>(since_start.count()) * factor;
  if (ns > static_cast<double>(kHorizon.count())) {
    throw trace_error(kCodeTraceRow, parts_.spec.file, row_.line, "arrives more than a year after the start",
                      "set end, lower time_scale or raise rate_scale");
  }
  arrival_ = kTimeZero + (factor == 1 ? since_start : duration_from_ns(ns));
  return !parts_.duration || arrival_ < kTimeZero + *parts_.duration;
}

std::optional<std::size_t> TraceSource::class_of(const TraceRow& row) {
  if (row.traffic_class.empty()) return 0;
  const auto& names = parts_.class_names;
  const auto found = std::find(names.begin(), names.end(), row.traffic_class);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  reader_.reject(row, "unknown class \"" + row.traffic_class + "\"",
                 "declare it under workload.classes; there are: " + join(names, ", "));
  return std::nullopt;
}

std::string TraceSource::describe() const {
  std::string text = "trace " + reader_.identity();
  for (const std::string& note : reader_.notes()) text += "; " + note;
  return text;
}

SourceFacts TraceSource::facts() const {
  SourceFacts facts;
  facts.classes = parts_.class_names;
  for (const Traffic& traffic : parts_.classes)
    facts.uses_oracle = facts.uses_oracle || traffic.uses_oracle();
  facts.content = reader_.identity();
  facts.rows = reader_.rows();
  facts.skipped = reader_.skipped();
  facts.notes = reader_.notes();
  if (outside_ > 0) facts.notes.push_back(format_grouped(outside_) + " rows before the window");
  return facts;
}

}  // namespace servetwin
