// Worlds over an MPI communicator. Every test is run by three processes that mpirun has started, alike.

#include "iris/mpi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "host_kernels.hpp"
#include "iris/operation.hpp"
#include "iris/world.hpp"

namespace {

constexpr int ranks = 3;
int live_communicators = 0;  ///< that were made and not freed, here
bool gathers_fail = false;

}  // namespace

// MPI's profiling interface: these stand before the library's own.
// NOLINTBEGIN(readability-identifier-naming): the names are MPI's
extern "C" {
int MPI_Comm_dup(MPI_Comm of, MPI_Comm* made) {
  ++live_communicators;
  return PMPI_Comm_dup(of, made);
}
int MPI_Comm_split_type(MPI_Comm of, int type, int key, MPI_Info info, MPI_Comm* made) {
  ++live_communicators;
  return PMPI_Comm_split_type(of, type, key, info, made);
}
int MPI_Comm_free(MPI_Comm* communicator) {
  --live_communicators;
  return PMPI_Comm_free(communicator);
}
int MPI_Allgather(const void* from, int count, MPI_Datatype type, void* to, int to_count, MPI_Datatype to_type,
                  MPI_Comm communicator) {
  if (gathers_fail) return MPI_ERR_OTHER;
  return PMPI_Allgather(from, count, type, to, to_count, to_type, communicator);
}
}
// NOLINTEND(readability-identifier-naming)

namespace iris {
namespace {

using test::error_of;
using test::expect_part;
using test::host_operation;

struct Mpi final : testing::Environment {
  void SetUp() override {
    EXPECT_EQ(error_of([] { mpi_bootstrap(MPI_COMM_WORLD); }), "MPI has not begun; call MPI_Init first");
    MPI_Init(nullptr, nullptr);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    ASSERT_EQ(size, ranks) << "start it by mpirun -n 3";
  }
  void TearDown() override {
    World outlives_mpi = World::join({.heap_bytes = 1 << 16}, mpi_bootstrap(MPI_COMM_WORLD));
    MPI_Finalize();
    outlives_mpi.run([](Context& context) { context.group({2, 0, 1}).barrier(); });
    EXPECT_EQ(error_of([] { mpi_bootstrap(MPI_COMM_WORLD); }), "MPI is over; join the World before MPI_Finalize");
  }
};
const testing::Environment* const mpi = testing::AddGlobalTestEnvironment(new Mpi);

int own_rank() {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

World join() {
  return World::join({.heap_bytes = 1 << 20}, mpi_bootstrap(MPI_COMM_WORLD));
}

TEST(MpiBootstrap, SaysWhichRankThisIs) {
  const auto bootstrap = mpi_bootstrap(MPI_COMM_WORLD);
  EXPECT_EQ(bootstrap->rank(), own_rank());
  EXPECT_EQ(bootstrap->size(), ranks);
  EXPECT_EQ(bootstrap->local_rank(), own_rank());
  EXPECT_EQ(mpi_bootstrap(MPI_COMM_WORLD, 7)->local_rank(), 7);
}

TEST(MpiBootstrap, TakesTheRanksOfItsCommunicator) {
  MPI_Comm backwards = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, own_rank() == 1 ? 1 : 0, -own_rank(), &backwards);
  {
    const auto bootstrap = mpi_bootstrap(backwards);
    EXPECT_EQ(bootstrap->size(), own_rank() == 1 ? 1 : 2);
    EXPECT_EQ(bootstrap->rank(), own_rank() == 0 ? 1 : 0);
    const std::vector<std::string> said = bootstrap->all_gather(std::to_string(own_rank()), "a call");
    EXPECT_EQ(said, own_rank() == 1 ? std::vector<std::string>{"1"} : (std::vector<std::string>{"2", "0"}));
  }
  MPI_Comm_free(&backwards);
}

/// What the program has under way there is done by its own calls, and its errors go where it has them go.
TEST(MpiBootstrap, LeavesTheProgramsCommunicatorAlone) {
  const int mine = 100 + own_rank();
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  const auto bootstrap = mpi_bootstrap(MPI_COMM_WORLD);
  const std::vector<std::string> said = bootstrap->all_gather(std::to_string(own_rank()), "a call");
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(sum, 303);
  EXPECT_EQ(said, (std::vector<std::string>{"0", "1", "2"}));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &handler);
  EXPECT_EQ(handler, MPI_ERRORS_ARE_FATAL);
}

TEST(MpiBootstrap, FreesItsCommunicators) {
  const int before = live_communicators;
  const auto bootstrap = mpi_bootstrap(MPI_COMM_WORLD);
  EXPECT_EQ(live_communicators, before);
}

TEST(MpiBootstrap, SaysInMpisWordsWhatFailed) {
  std::string words(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(MPI_ERR_OTHER, words.data(), &length);
  words.resize(static_cast<std::size_t>(length));
  gathers_fail = true;
  EXPECT_EQ(error_of([] { mpi_bootstrap(MPI_COMM_WORLD); }), "MPI_Allgather failed: " + words);
  gathers_fail = false;
}

TEST(MpiBootstrap, RefusesWhatIsNoGroupOfRanks) {
  EXPECT_EQ(error_of([] { mpi_bootstrap(MPI_COMM_NULL); }),
            "MPI_COMM_NULL has no ranks; only those of the communicator join its world");
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, own_rank() == 0 ? 0 : 1, 0, &own);
  MPI_Comm between = MPI_COMM_NULL;
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, own_rank() == 0 ? 1 : 0, 5, &between);
  EXPECT_EQ(error_of([&] { mpi_bootstrap(between); }),
            "an intercommunicator connects two groups, of which each is a world of its own");
  MPI_Comm_free(&between);
  MPI_Comm_free(&own);
}

