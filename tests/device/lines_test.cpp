#include "iris/device/lines.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/device/fake_engine.hpp"

namespace iris::device::lines_test {
namespace {

struct Config {
  static constexpr i32 world = 2;
  using Element = f32;
};
using Wide = LinePack<f32, 3>;
using WideMailbox = Mailbox<Config, Wide>;
using i16 = std::int16_t;

TEST(Lines, AreAtLeastOneOfEachMessage) {
  EXPECT_EQ(lines_of<f32>(0), 1);
  EXPECT_EQ(lines_of<f32>(2), 1);
  EXPECT_EQ(lines_of<f32>(3), 2);
  EXPECT_EQ(lines_of<f64>(3), 3);
  EXPECT_EQ((lines_of<bf16, 6>(13)), 3);
}

/// What a message of i32, or of i16 in wide lines, looks like after it was cut into lines and put together elsewhere.
template <int vector, int line = 2, typename T = i32>
void expect_copied(const Rows& from, const Rows& to, bool aligned = true) {
  using Line = MessageLine<T, vector, line>;
  std::vector<T> source(static_cast<std::size_t>(from.rows * from.stride) + 2);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<T>(i + 1);
  std::vector<T> copy(static_cast<std::size_t>(to.rows * to.stride) + 2, -1);
  for (i64 number = 0; number < lines_of<T, line>(from.count()); ++number) {
    const LinePack<T, line> values = Line(from, number, aligned).load(source.data());
    Line(to, number, aligned).store(copy.data(), values);
  }
  std::vector<T> expected(copy.size(), -1);
  for (i64 row = 0; row < from.rows; ++row) {
    for (i64 column = 0; column < from.columns; ++column) {
      const i64 element = row * from.columns + column;
      expected[static_cast<std::size_t>(element / to.columns * to.stride + element % to.columns)] =
          source[static_cast<std::size_t>(row * from.stride + column)];
    }
  }
  EXPECT_EQ(copy, expected) << from.rows << " x " << from.columns << " by " << vector << " in lines of " << line;
}

TEST(Lines, HoldWhatLiesWithinTheMessage) {
  for (const i64 count : {0, 1, 2, 5, 8}) {
    expect_copied<2>({1, count, count}, {1, count, count});
    expect_copied<2>({1, count, count}, {1, count, count}, false);
    expect_copied<1>({1, count, count}, {1, count, count});
  }
}

TEST(Lines, OfTwelveBytesHoldWhatLiesWithinTheMessage) {
  for (const i64 count : {0, 1, 2, 3, 5, 6, 7, 12, 16}) {
    expect_copied<1, 3>({1, count, count}, {1, count, count});
    expect_copied<1, 3>({1, count, count}, {1, count, count}, false);
    expect_copied<2, 6, i16>({1, count, count}, {1, count, count});
    expect_copied<2, 6, i16>({1, count, count}, {1, count, count}, false);
    expect_copied<1, 6, i16>({1, count, count}, {1, count, count});
  }
  for (const i64 columns : {1, 2, 4, 5, 7}) {
    expect_copied<1, 3>({3, columns, columns + 4}, {3, columns, columns + 2});
    expect_copied<2, 6, i16>({3, columns, columns + 4}, {3, columns, columns + 1}, false);
    expect_copied<2, 6, i16>({3, 2 * columns, 2 * columns + 4}, {3, 2 * columns, 2 * columns + 2});
  }
}

TEST(Lines, CrossTheEndsOfRows) {
  for (const i64 columns : {1, 3, 5}) {
    expect_copied<1>({3, columns, columns + 4}, {3, columns, columns + 2});
    expect_copied<1>({1, 3 * columns, 3 * columns}, {3, columns, columns + 1});
    expect_copied<2>({3, columns, columns + 4}, {3, columns, columns + 2}, false);
    expect_copied<2>({1, 3 * columns, 3 * columns}, {3, columns, columns + 1}, false);
  }
  expect_copied<2>({3, 4, 8}, {3, 4, 6});
}

TEST(Lines, AreZeroBeyondTheMessage) {
  const std::vector<f32> values = {1, 2, 3, 4};
  const LinePack<f32> line = MessageLine<f32, 2>({1, 3, 3}, 1, true).load(values.data());
  EXPECT_EQ(line[0], 3);
  EXPECT_EQ(line[1], 0);
  const Wide wide = MessageLine<f32, 1, 3>({1, 4, 4}, 1, true).load(values.data());
  EXPECT_EQ(wide[0], 4);
  EXPECT_EQ(wide[1], 0);
  EXPECT_EQ(wide[2], 0);
}

/// Five lines in three parts of two, of which the last has one line only.
TEST(MessageInParts, HasEveryElementInOnePart) {
  const MessageInParts<i32, 2, 2, 3> message(9);
  ASSERT_EQ(message.lines_of_part(), 2);
  const std::vector<i32> source = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  std::vector<i32> copy(10, -1);
  std::vector<i32> firsts;
  for (i32 part = 0; part < 3; ++part) {
    for (i64 line = 0; line < message.lines_of_part(); ++line) {
      const LinePack<i32, 2> values = message.load(source.data(), part, line);
      firsts.push_back(values[0]);
      EXPECT_EQ(message.has(part, line), values[0] != 0);
      message.store(copy.data(), part, line, values);
    }
  }
  EXPECT_EQ(firsts, (std::vector<i32>{1, 3, 5, 7, 9, 0}));
  EXPECT_EQ(copy, (std::vector<i32>{1, 2, 3, 4, 5, 6, 7, 8, 9, -1}));
  EXPECT_EQ(message.at(2, 0).first(), 8);
  EXPECT_EQ(message.at(2, 0).held(), 1);
}

TEST(MessageInParts, OfNothingHasALineInEveryPart) {
  const MessageInParts<i32, 2, 2, 3> message(0);
  EXPECT_EQ(message.lines_of_part(), 1);
  EXPECT_EQ(message.load(nullptr, 2, 0)[0], 0);
}

TEST(Mark, IsThatOfTheLaunchAndNeverZero) {
  FakeEngine engine;
  FakeHeaps heaps(1);
  const Context context = heaps.context(0);
  const auto mark_after = [&](u64 launches) {
    *context.launches = {launches, static_cast<u32>(launches)};
    return Launch<Config>(context).mark();
  };
  EXPECT_EQ(mark_after(0), 1u);
  EXPECT_EQ(mark_after(7), 8u);
  EXPECT_EQ(mark_after((u64{1} << 32) - 2), 0xffffffffu);
  EXPECT_EQ(mark_after((u64{1} << 32) - 1), 1u)
      << "where none of this buffer has been, the launch before being 2^32 - 2";
  EXPECT_EQ(mark_after((u64{1} << 32) + 1), 2u);
}

class MailboxTest : public testing::Test {
 protected:
  template <typename Body>
  void run(i32 rank, const Body& body) {
    const Context context = heaps.context(rank);
    *context.launches = {launches, static_cast<u32>(launches)};
    engine.run(0, 0, [&] {
      const Launch<Config> launch(context);
      body(Mailbox<Config>(launch, 3));
    });
  }

