// A bucket that fills by tokens and leaks with time.
#include "sim/backend/slow_readers.h"

#include <algorithm>

#include "engine/base/check.h"

namespace servetwin {
namespace {

// As long as no time in it can overflow: some 30 years.
constexpr double kLongest = 1e9;

Duration reading_time(Bytes bytes, BytesPerSecond rate) {
  return duration_from_seconds(std::min(static_cast<double>(bytes.value) / rate.value, kLongest));
}

}  // namespace

void SlowReaders::add(RequestId request, BytesPerSecond rate, Bytes per_token, Bytes window) {
  CHECK_INVARIANT(rate.value > 0, rate.value);
  Reader reader;
  reader.per_token = std::max(reading_time(per_token, rate), Duration{1});
  reader.window = reading_time(window, rate);
  readers_.insert(raw(request), reader);
}

std::optional<Time> SlowReaders::on_token(RequestId request, Time at) {
  Reader* reader = readers_.find(raw(request));
  if (reader == nullptr) return std::nullopt;
  CHECK_INVARIANT(at >= reader->known, raw(request), at);
  reader->unread = std::max(reader->unread - (at - reader->known), Duration{0}) + reader->per_token;
  reader->known = at;
  if (at <= reader->closed_until || reader->unread <= reader->window) return std::nullopt;
  reader->closed_until = at + (reader->unread - reader->window / 2);
  return reader->closed_until;
}

}  // namespace servetwin
