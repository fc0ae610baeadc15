// Clients that read slower than the model writes: when a client's window is full, and when there is room
// again.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/base/flat_map.h"
#include "engine/base/ids.h"
#include "engine/base/time.h"
#include "engine/base/units.h"

namespace servetwin {

// What is sent and not read yet is counted as the time that reading it takes, so all of it is integers.
// Reading is steady while there is something to read.
class SlowReaders {
 public:
  bool empty() const { return readers_.empty(); }
  // A client that reads `rate` (positive), a token being `per_token`, and leaves `window` unread before the
  // server notices.
  void add(RequestId request, BytesPerSecond rate, Bytes per_token, Bytes window);
  void remove(RequestId request) { readers_.erase(raw(request)); }
  // A token was sent at `at`, no earlier than the one before. If it filled the window of a slow reader: when
  // half of the window will be free again. Tokens that were on their way when it filled do not move that
  // time.
  std::optional<Time> on_token(RequestId request, Time at);

 private:
  struct Reader {
    Duration per_token{};
    Duration window{};
    Duration unread{};  // at `known`
    Time known = kTimeZero;
    Time closed_until = kTimeZero - Duration{1};
  };

  FlatMap<std::uint32_t, Reader> readers_;
};

}  // namespace servetwin
