#include "runtime/world/processes/channel.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
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

void Channel::queue(const Message& message, std::span<const Bytes> more) {
  std::size_t length = message.bytes.size();
  for (const Bytes& bytes : more) length += bytes->size();
  const Header header{static_cast<std::uint32_t>(message.kind), message.rank, message.call, message.text.size(),
                      length};
  std::string own;
  own.reserve(sizeof header + message.text.size() + message.bytes.size());
  own.append(reinterpret_cast<const char*>(&header), sizeof header);
  own += message.text;
  own += message.bytes;
  output_.push_back(std::make_shared<const std::string>(std::move(own)));
  std::ranges::copy_if(more, std::back_inserter(output_), [](const Bytes& bytes) { return !bytes->empty(); });
}

bool Channel::send() {
  while (has_output()) {
    std::array<iovec, 16> parts{};
    const std::size_t count = std::min(parts.size(), output_.size());
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t begin = i == 0 ? sent_ : 0;
      // sendmsg() takes what it reads as what it might write.
      parts[i] = {const_cast<char*>(output_[i]->data()) + begin, output_[i]->size() - begin};
    }
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) return must_wait(errno);
    sent_ += static_cast<std::size_t>(sent);
    while (has_output() && sent_ >= output_.front()->size()) {
      sent_ -= output_.front()->size();
      output_.pop_front();
    }
  }
  return true;
}

bool Channel::receive(std::vector<Message>& messages, std::size_t most) {
  std::array<char, 1 << 16> buffer;
  for (const std::uint64_t before = received_;;) {
    if (received_ - before >= most_at_once) return take_messages(messages, most);
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
