#pragma once

#if !__has_include(<mpi.h>)
#error "iris/mpi.hpp needs an MPI: apt-get install libopenmpi-dev openmpi-bin, and link with irisgen::mpi"
#endif
#include <mpi.h>

#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "iris/bootstrap.hpp"

/// For programs that have an MPI communicator already. Header-only, so that it is compiled with the program's own MPI,
/// whichever that is; calls of MPI 3 alone.
namespace iris {

namespace mpi {

inline void check(int error, const char* call) {
  if (error == MPI_SUCCESS) return;
  std::string words(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  if (MPI_Error_string(error, words.data(), &length) != MPI_SUCCESS) length = 0;
  words.resize(static_cast<std::size_t>(length));
  throw std::runtime_error(std::string(call) + " failed: " + words);
}

struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;

  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() {
    if (handle != MPI_COMM_NULL) MPI_Comm_free(&handle);
  }
};

/// What connect_through() asks of a Bootstrap, over a duplicate of the communicator.
class Ranks final : public Bootstrap {
 public:
  Ranks(MPI_Comm communicator, std::optional<int> local_rank) {
    check(MPI_Comm_dup(communicator, &own_.handle), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(own_.handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(own_.handle, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(own_.handle, &size_), "MPI_Comm_size");
    Communicator of_host;
    check(MPI_Comm_split_type(own_.handle, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &of_host.handle),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(of_host.handle, &local_rank_), "MPI_Comm_rank");
    local_rank_ = local_rank.value_or(local_rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }

  /// Together no more bytes than MPI counts.
  std::vector<std::string> all_gather(const std::string& bytes, const std::string& /*call*/) override {
    const int length = static_cast<int>(bytes.size());
    std::vector<int> lengths(static_cast<std::size_t>(size_));
    check(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, own_.handle), "MPI_Allgather");
    std::vector<int> offsets(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::string received(static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
    check(MPI_Allgatherv(bytes.data(), length, MPI_BYTE, received.data(), lengths.data(), offsets.data(), MPI_BYTE,
                         own_.handle),
          "MPI_Allgatherv");
    std::vector<std::string> all;
    all.reserve(lengths.size());
    for (std::size_t rank = 0; rank < lengths.size(); ++rank) {
      all.push_back(received.substr(static_cast<std::size_t>(offsets[rank]), static_cast<std::size_t>(lengths[rank])));
    }
    return all;
  }

 private:
  Communicator own_;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
};

inline void require_intracommunicator(MPI_Comm communicator) {
  int has_begun = 0;
  int is_over = 0;
  MPI_Initialized(&has_begun);
  MPI_Finalized(&is_over);
  if (has_begun == 0) throw std::runtime_error("MPI has not begun; call MPI_Init first");
  if (is_over != 0) throw std::runtime_error("MPI is over; join the World before MPI_Finalize");
  if (communicator == MPI_COMM_NULL)
    throw std::runtime_error("MPI_COMM_NULL has no ranks; only those of the communicator join its world");
  int connects_groups = 0;
  check(MPI_Comm_test_inter(communicator, &connects_groups), "MPI_Comm_test_inter");
  if (connects_groups != 0)
    throw std::runtime_error("an intercommunicator connects two groups, of which each is a world of its own");
}

}  // namespace mpi

/// For World::join: the ranks of an intracommunicator, in its order, as the ranks of a world. Collective over it. MPI
/// brings the processes together, in this call alone, over a duplicate, so that no message of the program's is met;
/// from then on they speak as those of connect_processes() do, so that groups need no communicators, a rank that ends,
/// throws or is stopped is told of at once, and the World may outlive MPI. The rank's GPU is that of its number among
/// the communicator's processes of this host, unless `local_rank` says otherwise: where several worlds share a host,
/// each knows only its own. Throws std::runtime_error in words, MPI's where it is MPI that fails, if it reports that
/// and does not abort; ranks on several hosts; who has not come in time.
///
/// Of a rank that is killed MPI's launcher learns as well: mpirun ends all.
inline std::shared_ptr<Bootstrap> mpi_bootstrap(MPI_Comm communicator, std::optional<int> local_rank = {},
                                                const ProcessOptions& options = {}) {
  mpi::require_intracommunicator(communicator);
  mpi::Ranks ranks(communicator, local_rank);
  return connect_through(ranks, options);
}

}  // namespace iris
