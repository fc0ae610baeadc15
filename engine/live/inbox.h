// What other threads tell the one that owns the core: a bounded queue it can wait on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

namespace servetwin {

template <class Message>
class Inbox {
 public:
  explicit Inbox(std::size_t limit) : limit_(limit) {}

  // False when it is full or closed; the message is lost then.
  bool try_push(Message message) {
    const std::lock_guard lock(mutex_);
    if (closed_ || messages_.size() >= limit_) return false;
    messages_.push_back(std::move(message));
    changed_.notify_one();
    return true;
  }

  // For senders whose number of messages is bounded by what was asked of them.
  void push_always(Message message) {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(message));
    changed_.notify_one();
  }

  // Nothing is taken any more, except from those who may always push.
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

  // Moves everything that waits to the end of `out`, in the order it came.
  void take_all(std::vector<Message>& out) {
    const std::lock_guard lock(mutex_);
    for (Message& message : messages_) out.push_back(std::move(message));
    messages_.clear();
  }

  // Returns when there is something, when it is closed from now on, or at the deadline.
  void wait_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    const bool was_closed = closed_;
    changed_.wait_until(lock, deadline, [&] { return !messages_.empty() || closed_ != was_closed; });
  }

 private:
  std::size_t limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Message> messages_;
  bool closed_ = false;
};

}  // namespace servetwin
