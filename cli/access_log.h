// A request that was answered as a line of JSON.
#pragma once

#include <string>

#include "engine/live/http/http_server.h"

namespace servetwin {

std::string access_line(const AccessRecord& record);

}  // namespace servetwin
