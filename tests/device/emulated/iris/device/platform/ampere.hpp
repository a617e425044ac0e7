#pragma once

#include <iris/device/numeric.hpp>
#include <iris/device/platform/meeting.hpp>
#include <iris/device/types.hpp>

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

/// What platform/ampere.hpp offers, on the CPU: stands in its place in tests, after "Parallel Thread Execution ISA",
/// not after that header. Copies come as late as they may.
namespace iris::device::platform {

namespace emulated {

/// In the shared memory of a block, which it tells from others.
struct Mark {
  char unused;
};

/// The calling thread's warp. Nobody clears a block's shared memory, so it cannot be there.
inline Meeting& warp() {
  static std::map<std::pair<const Mark*, int>, Meeting> of_blocks;
  return of_blocks[{&shared<Mark>(), thread_index() / 32}];
}

/// Copies that a thread has asked for and that have not been made, in groups of which the last is open.
class CopiesIn {
 public:
  void add(void* to, const void* from, u32 bytes, u32 valid) { groups_.back().push_back({to, from, bytes, valid}); }
  void commit() { groups_.emplace_back(); }
  /// All but the last `pending` groups.
  void come(std::size_t pending) {
    for (; groups_.size() > pending + 1; groups_.erase(groups_.begin())) {
      for (const Copy& copy : groups_.front()) {
        __builtin_memset(copy.to, 0, copy.bytes);
        __builtin_memcpy(copy.to, copy.from, copy.valid);
      }
    }
  }

 private:
  struct Copy {
    void* to;
    const void* from;
    u32 bytes;
    u32 valid;
  };
  std::vector<std::vector<Copy>> groups_ = std::vector<std::vector<Copy>>(1);
};

inline CopiesIn& copies_in() {
  static std::map<std::pair<const Mark*, int>, CopiesIn> of_threads;
  return of_threads[{&shared<Mark>(), thread_index()}];
}

}  // namespace emulated

template <int bytes>
void copy_in_or_zero(void* to, const void* from, u32 valid) {
  if (reinterpret_cast<u64>(to) % bytes != 0) __builtin_trap();
  if (valid > 0 && reinterpret_cast<u64>(from) % bytes != 0) __builtin_trap();
  emulated::copies_in().add(to, from, bytes, valid);
}
inline void commit_copies_in() {
  emulated::copies_in().commit();
}
template <int pending>
void wait_copies_in() {
  emulated::copies_in().come(pending);
}

namespace emulated {

/// What each thread shows to the others of its warp: of two operands, or where something lies.
template <typename Shown>
struct ShownByAll {
  Shown of_thread[1024];
};

/// What lane number `lane` of the calling thread's warp shows, once all have come; until they meet again.
template <typename Shown, typename See>
void exchange(const Shown& mine, const See& see) {
  auto& all = shared<ShownByAll<Shown>>().of_thread;
  Meeting& own = warp();
  all[thread_index()] = mine;
  own.meet(true, 32);
  const Shown* const of_warp = all + thread_index() / 32 * 32;
  see([&](int lane) -> const Shown& { return of_warp[lane]; });
  own.meet(true, 32);
}

/// Matrices of eight rows of eight elements of 16 bits.
template <bool transposed>
void load_four_matrices(u32 (&words)[4], const void* row) {
  if (reinterpret_cast<u64>(row) % 16 != 0) __builtin_trap();
  const int lane = thread_index() % 32;
  exchange(row, [&](const auto& shown_by) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      words[matrix] = 0;
      for (int i = 0; i < 2; ++i) {
        const int of_row = transposed ? lane % 4 * 2 + i : lane / 4;
        const int of_column = transposed ? lane / 4 : lane % 4 * 2 + i;
        const auto* const elements = static_cast<const unsigned short*>(shown_by(8 * matrix + of_row));
        words[matrix] |= static_cast<u32>(elements[of_column]) << 16 * i;
      }
    }
  });
}

}  // namespace emulated

inline void load_matrices(u32 (&words)[4], const void* row) {
  emulated::load_four_matrices<false>(words, row);
}
inline void load_transposed(u32 (&words)[4], const void* row) {
  emulated::load_four_matrices<true>(words, row);
}

/// Each lane makes the sums that it holds. Of 16 rows of a, and 8 columns of b, 32 bytes each.
template <typename Element>
void multiply_16x8(f32 (&sums)[4], const u32 (&a)[4], u32 b, u32 b_after) {
  struct Shown {
    u32 a[4];
    u32 b[2];
  };
  const auto element = [](u32 word, int byte) {
    Element value;
    __builtin_memcpy(&value, reinterpret_cast<const char*>(&word) + byte, sizeof(value));
    return convert<f32>(value);
  };
  const int lane = thread_index() % 32;
  emulated::exchange(Shown{{a[0], a[1], a[2], a[3]}, {b, b_after}}, [&](const auto& shown_by) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8;
      const int column = lane % 4 * 2 + i % 2;
      for (int byte = 0; byte < 32; byte += sizeof(Element)) {
        const int half = byte / 16;
        const int in_group = byte % 16 / 4;
        const u32 of_a = shown_by(row % 8 * 4 + in_group).a[half * 2 + row / 8];
        const u32 of_b = shown_by(column * 4 + in_group).b[half];
        sums[i] += element(of_a, byte % 4) * element(of_b, byte % 4);
      }
    }
  });
}

/// The same of f64, a depth of 4.
inline void multiply_16x8x4(f64 (&sums)[4], const f64 (&a)[2], f64 b) {
  struct Shown {
    f64 a[2];
    f64 b;
  };
  const int lane = thread_index() % 32;
  emulated::exchange(Shown{{a[0], a[1]}, b}, [&](const auto& shown_by) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + i / 2 * 8;
      const int column = lane % 4 * 2 + i % 2;
      for (int depth = 0; depth < 4; ++depth) {
        sums[i] += shown_by(row % 8 * 4 + depth).a[row / 8] * shown_by(column * 4 + depth).b;
      }
    }
  });
}

}  // namespace iris::device::platform
