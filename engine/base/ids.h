// Ids are types without arithmetic: a replica's number cannot be taken for a request's.
#pragma once

#include <cstdint>

namespace servetwin {

enum class RequestId : std::uint32_t {};  // running number in order of arrival
enum class ReplicaId : std::uint16_t {};
enum class StepId : std::uint64_t {};  // per replica, from 1
enum class ClassId : std::uint8_t {};  // traffic class, at most 16
enum class TenantId : std::uint16_t {};
enum class AdapterId : std::uint16_t {};  // 0 means the base model
enum class SessionId : std::uint32_t {};  // multi-turn conversation

inline constexpr RequestId kNoRequest{0xffffffffU};
inline constexpr ReplicaId kNoReplica{0xffffU};
inline constexpr AdapterId kNoAdapter{0};
inline constexpr SessionId kNoSession{0xffffffffU};
inline constexpr int kMaxClasses = 16;

constexpr std::uint32_t raw(RequestId id) { return static_cast<std::uint32_t>(id); }

constexpr std::uint16_t raw(ReplicaId id) { return static_cast<std::uint16_t>(id); }

constexpr std::uint64_t raw(StepId id) { return static_cast<std::uint64_t>(id); }

constexpr std::uint8_t raw(ClassId id) { return static_cast<std::uint8_t>(id); }

constexpr std::uint16_t raw(TenantId id) { return static_cast<std::uint16_t>(id); }

constexpr std::uint16_t raw(AdapterId id) { return static_cast<std::uint16_t>(id); }

constexpr std::uint32_t raw(SessionId id) { return static_cast<std::uint32_t>(id); }

constexpr StepId next(StepId id) { return StepId{raw(id) + 1}; }

}  // namespace servetwin
