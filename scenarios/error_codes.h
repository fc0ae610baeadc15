// A page for each stable code of a problem with the input: `servetwin explain CFG003` prints it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace servetwin {

struct ErrorPage {
  const char* code;
  const char* title;
  const char* explanation;
  const char* example;
};

// Sorted by code.
const std::vector<ErrorPage>& error_pages();
// Null for an unknown code.
const ErrorPage* find_error_page(const std::string& code);
std::string to_text(const ErrorPage& page);

}  // namespace servetwin
