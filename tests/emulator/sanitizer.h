// What the address sanitizer wants to know about fibers and memory; nothing in builds without it.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SERVETWIN_EMULATOR_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SERVETWIN_EMULATOR_ASAN
#endif

#ifdef SERVETWIN_EMULATOR_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace servetwin::emulator {

struct FiberStack {
  const void* bottom = nullptr;
  std::size_t size = 0;
  void* fake = nullptr;  // the sanitizer's own, while the fiber is away
};

#ifdef SERVETWIN_EMULATOR_ASAN
inline constexpr bool kAddressSanitizer = true;
// Before a jump to `to`; `from` is null when the fiber that leaves will not come back.
inline void before_jump(FiberStack* from, const FiberStack& to) {
  __sanitizer_start_switch_fiber(from == nullptr ? nullptr : &from->fake, to.bottom, to.size);
}
// After landing in `here`; `before` is filled with the stack that was left, unless it is null.
inline void after_jump(const FiberStack& here, FiberStack* before) {
  const void* bottom = nullptr;
  std::size_t size = 0;
  __sanitizer_finish_switch_fiber(here.fake, &bottom, &size);
  if (before != nullptr) *before = {bottom, size, before->fake};
}
inline void forget_frames(void* stack, std::size_t size) { __asan_unpoison_memory_region(stack, size); }
inline bool is_redzone(const void* byte) { return __asan_address_is_poisoned(byte) != 0; }
#else
inline constexpr bool kAddressSanitizer = false;
inline void before_jump(FiberStack*, const FiberStack&) {}
inline void after_jump(const FiberStack&, FiberStack*) {}
inline void forget_frames(void*, std::size_t) {}
inline bool is_redzone(const void*) { return false; }
#endif

}  // namespace servetwin::emulator
