// Short keys, defaults left out, times in nanoseconds. docs/journal.md lists the keys.
#include "engine/journal/line_codec.h"

#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "engine/base/digest.h"
#include "engine/journal/line_fields.h"

namespace servetwin {
namespace {

// In the order of EventKind.
constexpr const char* kEventNames[] = {"cancel", "out",   "done",   "ready", "replica",
                                       "window", "admin", "arrive", "plan"};
static_assert(std::size(kEventNames) == std::variant_size_v<Event>);
constexpr const char* kReplicaStateNames[] = {"up", "draining", "down", "failed"};
constexpr const char* kAdminNames[] = {"pause", "resume", "reset_cache", "reset_cache_forced", "drain"};
constexpr EndReason kCancelReasons[] = {EndReason::kClient, EndReason::kDeadline, EndReason::kQueueTimeout,
                                        EndReason::kTtftTimeout};
constexpr const char* kCancelNames[] = {to_string(EndReason::kClient), to_string(EndReason::kDeadline),
                                        to_string(EndReason::kQueueTimeout),
                                        to_string(EndReason::kTtftTimeout)};
constexpr EndState kOutEnds[] = {EndState::kStop, EndState::kFailed};
constexpr const char* kOutNames[] = {to_string(EndState::kStop), to_string(EndState::kFailed)};

// Sums of token counts below this cannot overflow.
constexpr std::uint64_t kMaxTokens = std::uint64_t{1} << 40;
constexpr std::uint64_t kMaxTime = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxWaits = 31;
constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();

template <class... Args>
void append(std::string& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

// The highest value of an id type.
template <class Id>
constexpr std::uint64_t kMaxOf = std::numeric_limits<std::underlying_type_t<Id>>::max();

template <class Id>
Id id_of(LineFields& fields, const char* key) {
  return static_cast<Id>(fields.number(key, kMaxOf<Id>));
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct AppendEvent {
  std::string& out;
  const JournalEvent& line;

  void operator()(const Cancelled& e) const {
    append(out, R"(,"q":{},"w":"{}")", raw(e.request), to_string(e.why));
  }
  void operator()(const SequenceOut& e) const {
    append(out, R"(,"q":{},"s":{},"x":"{}")", raw(e.request), raw(e.step), to_string(e.end));
  }
  void operator()(const StepDone& e) const {
    append(out, R"(,"r":{},"s":{})", raw(e.replica), raw(e.step));
    if (e.ran != 1) append(out, R"(,"n":{})", e.ran);
  }
  void operator()(const Ready& e) const {
    append(out, R"(,"q":{},"w":{},"ok":{})", raw(e.request), static_cast<unsigned>(e.what), e.ok);
  }
  void operator()(const ReplicaChanged& e) const {
    append(out, R"(,"r":{},"x":"{}")", raw(e.replica), kReplicaStateNames[static_cast<std::size_t>(e.state)]);
  }
  void operator()(const ClientWindow& e) const {
    append(out, R"(,"q":{},"open":{})", raw(e.request), e.open);
  }
  void operator()(const Admin& e) const {
    append(out, R"(,"r":{},"x":"{}")", raw(e.replica), kAdminNames[static_cast<std::size_t>(e.action)]);
  }
  void operator()(const Arrived& e) const { append(out, R"(,"q":{})", raw(e.request)); }
  void operator()(const PlanDue& e) const {
    append(out, R"(,"r":{})", raw(e.replica));
    if (line.started != StepId{0}) append(out, R"(,"s":{})", raw(line.started));
    if (line.late != Duration::zero()) append(out, R"(,"l":{})", to_ns(line.late));
  }
};

Event decode_event(LineFields& fields, EventKind kind, JournalEvent& line) {
  const auto request = [&] { return id_of<RequestId>(fields, "q"); };
  const auto replica = [&] { return id_of<ReplicaId>(fields, "r"); };
  const auto step = [&] { return id_of<StepId>(fields, "s"); };
  switch (kind) {
    case EventKind::kCancelled:
      return Cancelled{request(), kCancelReasons[fields.choice("w", kCancelNames, std::size(kCancelNames))]};
    case EventKind::kSequenceOut:
      return SequenceOut{request(), step(), kOutEnds[fields.choice("x", kOutNames, std::size(kOutNames))]};
    case EventKind::kStepDone: {
      const auto ran =
          static_cast<std::uint32_t>(fields.number_or("n", 1, std::numeric_limits<std::uint32_t>::max()));
      return StepDone{replica(), step(), ran};
    }
    case EventKind::kReady:
      return Ready{request(), static_cast<WaitsFor>(fields.number("w", kMaxWaits)), fields.flag("ok")};
    case EventKind::kReplicaChanged:
      return ReplicaChanged{replica(), static_cast<ReplicaState>(fields.choice(
                                           "x", kReplicaStateNames, std::size(kReplicaStateNames)))};
    case EventKind::kClientWindow:
      return ClientWindow{request(), fields.flag("open")};
    case EventKind::kAdmin:
      return Admin{replica(),
                   static_cast<AdminAction>(fields.choice("x", kAdminNames, std::size(kAdminNames)))};
    case EventKind::kArrived:
      return Arrived{request()};
    case EventKind::kPlanDue:
      line.started = static_cast<StepId>(fields.number_or("s", 0, kAny));
      line.late = Duration{static_cast<std::int64_t>(fields.number_or("l", 0, kMaxTime))};
      return PlanDue{replica()};
  }
  return Arrived{kNoRequest};
}

JournalEvent decode_event_line(LineFields& fields) {
  JournalEvent line;
  const auto kind = static_cast<EventKind>(fields.choice("e", kEventNames, std::size(kEventNames)));
  line.stamped.time = time_at_ns(static_cast<std::int64_t>(fields.number("t", kMaxTime)));
  line.stamped.nth =
      static_cast<std::uint32_t>(fields.number_or("k", 0, std::numeric_limits<std::uint32_t>::max()));
  line.stamped.event = decode_event(fields, kind, line);
  return line;
}

void decode_content(LineFields& fields, RequestSpec& request) {
  const std::vector<std::uint64_t> content = fields.list("c");
  if (content.empty()) return;
  if (content.size() % 2 != 0) return fields.fail("\"c\" must hold pairs: stream, length");
  std::uint64_t left = static_cast<std::uint64_t>(request.prompt.value);
  for (std::size_t i = 0; i < content.size(); i += 2) {
    if (content[i + 1] > left) return fields.fail("the lengths in \"c\" sum to more than the prompt");
    left -= content[i + 1];
    request.content.push_back({content[i], Tokens{static_cast<std::int64_t>(content[i + 1])}});
  }
  if (left != 0) fields.fail("the lengths in \"c\" sum to less than the prompt");
}

RequestSpec decode_request(LineFields& fields) {
  RequestSpec request;
  request.id = id_of<RequestId>(fields, "q");
  request.arrival = time_at_ns(static_cast<std::int64_t>(fields.number("a", kMaxTime)));
  request.prompt = Tokens{static_cast<std::int64_t>(fields.number("p", kMaxTokens))};
  request.max_tokens = Tokens{static_cast<std::int64_t>(fields.number("m", kMaxTokens))};
  request.priority = fields.signed_or_zero("pr");
  request.traffic_class = static_cast<ClassId>(fields.number_or("cl", 0, kMaxClasses - 1));
  request.stat_group = static_cast<std::uint8_t>(fields.number_or("g", 0, kMaxStatGroups - 1));
  request.tenant = static_cast<TenantId>(fields.number_or("tn", 0, kMaxOf<TenantId>));
  request.adapter = static_cast<AdapterId>(fields.number_or("ad", raw(kNoAdapter), kMaxOf<AdapterId>));
  request.waits_for = static_cast<WaitsFor>(fields.number_or("w", 0, kMaxWaits));
  request.session = static_cast<SessionId>(fields.number_or("ss", raw(kNoSession), kMaxOf<SessionId>));
  request.cache_salt = fields.number_or("sa", 0, kAny);
  request.continues_content = fields.flag_or_false("cc");
  request.told_outputs =
      static_cast<std::int32_t>(fields.number_or("to", 0, std::numeric_limits<std::int32_t>::max()));
  if (request.prompt.value < 1) fields.fail("\"p\" must be at least 1");
  if (request.max_tokens.value < 1) fields.fail("\"m\" must be at least 1");
  decode_content(fields, request);
  return request;
}

JournalHeader decode_header(LineFields& fields) {
  JournalHeader header;
  header.version = fields.number("journal", kAny);
  if (header.version != kJournalVersion) return header;
  header.build = fields.text("build");
  header.seed = fields.number("seed", kAny);
  header.replicas = static_cast<std::uint32_t>(fields.number("replicas", raw(kNoReplica)));
  header.engine = fields.text("engine");
  header.profile_hash = fields.text("profile");
  header.estimator_hash = fields.text("estimator");
  header.scenario = fields.text("scenario");
  return header;
}

JournalFooter decode_footer(LineFields& fields) {
  return {.complete = fields.flag("complete"),
          .events = fields.number("events", kAny),
          .decisions = fields.hex("decisions"),
          .timeline = fields.hex("timeline")};
}

}  // namespace

void append_line(std::string& out, const JournalHeader& header) {
  append(out,
         R"({{"journal":{},"build":{},"seed":{},"replicas":{},"engine":{},)"
         R"("profile":{},"estimator":{},"scenario":{}}})",
         header.version, quoted(header.build), header.seed, header.replicas, quoted(header.engine),
         quoted(header.profile_hash), quoted(header.estimator_hash), quoted(header.scenario));
  out += '\n';
}

void append_line(std::string& out, const RequestSpec& request) {
  append(out, R"({{"q":{},"a":{},"p":{},"m":{})", raw(request.id), to_ns(request.arrival),
         request.prompt.value, request.max_tokens.value);
  if (request.priority != 0) append(out, R"(,"pr":{})", request.priority);
  if (request.traffic_class != ClassId{0}) append(out, R"(,"cl":{})", raw(request.traffic_class));
  if (request.stat_group != 0) append(out, R"(,"g":{})", request.stat_group);
  if (request.tenant != TenantId{0}) append(out, R"(,"tn":{})", raw(request.tenant));
  if (request.adapter != kNoAdapter) append(out, R"(,"ad":{})", raw(request.adapter));
  if (request.waits_for != WaitsFor::kNothing)
    append(out, R"(,"w":{})", static_cast<unsigned>(request.waits_for));
  if (request.session != kNoSession) append(out, R"(,"ss":{})", raw(request.session));
  if (request.cache_salt != 0) append(out, R"(,"sa":{})", request.cache_salt);
  if (request.told_outputs != 0) append(out, R"(,"to":{})", request.told_outputs);
  if (request.continues_content) out += R"(,"cc":true)";
  if (!request.content.empty()) {
    const char* separator = R"(,"c":[)";
    for (const ContentSegment& segment : request.content) {
      append(out, "{}{},{}", separator, segment.stream, segment.length.value);
      separator = ",";
    }
    out += ']';
  }
  out += "}\n";
}

void append_line(std::string& out, const JournalEvent& event) {
  append(out, R"({{"t":{},"e":"{}")", to_ns(event.stamped.time), kEventNames[event.stamped.event.index()]);
  std::visit(AppendEvent{out, event}, event.stamped.event);
  if (event.stamped.nth != 0) append(out, R"(,"k":{})", event.stamped.nth);
  out += "}\n";
}

void append_line(std::string& out, const JournalFooter& footer) {
  append(out, R"({{"complete":{},"events":{},"decisions":"{}","timeline":"{}"}})", footer.complete,
         footer.events, to_hex(footer.decisions), to_hex(footer.timeline));
  out += '\n';
}

std::string decode_line(std::string_view text, JournalLine& out) {
  LineFields fields(text);
  if (fields.has("e")) {
    out = decode_event_line(fields);
  } else if (fields.has("q")) {
    out = decode_request(fields);
  } else if (fields.has("journal")) {
    const JournalHeader header = decode_header(fields);
    out = header;
    if (header.version != kJournalVersion) return {};
  } else if (fields.has("complete")) {
    out = decode_footer(fields);
  } else {
    fields.fail("neither a header, a request, an event nor a footer");
  }
  return fields.finish();
}

}  // namespace servetwin
