#include "runtime/world/processes/channel.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace iris::channel_test {
namespace {

/// The two ends of a connection.
std::pair<Channel, Channel> connected() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("no sockets");
  return {Channel(Descriptor(ends[0])), Channel(Descriptor(ends[1]))};
}

/// What arrives of all that was queued.
std::vector<Message> arriving(Channel& from, Channel& to) {
  std::vector<Message> messages;
  do {
    EXPECT_TRUE(from.send());
    EXPECT_TRUE(to.receive(messages));
  } while (from.has_output());
  EXPECT_TRUE(to.receive(messages));
  return messages;
}

TEST(Channel, SendsWhatSeveralShareBehindAMessagesOwnBytes) {
  auto [first, first_end] = connected();
  auto [second, second_end] = connected();
  const std::vector<Channel::Bytes> shared = {
      std::make_shared<const std::string>(1'000'000, 'a'), std::make_shared<const std::string>(),
      std::make_shared<const std::string>("b"), std::make_shared<const std::string>(2'000'000, 'c')};
  for (Channel* channel : {&first, &second}) {
    channel->queue({.kind = Message::Kind::result, .call = 7, .text = "of all", .bytes = "own"}, shared);
    channel->queue({.kind = Message::Kind::beat});
  }
  EXPECT_EQ(shared.front().use_count(), 3) << "each channel holds what all share, and no copy";

  const std::string whole = "own" + *shared[0] + "b" + *shared[3];
  for (auto [from, to] : {std::pair(&first, &first_end), std::pair(&second, &second_end)}) {
    const std::vector<Message> messages = arriving(*from, *to);
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].kind, Message::Kind::result);
    EXPECT_EQ(messages[0].call, 7U);
    EXPECT_EQ(messages[0].text, "of all");
    EXPECT_TRUE(messages[0].bytes == whole) << messages[0].bytes.size() << " bytes";
    EXPECT_EQ(messages[1].kind, Message::Kind::beat);
  }
  EXPECT_EQ(shared.front().use_count(), 1) << "what is sent is let go";
}

TEST(Channel, SendsMoreMessagesThanOneCallOfTheSystemTakes) {
  auto [from, to] = connected();
  for (int i = 0; i < 1000; ++i) from.queue({.kind = Message::Kind::notice, .rank = i, .bytes = std::to_string(i)});
  const std::vector<Message> messages = arriving(from, to);
  ASSERT_EQ(messages.size(), 1000U);
  for (int i = 0; i < 1000; ++i) {
    const Message& message = messages[static_cast<std::size_t>(i)];
    EXPECT_EQ(message.rank, i);
    EXPECT_EQ(message.bytes, std::to_string(i));
  }
}

/// However fast the other side writes, whoever receives comes to attend to others.
TEST(Channel, TakesOnlySoMuchAtOnce) {
  auto [from, to] = connected();
  const auto all = std::make_shared<const std::string>(6 * Channel::most_at_once, 'x');
  from.queue({.kind = Message::Kind::contribute}, std::vector{all});
  std::thread writer([&from] {
    while (from.has_output() && from.send()) {
    }
  });
  std::vector<Message> messages;
  std::uint64_t most = 0;
  while (messages.empty()) {
    const std::uint64_t before = to.received();
    if (!to.receive(messages)) break;
    most = std::max(most, to.received() - before);
  }
  writer.join();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_TRUE(messages.front().bytes == *all);
  EXPECT_LE(most, Channel::most_at_once + (1U << 16U));
}

}  // namespace
}  // namespace iris::channel_test