  FakeEngine engine;
  FakeHeaps heaps{2};
  u64 launches = 0;
};

TEST_F(MailboxTest, BringsLinesOfEveryRankInItsSlot) {
  for (const i32 rank : {0, 1}) {
    run(rank, [&](const Mailbox<Config>& mailbox) {
      ASSERT_EQ(mailbox.lines(), 2);
      for (const i64 line : {0, 1}) {
        const f32 value = static_cast<f32>(10 * rank + line);
        for (const i32 peer : {0, 1}) mailbox.send(line, {{value, -value}}, peer);
      }
    });
  }
  for (const i32 rank : {0, 1}) {
    run(rank, [&](const Mailbox<Config>& mailbox) {
      LinePack<f32> from[2];
      ASSERT_TRUE(mailbox.receive(1, from));
      EXPECT_EQ(from[0][0], 1);
      EXPECT_EQ(from[0][1], -1);
      EXPECT_EQ(from[1][0], 11);
      LinePack<f32> one;
      ASSERT_TRUE(mailbox.receive_from(0, 1, one));
      EXPECT_EQ(one[1], -10);
    });
  }
  EXPECT_EQ(heaps.fault.raised, 0u);
}

TEST_F(MailboxTest, StandsBehindAnotherOne) {
  const auto both = [&](const auto& body) {
    run(0, [&](const Mailbox<Config>& mailbox) {
      const Context context = heaps.context(0);
      const Launch<Config> launch(context);
      body(mailbox, Mailbox<Config>(launch, 3, mailbox.bytes()));
    });
  };
  both([](const Mailbox<Config>& first, const Mailbox<Config>& second) {
    EXPECT_EQ(first.bytes(), 2 * 2 * 16);
    for (const i64 line : {0, 1}) first.send(line, {{1, 2}}, 0);
    for (const i64 line : {0, 1}) second.send(line, {{3, 4}}, 0);
  });
  both([](const Mailbox<Config>& first, const Mailbox<Config>& second) {
    LinePack<f32> values;
    ASSERT_TRUE(first.receive_from(1, 0, values));
    EXPECT_EQ(values[0], 1);
    ASSERT_TRUE(second.receive_from(1, 0, values));
    EXPECT_EQ(values[0], 3);
  });
  EXPECT_EQ(heaps.fault.raised, 0u);
}

TEST_F(MailboxTest, TakesNoWordOfAnEarlierLaunch) {
  launches = 4;
  run(1, [](const Mailbox<Config>& mailbox) { mailbox.send(0, {{1, 2}}, 0); });
  launches = 6;  // the next in the same buffer
  std::vector<i32> asked;
  engine.on_wait = [&](const u64*, u64 at_least, i32 peer, Wait what) {
    asked.push_back(peer);
    EXPECT_EQ(at_least, u64{7} << 32);
    EXPECT_EQ(what, Wait::line);
  };
  run(0, [](const Mailbox<Config>& mailbox) {
    LinePack<f32> values;
    EXPECT_FALSE(mailbox.receive_from(0, 1, values));
  });
  EXPECT_EQ(asked, (std::vector<i32>{1, 1}));
  EXPECT_EQ(heaps.fault.raised, 1u);
  EXPECT_EQ(heaps.fault.rank, 0);
  EXPECT_EQ(heaps.fault.peer, 1);
  EXPECT_EQ(heaps.fault.wait, Wait::arrival);
  EXPECT_EQ(heaps.fault.expected, u64{7} << flag_step_bits);
  EXPECT_EQ(heaps.fault.seen, u64{5} << flag_step_bits);
}

TEST_F(MailboxTest, BringsLinesOfTwelveBytesBeforeOneMark) {
  std::vector<i32> asked;
  engine.on_wait = [&](const u64*, u64 at_least, i32 peer, Wait) {
    asked.push_back(peer);
    EXPECT_EQ(at_least, u64{1} << 32);
  };
  const auto run_wide = [&](i32 rank, const auto& body) {
    const Context context = heaps.context(rank);
    *context.launches = {0, 0};
    engine.run(0, 0, [&] {
      const Launch<Config> launch(context);
      body(WideMailbox(launch, 6));
    });
  };
  run_wide(1, [](const WideMailbox& mailbox) {
    ASSERT_EQ(mailbox.lines(), 2);
    mailbox.send(1, {{1, -2, 3}}, 0);
  });
  run_wide(0, [](const WideMailbox& mailbox) {
    Wide values;
    ASSERT_TRUE(mailbox.receive_from(1, 1, values));
    EXPECT_EQ(values[0], 1);
    EXPECT_EQ(values[1], -2);
    EXPECT_EQ(values[2], 3);
    EXPECT_FALSE(mailbox.receive_from(0, 1, values));
  });
  EXPECT_EQ(asked, (std::vector<i32>{1, 1}));
  EXPECT_EQ(heaps.fault.seen, 0u);
  EXPECT_EQ(heaps.fault.peer, 1);
}

TEST_F(MailboxTest, NamesTheRankWhoseLineLacks) {
  run(0, [](const Mailbox<Config>& mailbox) { mailbox.send(0, {{1, 2}}, 0); });
  run(0, [](const Mailbox<Config>& mailbox) {
    LinePack<f32> from[2];
    EXPECT_FALSE(mailbox.receive(0, from));
  });
  EXPECT_EQ(heaps.fault.peer, 1);
}

TEST_F(MailboxTest, BringsLinesOfThoseWhoComeAfterARankInACircle) {
  for (const i32 rank : {0, 1}) {
    run(rank, [&](const Mailbox<Config>& mailbox) { mailbox.send(1, {{static_cast<f32>(rank), 5}}, 0); });
  }
  run(0, [](const Mailbox<Config>& mailbox) {
    LinePack<f32> from[2];
    ASSERT_TRUE(mailbox.receive_after(0, 1, from));
    EXPECT_EQ(from[0][0], 1);
    EXPECT_EQ(from[1][0], 0);
    LinePack<f32> one[1];
    ASSERT_TRUE(mailbox.receive_after(1, 1, one));
    EXPECT_EQ(one[0][0], 0);
  });
  EXPECT_EQ(heaps.fault.raised, 0u);
}

TEST_F(MailboxTest, NamesTheRankInTheCircleWhoseLineLacks) {
  run(1, [](const Mailbox<Config>& mailbox) { mailbox.send(1, {{1, 2}}, 0); });
  std::vector<i32> asked;
  engine.on_wait = [&](const u64*, u64, i32 peer, Wait) { asked.push_back(peer); };
  run(0, [](const Mailbox<Config>& mailbox) {
    LinePack<f32> from[2];
    EXPECT_FALSE(mailbox.receive_after(0, 1, from));
  });
  EXPECT_EQ(asked, (std::vector<i32>{1, 1, 0, 0}));
  EXPECT_EQ(heaps.fault.peer, 0);
}

/// A word of the second pair gets its mark at the poll number `arrives_at`; each reading of the clock is 100 ns later.
struct ScriptedWords {
  static inline u32 polls = 0;
  static inline u32 arrives_at = 0;
  static inline std::size_t late_word = 0;
  static inline u64 clock = 0;
  static platform::Words load_words(const u64* from) {
    if (*from == 0) ++polls;
    platform::Words words = {{u64{7} << 32 | *from, u64{7} << 32 | 5}};
    if (*from == 1 && polls < arrives_at) words.values[late_word] -= u64{1} << 32;
    return words;
  }
  static u64 nanoseconds() { return clock += 100; }
  static void pause() {}
  template <int marks = 2>
  static i32 run(u32 arrival, std::size_t word, platform::Words (&seen)[2]) {
    polls = 0;
    clock = 0;
    arrives_at = arrival;
    late_word = word;
    const u64 numbers[2] = {0, 1};
    const u64* const places[2] = {&numbers[0], &numbers[1]};
    return platform::poll_words<ScriptedWords, marks>(places, 7, 1000, seen);
  }
};

TEST(PollWords, WaitsUntilBothWordsOfEachPairHaveCome) {
  platform::Words seen[2];
  for (const std::size_t word : {0U, 1U}) {
    EXPECT_EQ(ScriptedWords::run(1, word, seen), -1);
    EXPECT_EQ(ScriptedWords::polls, 1u);
    EXPECT_EQ(ScriptedWords::run(300, word, seen), -1);
    EXPECT_EQ(ScriptedWords::polls, 300u);
    EXPECT_EQ(static_cast<u32>(seen[1].values[0]), 1u);
    EXPECT_EQ(static_cast<u32>(seen[1].values[1]), 5u);
  }
}

TEST(PollWords, LooksAtTheLastWordAloneWhereBothComeTogether) {
  platform::Words seen[2];
  EXPECT_EQ(ScriptedWords::run<1>(300, 1, seen), -1);
  EXPECT_EQ(ScriptedWords::polls, 300u);
  EXPECT_EQ(ScriptedWords::run<1>(300, 0, seen), -1);
  EXPECT_EQ(ScriptedWords::polls, 1u) << "the first word is data";
  EXPECT_EQ(ScriptedWords::run<1>(~0u, 1, seen), 1);
}

TEST(PollWords, GivesUpAfterTheTimeoutAndSaysWhich) {
  platform::Words seen[2];
  EXPECT_EQ(ScriptedWords::run(~0u, 1, seen), 1);
  EXPECT_EQ(ScriptedWords::polls, 12u * 256u);
}

}  // namespace
}  // namespace iris::device::lines_test
