// Stacks of the CPU engine's fibers, and what is kept of them for the pools to come.

#include "runtime/host/stack_pool.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <set>
#include <thread>
#include <vector>

#include "sanitizers.hpp"

namespace iris::host::stack_pool_test {
namespace {

constexpr std::size_t of_a_slab = 256;

std::set<char*> stacks_of(StackPool& pool) {
  pool.reserve(of_a_slab);
  std::set<char*> stacks;
  for (std::size_t i = 0; i < of_a_slab; ++i) stacks.insert(pool.take());
  return stacks;
}

/// The kernel reads what is to be written.
bool is_readable(const char* place) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return false;
  const bool readable = ::write(ends[1], place, 1) == 1;
  for (const int end : ends) ::close(end);
  return readable;
}

std::size_t count_guarded(const std::set<char*>& stacks) {
  std::size_t guarded = 0;
  for (const char* stack : stacks) guarded += !is_readable(stack - 1) && is_readable(stack) ? 1 : 0;
  return guarded;
}

/// Its exit status; -1 where a signal ended it, SIGALRM after 20 s.
template <typename Body>
int status_of_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StackPool, TakesTheStacksOfOneThatHasEnded) {
  std::set<char*> first;
  {
    StackPool pool;
    first = stacks_of(pool);
    EXPECT_EQ(first.size(), of_a_slab);
    EXPECT_EQ(count_guarded(first), of_a_slab);
    for (char* stack : first) stack[StackPool::usable_bytes() - 1] = 1;
  }
  StackPool pool;
  EXPECT_EQ(stacks_of(pool), first);
  EXPECT_EQ(count_guarded(first), of_a_slab);
  StackPool beside;
  EXPECT_FALSE(stacks_of(beside).contains(*first.begin()));
}

/// Where a process has as many mappings as it may, stacks go without guards; not those of later pools.
TEST(StackPool, KeepsNoStacksWithoutGuards) {
  if (test::with_sanitizers) GTEST_SKIP() << "a sanitizer needs mappings of its own";
  int most_mappings = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most_mappings;
  if (most_mappings > 1 << 18) GTEST_SKIP() << "a process may have " << most_mappings << " mappings, too many to fill";
  const int status = status_of_child([] {
    std::array<StackPool, 8> others;  // have what earlier ones left
    for (StackPool& other : others) other.reserve(of_a_slab);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::vector<void*> fill;
    for (;;) {
      // Neighbours that differ do not become one.
      const int access = fill.size() % 2 == 0 ? PROT_READ : PROT_NONE;
      void* const mapped = ::mmap(nullptr, page, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped == MAP_FAILED) break;
      fill.push_back(mapped);
    }
    for (int i = 0; i < 30; ++i) {
      ::munmap(fill.back(), page);
      fill.pop_back();
    }
    bool all_guarded = true;
    {
      StackPool pool;
      all_guarded = count_guarded(stacks_of(pool)) == of_a_slab;
    }
    for (void* const mapped : fill) ::munmap(mapped, page);
    StackPool pool;
    return all_guarded ? 2 : count_guarded(stacks_of(pool)) == of_a_slab ? 0 : 1;
  });
  EXPECT_EQ(status, 0) << "2: there was room for guards after all";
}

/// Whatever other threads did with pools when it was forked.
TEST(StackPool, WorksInAChildOfABusyProcess) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  for (int i = 0; i < 2; ++i) {
    busy.emplace_back([&] {
      while (!stop) {
        StackPool pool;
        pool.reserve(of_a_slab);
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const int status = status_of_child([] {
      StackPool pool;
      pool.reserve(of_a_slab);
      return 0;
    });
    EXPECT_EQ(status, 0) << "child " << i;
  }
  stop = true;
  for (std::thread& thread : busy) thread.join();
}

}  // namespace
}  // namespace iris::host::stack_pool_test
