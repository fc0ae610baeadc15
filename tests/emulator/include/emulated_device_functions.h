// Atomics and device intrinsics for the emulator; cuda_runtime.h includes them. A thread runs alone between
// barriers, so an atomic is a plain update that the checker is told of.
#pragma once

template <class T, class Update>
__attribute__((no_sanitize("thread"), noinline)) T emulated_atomic(T* at, Update update) {
  servetwin::emulator::note_access(at, sizeof(T), servetwin::emulator::Access::kAtomic,
                                   __builtin_return_address(0));
  const T before = *at;
  *at = update(before);
  return before;
}

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return emulated_atomic(at, [value](T before) { return static_cast<T>(before + value); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return emulated_atomic(at, [value](T before) { return std::max(before, value); });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return emulated_atomic(at, [value](T before) { return std::min(before, value); });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return emulated_atomic(at, [value](T) { return value; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return emulated_atomic(at, [&](T before) { return before == expected ? value : before; });
}

inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1; }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
template <class T>
T __ldg(const T* at) {
  return *at;
}
