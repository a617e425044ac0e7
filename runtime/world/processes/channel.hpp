#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "generator/manifest/descriptor.hpp"

namespace iris {

/// What the hub and its members say to each other.
struct Message {
  enum class Kind : std::uint32_t {
    hello,       ///< to the hub, first: who this is, packed
    refused,     ///< from the hub: why this process cannot take part
    welcome,     ///< from the hub, once all have come: their process ids, packed
    contribute,  ///< to the hub: a rank's part of an all_gather; `text` is the call, `bytes` a Contribution, packed
    withdraw,    ///< to the hub: this rank waits no longer for what it has contributed to
    result,      ///< from the hub: all parts, packed
    deadlock,    ///< from the hub: ranks wait for one another, in words
    notice,      ///< to and from the hub: what a rank posts
    lost,        ///< from the hub: a rank will come no more; `text` says why
    left,        ///< the same of one that has ended as it should
    bye,         ///< to the hub: this rank ends as it should
    beat,        ///< both ways: still there
  };
  Kind kind = Kind::beat;
  std::int32_t rank = 0;
  /// Which of the rank's calls this contributes to, withdraws from or answers, counted from 1. A rank may have given
  /// up a call whose answer is on its way yet.
  std::uint64_t call = 0;
  std::string text = {};
  std::string bytes = {};
};

/// Messages over a stream socket, which is never waited for: who polls it calls send() and receive().
class Channel {
 public:
  /// Messages longer than this are not taken from the other side.
  static constexpr std::size_t most_bytes = std::size_t{1} << 34;
  /// receive() returns after so many bytes where more are there, for whoever calls it has others to attend to.
  static constexpr std::size_t most_at_once = std::size_t{1} << 24;
  /// Of a message, to be sent as they are: other channels may hold the same.
  using Bytes = std::shared_ptr<const std::string>;

  explicit Channel(Descriptor socket);

  int number() const { return socket_.get(); }
  void queue(const Message& message) { queue(message, {}); }
  /// With these after the message's own bytes. They are not copied.
  void queue(const Message& message, std::span<const Bytes> more);
  bool has_output() const { return !output_.empty(); }
  /// Both are false once the other side is gone, or talks nonsense. What it had said before is received nevertheless.
  bool send();
  bool receive(std::vector<Message>& messages, std::size_t most = most_bytes);
  /// Bytes, ever.
  std::uint64_t received() const { return received_; }

 private:
  bool take_messages(std::vector<Message>& messages, std::size_t most);

  Descriptor socket_;
  std::deque<Bytes> output_;  // none of them empty
  std::size_t sent_ = 0;      // of the first
  std::string input_;
  std::uint64_t received_ = 0;
};

}  // namespace iris