/// Memory is handed over, whoever brings the processes together; kernels wait for one another.
TEST(MpiWorld, RunsKernels) {
  World world = join();
  EXPECT_EQ(world.size(), ranks);
  int wrong = 0;
  world.run([&](Context& context) {
    EXPECT_EQ(context.rank(), own_rank());
    constexpr int n = 1000;
    Operation sum(context, host_operation("sum_of_three", ranks), {{"n", n}});
    auto* input = static_cast<int*>(context.allocate(n * sizeof(int)));
    auto* output = static_cast<int*>(context.allocate(n * sizeof(int)));
    for (int launch = 0; launch < 5; ++launch) {
      context.barrier();
      for (int i = 0; i < n; ++i) input[i] = (context.rank() + 1) * (i * i + launch);
      context.barrier();
      sum.launch({input, output}, {{"n", n}});
      context.synchronize();
      for (int i = 0; i < n; ++i) wrong += output[i] != 6 * (i * i + launch) ? 1 : 0;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(MpiWorld, ARankThatThrowsFailsAll) {
  World world = join();
  const std::string words = error_of([&] {
    world.run([](Context& context) {
      if (context.rank() == 1) throw std::runtime_error("no data");
      context.barrier();
    });
  });
  EXPECT_EQ(words, "rank 1: no data");
  world.run([](Context& context) { context.barrier(); });
}

TEST(MpiWorld, KernelsAreToldOfARankThatThrows) {
  World world = join();
  std::string told;
  const std::string words = error_of([&] {
    world.run([&](Context& context) {
      Operation sum(context, host_operation("sum_of_three", ranks), {{"n", 8}});
      void* buffers[] = {context.allocate(64), context.allocate(64)};
      if (context.rank() == 1) throw std::runtime_error("no data");
      sum.launch(buffers, {{"n", 8}});
      told = error_of([&] { context.synchronize(); });
      throw std::runtime_error(told);
    });
  });
  EXPECT_EQ(words, "rank 1: no data");
  if (own_rank() == 1) return;
  expect_part(told, "no thread of this process's kernels can go on");
  expect_part(told, "rank 1 has failed: no data");
}

TEST(MpiWorld, HasGroups) {
  World world = join();
  world.run([](Context& context) {
    std::vector<Group> groups;  // all make those that they are in, in one order
    for (const auto& members : {std::vector{1, 0}, std::vector{2, 1}, std::vector{0, 2}}) {
      if (std::ranges::find(members, own_rank()) != members.end()) groups.push_back(context.group(members));
    }
    for (Group& group : groups) {
      constexpr int n = 100;
      Operation sum(group, host_operation("sum_of_two", 2), {{"n", n}});
      auto* input = static_cast<int*>(group.allocate(n * sizeof(int)));
      auto* output = static_cast<int*>(group.allocate(n * sizeof(int)));
      for (int i = 0; i < n; ++i) input[i] = (own_rank() + 1) * (i * i + 1);
      group.barrier();
      sum.launch({input, output}, {{"n", n}});
      group.barrier();
      const int factor = group.ranks()[0] + group.ranks()[1] + 2;
      for (int i = 0; i < n; ++i) ASSERT_EQ(output[i], factor * (i * i + 1));
    }
  });
}

TEST(MpiWorld, GroupsAreToldOfARankThatThrows) {
  World world = join();
  std::string told;
  const std::string words = error_of([&] {
    world.run([&](Context& context) {
      Group group = context.group({2, 1, 0});
      if (context.rank() == 1) throw std::runtime_error("no data");
      told = error_of([&] { group.barrier(); });
    });
  });
  EXPECT_EQ(words, "rank 1: no data");
  EXPECT_EQ(told, own_rank() == 1 ? "" : "barrier() in group {2, 1, 0} cannot be done: rank 1 has failed: no data");
}

/// By hand, or by the test that expects mpirun to end all.
TEST(MpiWorld, DISABLED_ARankIsKilled) {
  World world = join();
  world.run([](Context& context) {
    context.barrier();
    if (context.rank() == 1) std::raise(SIGKILL);
    context.barrier();
  });
}

}  // namespace
}  // namespace iris
