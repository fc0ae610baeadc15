// metrics.prom: the state of a run as a scrape of a vLLM server would show it.
#pragma once

#include <array>
#include <string>

#include "engine/metrics/recorder.h"

namespace servetwin {

// vLLM's bucket bounds, in seconds and in tokens.
inline constexpr std::array<double, 22> kTtftBounds = {
    .001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560};
inline constexpr std::array<double, 19> kTokenTimeBounds = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                                            .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
inline constexpr std::array<double, 21> kRequestTimeBounds = {
    .3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

// What the labels say of the servers.
struct ServerLabels {
  std::string model_name;
  Tokens max_model_len{
      1};  // the token buckets end with the last of 1, 2, 5, 10, 20, ... that is not above it
  Tokens block_size{16};
};

// What belongs to a replica carries engine="<replica>"; what is added up over requests carries engine="0"
// with one replica and engine="all" with several. All requests count, measured or not. After
// Recorder::finish.
std::string prometheus_text(const Recorder& recorder, const ServerLabels& labels);

}  // namespace servetwin
