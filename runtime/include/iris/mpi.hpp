#pragma once

#if !__has_include(<mpi.h>)
#error "iris/mpi.hpp needs an MPI: apt-get install libopenmpi-dev openmpi-bin, and link with irisgen::mpi"
#endif
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "iris/bootstrap.hpp"

/// For programs that have an MPI communicator already. Header-only, so that it is compiled with the program's own MPI,
/// whichever that is; calls of MPI 3 alone.
namespace iris {

/// mpi_bootstrap() makes one.
class MpiBootstrap final : public Bootstrap {
 public:
  MpiBootstrap(MPI_Comm communicator, std::optional<int> local_rank) {
    require_mpi();
    int connects_groups = 0;
    if (communicator != MPI_COMM_NULL)
      check(MPI_Comm_test_inter(communicator, &connects_groups), "MPI_Comm_test_inter");
    if (communicator == MPI_COMM_NULL || connects_groups != 0) {
      throw std::runtime_error(communicator == MPI_COMM_NULL
                                   ? "MPI_COMM_NULL has no ranks; only those of the communicator join its world"
                                   : "an intercommunicator connects two groups, of which each is a world of its own");
    }
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

  std::vector<std::string> all_gather(const std::string& bytes, const std::string& call) override {
    try {
      return all_gather(bytes);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(call + " cannot be done: " + error.what());
    }
  }

 private:
  /// Freed in the process that made it, unless MPI has ended before.
  struct Communicator {
    MPI_Comm handle = MPI_COMM_NULL;
    pid_t process = ::getpid();

    Communicator() = default;
    Communicator(const Communicator&) = delete;
    Communicator& operator=(const Communicator&) = delete;
    ~Communicator() {
      int is_over = 0;
      MPI_Finalized(&is_over);
      if (handle != MPI_COMM_NULL && is_over == 0 && process == ::getpid()) MPI_Comm_free(&handle);
    }
  };

  static void check(int error, const char* call) {
    if (error == MPI_SUCCESS) return;
    std::string words(MPI_MAX_ERROR_STRING, '\0');
    int length = 0;
    if (MPI_Error_string(error, words.data(), &length) != MPI_SUCCESS) length = 0;
    words.resize(static_cast<std::size_t>(length));
    throw std::runtime_error(std::string(call) + " failed: " + words);
  }

  static void require_mpi() {
    int has_begun = 0;
    int is_over = 0;
    MPI_Initialized(&has_begun);
    MPI_Finalized(&is_over);
    if (has_begun == 0) throw std::runtime_error("MPI has not begun; call MPI_Init first");
    if (is_over != 0) throw std::runtime_error("MPI is over; the World must end before MPI_Finalize");
  }

  std::vector<std::string> all_gather(const std::string& bytes) const {
    require_mpi();
    const auto ranks = static_cast<std::size_t>(size_);
    const std::uint64_t length = bytes.size();
    std::vector<std::uint64_t> lengths(ranks);
    check(MPI_Allgather(&length, 1, MPI_UINT64_T, lengths.data(), 1, MPI_UINT64_T, own_.handle), "MPI_Allgather");
    std::vector<std::string> all(ranks);
    const std::uint64_t longest = *std::ranges::max_element(lengths);
    for (std::uint64_t done = 0; done < longest; done += most_at_once()) gather_from(done, bytes, lengths, all);
    return all;
  }

  /// MPI counts in ints, so what is longer goes in several calls.
  std::uint64_t most_at_once() const {
    constexpr int most = 1 << 24;
    return static_cast<std::uint64_t>(std::min(most, std::numeric_limits<int>::max() / size_));
  }

  /// The next bytes of each rank, of which so many are there.
  void gather_from(std::uint64_t done, const std::string& bytes, const std::vector<std::uint64_t>& lengths,
                   std::vector<std::string>& all) const {
    std::vector<int> counts;
    std::vector<int> offsets;
    int total = 0;
    for (const std::uint64_t length : lengths) {
      counts.push_back(static_cast<int>(std::min(most_at_once(), length - std::min(done, length))));
      offsets.push_back(std::exchange(total, total + counts.back()));
    }
    std::string received(static_cast<std::size_t>(total), '\0');
    const char* const next = bytes.data() + std::min(done, static_cast<std::uint64_t>(bytes.size()));
    check(MPI_Allgatherv(next, counts[static_cast<std::size_t>(rank_)], MPI_BYTE, received.data(), counts.data(),
                         offsets.data(), MPI_BYTE, own_.handle),
          "MPI_Allgatherv");
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      all[rank].append(received, static_cast<std::size_t>(offsets[rank]), static_cast<std::size_t>(counts[rank]));
    }
  }

  Communicator own_;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
};

/// For World::join: the ranks of an intracommunicator, in its order, as the ranks of a world. Collective over it.
/// Speaks over a duplicate, so that no message of the program's is met; lets the program choose its level of threads,
/// since MPI is called only by the threads that call this, World::join and World::run, and that end the last of World
/// and operations, which is to be before MPI_Finalize. The rank's GPU is that of its number among the communicator's
/// processes of this host, unless `local_rank` says otherwise: where several worlds share a host, each knows only its
/// own. Throws std::runtime_error in words, MPI's where it is MPI that fails, if it reports that and does not abort.
///
/// A rank that throws fails the collective calls of the others; kernels on `host` that wait for it do so until their
/// bounded waits end. Of a rank that is killed MPI's launcher learns first: mpirun ends all.
inline std::shared_ptr<Bootstrap> mpi_bootstrap(MPI_Comm communicator, std::optional<int> local_rank = {}) {
  return std::make_shared<MpiBootstrap>(communicator, local_rank);
}

}  // namespace iris
