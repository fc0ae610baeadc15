// What a rank sends in the collectives other than all-reduce, in bytes. The message is what the rank gives.
#pragma once

namespace servetwin {

// Ring: a rank passes every piece on but the one its neighbour has. Direct: its own piece to all others.
constexpr double all_gather_sent_bytes(double piece_bytes, double ranks) {
  return (ranks - 1.0) * piece_bytes;
}

// Ring or direct, of a message of one piece a rank. With an all-gather of the pieces it is an all-reduce.
constexpr double reduce_scatter_sent_bytes(double message_bytes, double ranks) {
  return (ranks - 1.0) / ranks * message_bytes;
}

// Of equal pieces, one of which stays. Where pieces differ it is the message without the rank's own piece.
constexpr double all_to_all_sent_bytes(double message_bytes, double ranks) {
  return (ranks - 1.0) / ranks * message_bytes;
}

// Mean over the ranks: every rank but the root takes the message once, whoever passes it on.
constexpr double broadcast_sent_bytes(double message_bytes, double ranks) {
  return (ranks - 1.0) / ranks * message_bytes;
}

// What the root alone sends when nobody passes it on.
constexpr double broadcast_root_sent_bytes(double message_bytes, double ranks) {
  return (ranks - 1.0) * message_bytes;
}

constexpr double send_sent_bytes(double message_bytes) { return message_bytes; }

}  // namespace servetwin
