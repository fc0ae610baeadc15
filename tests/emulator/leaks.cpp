// Launches that end by a fault leave fibers that nobody goes on with, and what their stacks own with them:
// tests do that on purpose, and it is no leak of the product.

extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
