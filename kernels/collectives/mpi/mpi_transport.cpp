// The one file that knows MPI.
#include "kernels/collectives/mpi/mpi_transport.h"

#include <algorithm>
#include <cstring>
#include <mpi.h>
#include <utility>

#include "engine/base/check.h"

namespace servetwin {

struct MpiRequests {
  std::vector<MPI_Request> requests;
  std::vector<int> ranks;  // of each request
  std::deque<std::vector<std::byte>> memory;
};

namespace {

constexpr int kNotes = 0;  // the tag of failures
constexpr std::size_t kNoteBytes = 1024;
constexpr std::size_t kMaxMessage = std::size_t{1} << 30U;  // MPI counts in int

void require(int status, const char* call) {
  if (status == MPI_SUCCESS) return;
  std::string text(MPI_MAX_ERROR_STRING, ' ');
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw MpiFailure(std::string(call) + ": " + text.substr(0, static_cast<std::size_t>(length)));
}

int as_count(std::size_t bytes) { return static_cast<int>(bytes); }

}  // namespace

MpiTransport::MpiTransport() {
  int provided = 0;
  require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  if (provided < MPI_THREAD_SERIALIZED) throw MpiFailure("this MPI may be called from one thread only");
  require(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  require(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  require(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

MpiTransport::~MpiTransport() {
  for (std::unique_ptr<MpiRequests>& requests : given_up_) static_cast<void>(requests.release());
}

void MpiTransport::finalise() {
  const std::lock_guard lock(mutex_);
  int is_finalised = 0;
  MPI_Finalized(&is_finalised);
  if (is_finalised == 0) MPI_Finalize();
}

void MpiTransport::end_all(int exit_code) {
  MPI_Abort(MPI_COMM_WORLD, exit_code);
  std::abort();
}

int MpiTransport::begin_group() {
  const std::lock_guard lock(mutex_);
  if (makes_group_) throw MpiFailure("another thread of this process splits a group at this moment");
  makes_group_ = true;
  return next_tag_;
}

void MpiTransport::end_group(int tag) {
  const std::lock_guard lock(mutex_);
  makes_group_ = false;
  next_tag_ = std::max(next_tag_, tag + 1);
}

bool MpiTransport::has_failures() {
  const std::lock_guard lock(mutex_);
  return !failures_.empty();
}

void MpiTransport::note(int tag, const std::string& reason) { failures_.try_emplace(tag, reason); }

void MpiTransport::take_notes() {
  // A look that finds nothing lets messages come in, so one look more finds those that had arrived.
  for (int looks = 0; looks < 2; ++looks) {
    int is_there = 0;
    MPI_Status status;
    require(MPI_Iprobe(MPI_ANY_SOURCE, kNotes, MPI_COMM_WORLD, &is_there, &status), "MPI_Iprobe");
    if (is_there == 0) continue;
    looks = -1;
    std::string text(kNoteBytes, '\0');
    require(MPI_Recv(text.data(), as_count(text.size()), MPI_BYTE, status.MPI_SOURCE, kNotes, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
    int tag = 0;
    std::memcpy(&tag, text.data(), sizeof tag);
    note(tag, text.c_str() + sizeof tag);
  }
}

std::string MpiTransport::failure_of(int tag) {
  const std::lock_guard lock(mutex_);
  take_notes();
  const auto found = failures_.find(tag);
  return found == failures_.end() ? std::string() : found->second;
}

void MpiTransport::fail(int tag, const std::string& reason, const std::vector<int>& members) {
  const std::lock_guard lock(mutex_);
  if (failures_.contains(tag)) return;
  note(tag, reason);
  std::vector<std::byte> text(kNoteBytes);
  std::memcpy(text.data(), &tag, sizeof tag);
  std::memcpy(text.data() + sizeof tag, reason.data(), std::min(reason.size(), kNoteBytes - sizeof tag - 1));
  given_up_.push_back(std::make_unique<MpiRequests>());
  MpiRequests& sent = *given_up_.back();
  sent.memory.push_back(std::move(text));
  for (const int member : members) {
    if (member == rank_) continue;
    MPI_Request& request = sent.requests.emplace_back(MPI_REQUEST_NULL);
    MPI_Isend(sent.memory[0].data(), as_count(kNoteBytes), MPI_BYTE, member, kNotes, MPI_COMM_WORLD,
              &request);
  }
}

MpiExchange::MpiExchange(MpiTransport& transport, int tag)
    : transport_(transport), tag_(tag), requests_(std::make_unique<MpiRequests>()) {
  CHECK_INVARIANT(tag != kNotes);
}

MpiExchange::~MpiExchange() {
  if (requests_->requests.empty()) return;
  const std::lock_guard lock(transport_.mutex_);
  transport_.given_up_.push_back(std::move(requests_));
}

void MpiExchange::send(int rank, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  start(rank, bytes, bytes.size());
}

std::span<const std::byte> MpiExchange::receive(int rank, std::size_t bytes) {
  if (bytes == 0) return {};
  return start(rank, {}, bytes);
}

std::span<const std::byte> MpiExchange::start(int rank, std::span<const std::byte> given, std::size_t bytes) {
  std::vector<std::byte>& memory = requests_->memory.emplace_back(given.begin(), given.end());
  memory.resize(bytes);
  const std::lock_guard lock(transport_.mutex_);
  for (std::size_t first = 0; first < bytes; first += kMaxMessage) {
    const int count = as_count(std::min(kMaxMessage, bytes - first));
    requests_->ranks.push_back(rank);
    MPI_Request* request = &requests_->requests.emplace_back(MPI_REQUEST_NULL);
    std::byte* data = memory.data() + first;
    if (given.empty()) {
      require(MPI_Irecv(data, count, MPI_BYTE, rank, tag_, MPI_COMM_WORLD, request), "MPI_Irecv");
    } else {
      require(MPI_Isend(data, count, MPI_BYTE, rank, tag_, MPI_COMM_WORLD, request), "MPI_Isend");
    }
  }
  return memory;
}

bool MpiExchange::done() {
  const std::lock_guard lock(transport_.mutex_);
  std::size_t open = 0;
  for (std::size_t i = 0; i < requests_->requests.size(); ++i) {
    int is_done = 0;
    require(MPI_Test(&requests_->requests[i], &is_done, MPI_STATUS_IGNORE), "MPI_Test");
    if (is_done != 0) continue;
    requests_->requests[open] = requests_->requests[i];
    requests_->ranks[open++] = requests_->ranks[i];
  }
  requests_->requests.resize(open);
  requests_->ranks.resize(open);
  return open == 0;
}

std::vector<int> MpiExchange::missing() const {
  std::vector<int> ranks = requests_->ranks;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace servetwin
