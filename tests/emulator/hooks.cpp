// What code compiled with -fsanitize=thread calls at each load and store; the library of that name, which
// would define the same, is not linked.
#include <cstddef>

#include "tests/emulator/checker.h"

using servetwin::emulator::Access;
using servetwin::emulator::note_access;

extern "C" {

void __tsan_init() { servetwin::emulator::note_instrumented(); }
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __tsan_read1(void* at) { note_access(at, 1, Access::kRead, __builtin_return_address(0)); }
void __tsan_read2(void* at) { note_access(at, 2, Access::kRead, __builtin_return_address(0)); }
void __tsan_read4(void* at) { note_access(at, 4, Access::kRead, __builtin_return_address(0)); }
void __tsan_read8(void* at) { note_access(at, 8, Access::kRead, __builtin_return_address(0)); }
void __tsan_read16(void* at) { note_access(at, 16, Access::kRead, __builtin_return_address(0)); }
void __tsan_write1(void* at) { note_access(at, 1, Access::kWrite, __builtin_return_address(0)); }
void __tsan_write2(void* at) { note_access(at, 2, Access::kWrite, __builtin_return_address(0)); }
void __tsan_write4(void* at) { note_access(at, 4, Access::kWrite, __builtin_return_address(0)); }
void __tsan_write8(void* at) { note_access(at, 8, Access::kWrite, __builtin_return_address(0)); }
void __tsan_write16(void* at) { note_access(at, 16, Access::kWrite, __builtin_return_address(0)); }
void __tsan_unaligned_read2(void* at) { note_access(at, 2, Access::kRead, __builtin_return_address(0)); }
void __tsan_unaligned_read4(void* at) { note_access(at, 4, Access::kRead, __builtin_return_address(0)); }
void __tsan_unaligned_read8(void* at) { note_access(at, 8, Access::kRead, __builtin_return_address(0)); }
void __tsan_unaligned_read16(void* at) { note_access(at, 16, Access::kRead, __builtin_return_address(0)); }
void __tsan_unaligned_write2(void* at) { note_access(at, 2, Access::kWrite, __builtin_return_address(0)); }
void __tsan_unaligned_write4(void* at) { note_access(at, 4, Access::kWrite, __builtin_return_address(0)); }
void __tsan_unaligned_write8(void* at) { note_access(at, 8, Access::kWrite, __builtin_return_address(0)); }
void __tsan_unaligned_write16(void* at) { note_access(at, 16, Access::kWrite, __builtin_return_address(0)); }
void __tsan_read_range(void* at, std::size_t size) {
  note_access(at, size, Access::kRead, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t size) {
  note_access(at, size, Access::kWrite, __builtin_return_address(0));
}

}  // extern "C"
