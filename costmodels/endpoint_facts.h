// What a step profile says besides when it was measured from outside, through a server's API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/params.h"

namespace servetwin {

// 95 of 100 resamplings of what was measured give the price a value within it.
struct PriceInterval {
  std::string price;
  double low = 0;
  double high = 0;

  template <class Visitor>
  void fields(Visitor& v) {
    v("price", price, "A price of `step`, or front_end_ns.", kRequired);
    v("low", low, "2.5 of 100 are below.", kRequired);
    v("high", high, "2.5 of 100 are above.", kRequired);
  }
};

struct EndpointFacts {
  std::string url;
  std::string server;
  double front_end_ns = 0;
  double front_end_token_ns = 0;
  std::optional<double> kv_tokens;
  std::optional<double> kv_tokens_low;
  std::optional<double> kv_tokens_high;
  std::string kv_evidence;
  std::vector<PriceInterval> intervals;

  template <class Visitor>
  void fields(Visitor& v) {
    v("url", url, "Where it answered.", kRequired);
    v("server", server, "The version that it told.");
    v("front_end_ns", front_end_ns, "Of a request, besides its steps; for front_end of a scenario.");
    v("front_end_token_ns", front_end_token_ns, "Of a prompt's token, in the same way.");
    v("kv_tokens", kv_tokens, "Tokens that its KV cache holds.");
    v("kv_tokens_low", kv_tokens_low, "At least so many.");
    v("kv_tokens_high", kv_tokens_high, "At most so many; null where nothing showed it.");
    v("kv_evidence", kv_evidence, "How that is known.");
    v("intervals", intervals, "How sure the prices are.");
  }
};

}  // namespace servetwin
