// Where a thread runs, and the name that tools show for it.
#pragma once

#include <functional>
#include <thread>
#include <vector>

namespace servetwin {

// At most 15 bytes.
void name_this_thread(const char* name);
std::thread named_thread(const char* name, std::function<void()> work);

// The cores that the calling thread may use, ascending.
std::vector<int> cpus_of_this_thread();

// From now on the calling thread uses these alone, which must be among them, and so do the threads it makes.
void keep_this_thread_on(const std::vector<int>& cpus);

}  // namespace servetwin
