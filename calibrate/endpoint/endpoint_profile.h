// What an endpoint's rows say, as a profile that the cost model `fitted` reads.
#pragma once

#include <string>
#include <vector>

#include "calibrate/endpoint/kv_capacity.h"
#include "calibrate/endpoint/load_fit.h"

namespace servetwin {

// The subject's device, model and number formats are what the user says of the server, for its API does not.
// Throws ConfigError (CAL001), naming `source`, where the rows are too few.
StepProfile endpoint_profile(const ProfileSubject& subject,
                             const LoadSubject& server,
                             const std::vector<LoadRow>& rows,
                             const std::string& source);

}  // namespace servetwin
