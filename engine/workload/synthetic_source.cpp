// Conversations wait in a heap for their next turn; new ones come from the arrival process or from users.
#include "engine/workload/synthetic_source.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "engine/workload/content_streams.h"
#include "engine/workload/horizon.h"

namespace servetwin {

SyntheticSource::SyntheticSource(SyntheticParts parts)
    : parts_(std::move(parts)), class_choice_(parts_.class_weights) {
  if (parts_.arrivals) {
    next_start_ = parts_.arrivals->next();
    return;
  }
  const std::int64_t users = parts_.closed_loop->users;
  for (std::int64_t user = 0; user < users; ++user) {
    const Duration start{parts_.closed_loop->stagger.count() / users * user};
    push_due(kTimeZero + start, start_session(static_cast<std::uint64_t>(user)));
  }
}

Time SyntheticSource::next_arrival() {
  if (taken_ >= parts_.num_requests.value_or(kMaxRequests)) return kTimeNever;
  const Time next = std::min(next_start_, due_.empty() ? kTimeNever : due_.front().at);
  const bool over = parts_.duration && next >= kTimeZero + *parts_.duration;
  return over ? kTimeNever : next;
}

void SyntheticSource::take(WorkloadItem& item) {
  const Time arrival = next_arrival();
  CHECK_INVARIANT(arrival != kTimeNever);
  const Session session = take_due().session;
  const Traffic& traffic = parts_.classes[session.class_index];
  const DrawSite site = site_of(session);
  const LengthPair lengths = traffic.lengths(site);

  RequestSpec& spec = item.spec;
  spec.id = RequestId{static_cast<std::uint32_t>(taken_++)};
  spec.arrival = arrival;
  spec.session = traffic.has_sessions() ? SessionId{static_cast<std::uint32_t>(session.number)} : kNoSession;
  item.truth.output = lengths.output;
  traffic.fill(site, item);
  fill_content(session, lengths.input, spec);
  if (parts_.closed_loop || session.turn + 1 < session.turns) {
    Session running = session;
    running.said += lengths.input;
    waiting_.insert(raw(spec.id), running);
  }
}

void SyntheticSource::fill_content(const Session& session, Tokens new_text, RequestSpec& spec) const {
  const Traffic& traffic = parts_.classes[session.class_index];
  const auto prefix = traffic.shared_prefix(site_of(session));
  const Tokens said = session.said + new_text;
  spec.prompt = said;
  spec.content.clear();
  spec.continues_content = traffic.has_sessions();
  if (!prefix && !traffic.has_sessions()) return;  // text that nobody shares
  if (prefix) {
    spec.prompt += prefix->tokens;
    spec.content.push_back({prefix->stream, prefix->tokens});
  }
  spec.content.push_back({conversation_stream(session.number), said});
}

bool SyntheticSource::reacts_to_ends() const {
  const auto has_sessions = [](const Traffic& traffic) { return traffic.has_sessions(); };
  return parts_.closed_loop || std::any_of(parts_.classes.begin(), parts_.classes.end(), has_sessions);
}

void SyntheticSource::on_end(const RequestRecord& record) {
  const Session* found = waiting_.find(raw(record.id));
  if (found == nullptr) return;
  Session session = *found;
  waiting_.erase(raw(record.id));
  const DrawSite site = site_of(session);
  session.said += record.outputs;
  ++session.turn;
  if (is_finished(record.end_state) && session.turn < session.turns) {
    push_due(record.end + parts_.classes[session.class_index].think_time(site), session);
  } else if (parts_.closed_loop) {
    start_next_of_user(session, record);
  }
}

// A user's conversations are numbered user, user + users, user + 2 users, …: no draw depends on who is
// faster.
void SyntheticSource::start_next_of_user(const Session& session, const RequestRecord& record) {
  const ClosedLoopSpec& loop = *parts_.closed_loop;
  const DrawSite site{parts_.seed, session.number, 0};
  Duration pause = sample_duration(loop.think_time, site, Stream::kThinkTimes, 1);
  if (!is_finished(record.end_state)) pause = std::max(pause, loop.retry_pause);
  push_due(record.end + pause, start_session(session.number + static_cast<std::uint64_t>(loop.users)));
}

std::optional<std::int64_t> SyntheticSource::total() const {
  return parts_.duration ? std::nullopt : parts_.num_requests;
}

SourceFacts SyntheticSource::facts() const {
  SourceFacts facts;
  facts.closed_loop = parts_.closed_loop.has_value();
  facts.classes = parts_.class_names;
  for (const Traffic& traffic : parts_.classes)
    facts.uses_oracle = facts.uses_oracle || traffic.uses_oracle();
  return facts;
}

bool SyntheticSource::later(const Due& a, const Due& b) {
  return a.at != b.at ? a.at > b.at : a.session.number > b.session.number;
}

SyntheticSource::Session SyntheticSource::start_session(std::uint64_t number) const {
  Session session;
  session.number = number;
  session.class_index =
      static_cast<std::uint32_t>(class_choice_.sample(StreamKey{parts_.seed, Stream::kClasses, number}, 0));
  session.turns = parts_.classes[session.class_index].turns(site_of(session));
  return session;
}

DrawSite SyntheticSource::site_of(const Session& session) const {
  return {parts_.seed, session.number, session.turn};
}

// The earliest; at equal times conversations that go on come before one that starts, as their numbers are
// lower.
SyntheticSource::Due SyntheticSource::take_due() {
  const Time due = due_.empty() ? kTimeNever : due_.front().at;
  if (next_start_ < due) {
    const Due start{next_start_, start_session(sessions_started_++)};
    next_start_ = parts_.arrivals->next();
    return start;
  }
  std::pop_heap(due_.begin(), due_.end(), later);
  const Due result = due_.back();
  due_.pop_back();
  return result;
}

void SyntheticSource::push_due(Time at, const Session& session) {
  if (at > kTimeZero + kHorizon) return;
  due_.push_back({at, session});
  std::push_heap(due_.begin(), due_.end(), later);
}

}  // namespace servetwin
