// Names of the token streams that prompts are made of; each kind has its own range below the core's.
#pragma once

#include <cstdint>

namespace servetwin {

// A hash id of a trace is its own name: trace readers admit ids below 2^62 only.
inline constexpr std::uint64_t kDrawnStreams = std::uint64_t{1} << 62;
inline constexpr std::uint64_t kConversationStreams = kDrawnStreams | (std::uint64_t{1} << 61);

// A shared prefix, by who declares its groups.
constexpr std::uint64_t group_stream(std::uint32_t owner, std::uint64_t group) {
  return kDrawnStreams | (std::uint64_t{owner} << 32) | group;
}

// What one conversation says, after its shared prefix.
constexpr std::uint64_t conversation_stream(std::uint64_t session) { return kConversationStreams | session; }

}  // namespace servetwin
