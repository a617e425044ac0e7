// Memory that somebody else allocated, in worlds of processes on the CPU.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "host_kernels.hpp"
#include "iris/world.hpp"
#include "processes.hpp"
#include "sanitizers.hpp"

namespace iris::process_adopted_memory_test {
namespace {

using test::error_of;
using test::expect_all_say;
using test::expect_part;
using test::host_operation;
using test::join;
using test::ProcessOutcome;
using test::run_ranks;

constexpr int n = 1000;
constexpr std::size_t page = 4096;

struct Free {
  void operator()(char* memory) const { std::free(memory); }
};
using Pages = std::unique_ptr<char, Free>;

Pages pages(std::size_t count) {
  return Pages(static_cast<char*>(std::aligned_alloc(page, count * page)));
}

int* at(const Pages& memory, std::size_t offset) {
  return reinterpret_cast<int*>(memory.get() + offset);
}

int wrong_sums(const int* output, int launch) {
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += output[i] != 6 * (i * i + launch) ? 1 : 0;
  return wrong;
}

TEST(ProcessAdoptedMemory, IsTakenByKernelsThatWaitForOneAnother) {
  expect_all_say(run_ranks(3,
                           [](int number) {
                             World world = join();
                             int wrong = 0;
                             world.run([&](Context& context) {
                               const Pages before =
                                   pages(1 + 5 * static_cast<std::size_t>(number));  // addresses differ
                               const Pages first = pages(2);
                               const Pages second = pages(3);
                               context.as_symmetric(first.get(), 2 * page);
                               context.as_symmetric(second.get(), 3 * page);
                               auto* on_heap = static_cast<int*>(context.allocate(n * sizeof(int)));
                               Operation sum(context, host_operation("sum_of_three", 3), {{"n", n}});
                               const std::pair<int*, int*> buffers[] = {{at(first, 64), at(second, 4100)},
                                                                        {at(second, 0), at(second, 8192)},
                                                                        {on_heap, at(first, 128)},
                                                                        {at(first, 4000), on_heap}};
                               int launch = 0;
                               for (const auto& [input, output] : buffers) {
                                 ++launch;
                                 for (int i = 0; i < n; ++i) input[i] = (number + 1) * (i * i + launch);
                                 context.barrier();
                                 sum.launch({input, output}, {{"n", n}});
                                 context.barrier();
                                 wrong += wrong_sums(output, launch);
                               }
                               context.release_symmetric(first.get());
                               context.release_symmetric(second.get());
                             });
                             return std::to_string(wrong) + " wrong";
                           }),
                 "0 wrong");
}

std::size_t mapped_files() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("irisgen adopted") != std::string::npos ? 1 : 0;
  return count;
}

/// What lies in it stays, from before it is adopted until after it is released; then it is nobody else's.
TEST(ProcessAdoptedMemory, KeepsItsContentAndIsPrivateAgain) {
  expect_all_say(run_ranks(2,
                           [](int number) {
                             World world = join();
                             std::string said;
                             world.run([&](Context& context) {
                               const Pages own = pages(4);
                               for (std::size_t i = 0; i < page; ++i) at(own, 0)[i] = static_cast<int>(i) + number;
                               context.as_symmetric(own.get(), 4 * page);
                               int* const theirs = static_cast<int*>(context.on_rank(own.get(), 1 - number));
                               context.barrier();
                               for (std::size_t i = 0; i < page; ++i) {
                                 if (theirs[i] != static_cast<int>(i) + 1 - number) said += "another's content; ";
                               }
                               context.barrier();
                               theirs[7] = -number - 1;
                               context.release_symmetric(own.get());
                               if (at(own, 0)[7] != number - 2) said += "what the other wrote; ";
                               if (at(own, 0)[page - 1] != static_cast<int>(page) - 1 + number) said += "own content; ";
                               if (mapped_files() != 0) said += "files; ";
                             });
                             return said;
                           }),
                 "");
}

TEST(ProcessAdoptedMemory, EndsWithTheWorld) {
  expect_all_say(run_ranks(2,
                           [](int number) {
                             const Pages own = pages(1);
                             *at(own, 8) = number;
                             {
                               World world = join();
                               world.run([&](Context& context) { context.as_symmetric(own.get(), page); });
                               if (mapped_files() != 2) return std::string("not mapped");
                             }
                             return std::string(mapped_files() == 0 && *at(own, 8) == number ? "" : "still mapped");
                           }),
                 "");
}

TEST(ProcessAdoptedMemory, MustBePagesOfOnesOwn) {
  const auto refusal_of = [](auto memory_of) {
    const auto outcomes = run_ranks(2, [&](int number) {
      World world = join();
      std::string said;
      world.run([&](Context& context) {
        const Pages own = pages(4);
        const auto [memory, bytes] = memory_of(number, own.get());
        said = error_of([&, given = memory, size = bytes] { context.as_symmetric(given, size); });
        context.as_symmetric(own.get(), 4 * page);  // all are as they were
        context.release_symmetric(own.get());
      });
      return said + (mapped_files() == 0 ? "" : ", and is mapped");
    });
    EXPECT_EQ(outcomes[0].said, outcomes[1].said);
    return outcomes[0].said;
  };
  using Range = std::pair<char*, std::size_t>;
  EXPECT_EQ(refusal_of([](int number, char* own) { return Range{own + (number == 1 ? 64 : 0), page}; }),
            "as_symmetric(4096 bytes) cannot be done on rank 1: on the CPU, processes share memory in whole pages: it "
            "must begin at a multiple of 4096 bytes and be a multiple of that long; take it from "
            "std::aligned_alloc(4096, …)");
  EXPECT_NE(refusal_of([](int, char* own) { return Range{own, 100}; }).find("in whole pages"), std::string::npos);
  EXPECT_NE(refusal_of([](int number, char* own) {
              void* shared = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
              return Range{number == 0 ? static_cast<char*>(shared) : own, page};
            }).find("on rank 0: the memory is not all this process's own"),
            std::string::npos);
  EXPECT_NE(refusal_of([](int number, char* own) {
              auto* two = static_cast<char*>(
                  ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
              ::munmap(two + page, page);
              return Range{number == 0 ? two : own, 2 * page};
            }).find("on rank 0: the memory is not all this process's own"),
            std::string::npos);
}

TEST(ProcessAdoptedMemory, TellsEveryRankWhoAskedForWhat) {
  expect_all_say(
      run_ranks(3,
                [](int number) {
                  World world = join();
                  const Pages own = pages(4);
                  return error_of([&] {
                    world.run(
                        [&](Context& context) { context.as_symmetric(own.get(), number == 2 ? page : 2 * page); });
                  });
                }),
      "rank 0: ranks disagree in a collective call, which all must make alike and in the same order; ranks 0, 1: "
      "as_symmetric(8192 bytes); rank 2: as_symmetric(4096 bytes)");
}

#ifndef IRISGEN_HAS_UNDEFINED_SANITIZER
/// So many files may be open in this process, besides those that are now, while it lives.
class FewFiles {
 public:
  explicit FewFiles(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const Descriptor next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit few{static_cast<rlim_t>(next.get()) + more, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

/// At whichever stage a rank has no descriptor left, both fail alike, and the next attempt is again one of both.
TEST(ProcessAdoptedMemory, ARankWithoutDescriptorsFailsAllAndLeavesThemInStep) {
  const auto outcomes = run_ranks(2, [](int number) {
    World world = join();
    std::string said;
    world.run([&](Context& context) {
      const Pages own = pages(1);
      const BuiltOperation sum = host_operation("sum_of_two", 2);
      const auto attempt = [&](rlim_t more) {
        const FewFiles few(number == 1 ? more : 100);
        said += error_of([&] {
                  context.as_symmetric(own.get(), page);
                  context.release_symmetric(own.get());
                }) +
                "\n";
        said += error_of([&] { Operation(context, sum, {{"n", 64}}); }) + "\n";
      };
      for (rlim_t more = 0; more < 8; ++more) attempt(more);
      said += "then\n";
      attempt(100);
    });
    return said;
  });
  EXPECT_EQ(outcomes[0].said, outcomes[1].said);
  expect_part(outcomes[1].said, "as_symmetric(4096 bytes) cannot be done on rank 1: ");
  expect_part(outcomes[1].said, "cannot make a socket to be handed memory by: Too many open files");
  expect_part(outcomes[1].said, "this process has too many open files to be handed more; raise its limit (ulimit -n)");
  EXPECT_TRUE(outcomes[1].said.ends_with("then\n\n\n")) << outcomes[1].said;
}

#endif

TEST(ProcessAdoptedMemory, OftenAdoptedLeavesNothingBehind) {
  const auto mappings = [] {
    std::ifstream maps("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  };
  expect_all_say(run_ranks(2,
                           [&](int) {
                             World world = join();
                             std::string said;
                             world.run([&](Context& context) {
                               const Pages own = pages(2);
                               std::ptrdiff_t at_first = 0;
                               for (int round = 0; round < 60; ++round) {
                                 context.as_symmetric(own.get(), 2 * page);
                                 context.release_symmetric(own.get());
                                 if (round == 9) at_first = mappings();
                               }
                               if (mappings() > at_first + 20) said = "mappings";
                             });
                             return said;
                           }),
                 "");
}

TEST(ProcessAdoptedMemory, IsThatOfAGroupsMembersAlone) {
  const auto body = [](int number) {
    World world = join();
    std::string said;
    world.run([&](Context& context) {
      if (number == 1) return;
      Group pair = context.group({2, 0});
      Group same = context.group({0, 2});
      const Pages before = pages(1 + 5 * static_cast<std::size_t>(number));  // addresses differ
      const Pages own = pages(3);
      pair.as_symmetric(own.get(), 3 * page);
      int wrong = 0;
      for (Group* group : {&pair, &same}) {  // whose first rank is another
        Operation sum(*group, host_operation("sum_of_two", 2), {{"n", n}});
        for (int i = 0; i < n; ++i) at(own, 64)[i] = (number + 1) * i;
        group->barrier();
        sum.launch({at(own, 64), at(own, 4160)}, {{"n", n}});
        group->barrier();
        for (int i = 0; i < n; ++i) wrong += at(own, 4160)[i] != 4 * i ? 1 : 0;
      }
      said = std::to_string(wrong) + " wrong; " + error_of([&] { context.on_rank(own.get(), 1); });
      pair.release_symmetric(own.get());
    });
    return said;
  };
  const std::vector<ProcessOutcome> outcomes = run_ranks(3, body);
  for (const int rank : {0, 2}) {
    EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)].said,
              "0 wrong; rank " + std::to_string(rank) +
                  " asks where memory lies on rank 1, which has not adopted it; adopt it with a group that has both");
  }
}

}  // namespace
}  // namespace iris::process_adopted_memory_test
