#include "runtime/world/processes/channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace iris {
namespace {

/// Stands before each message. Processes of one host: no order of bytes.
struct Header {
  std::uint32_t kind;
  std::int32_t rank;
  std::uint64_t call;
  std::uint64_t text;
  std::uint64_t bytes;
};

bool must_wait(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Channel::Channel(Descriptor socket) : socket_(std::move(socket)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void Channel::queue(const Message& message) {
  const Header header{static_cast<std::uint32_t>(message.kind), message.rank, message.call, message.text.size(),
                      message.bytes.size()};
  output_.append(reinterpret_cast<const char*>(&header), sizeof header);
  output_ += message.text;
  output_ += message.bytes;
}

bool Channel::send() {
  while (has_output()) {
    const ssize_t count = ::send(socket_.get(), output_.data() + sent_, output_.size() - sent_, MSG_NOSIGNAL);
    if (count < 0) return must_wait(errno);
    sent_ += static_cast<std::size_t>(count);
  }
  output_.clear();
  sent_ = 0;
  return true;
}

bool Channel::receive(std::vector<Message>& messages, std::size_t most) {
  std::array<char, 1 << 16> buffer;
  for (;;) {
    // NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection): the socket does not block
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count < 0 && must_wait(errno)) return take_messages(messages, most);
    if (count <= 0) {
      take_messages(messages, most);
      return false;
    }
    input_.append(buffer.data(), static_cast<std::size_t>(count));
    received_ += static_cast<std::uint64_t>(count);
    if (input_.size() > sizeof(Header) + most && !take_messages(messages, most)) return false;
  }
}

bool Channel::take_messages(std::vector<Message>& messages, std::size_t most) {
  std::size_t taken = 0;
  Header header{};
  while (input_.size() - taken >= sizeof header) {
    std::memcpy(&header, input_.data() + taken, sizeof header);
    if (header.text > most || header.bytes > most - header.text) return false;
    const std::size_t length = sizeof header + header.text + header.bytes;
    if (input_.size() - taken < length) break;
    messages.push_back({.kind = static_cast<Message::Kind>(header.kind),
                        .rank = header.rank,
                        .call = header.call,
                        .text = input_.substr(taken + sizeof header, header.text),
                        .bytes = input_.substr(taken + sizeof header + header.text, header.bytes)});
    taken += length;
  }
  input_.erase(0, taken);
  return true;
}

}  // namespace iris
