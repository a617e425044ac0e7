#include "runtime/world/processes/descriptors.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "runtime/system/secret.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris {
namespace {

constexpr std::chrono::seconds patience{5};

/// Room for one descriptor; alignment makes it two.
struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> bytes{};
};

/// The descriptor in it. None if there is not exactly one: what else came is closed.
Descriptor descriptor_in(msghdr& message) {
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return Descriptor(-1);
  std::vector<Descriptor> received;
  for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
    int number = -1;
    std::memcpy(&number, reinterpret_cast<const char*>(header) + at, sizeof number);
    received.emplace_back(number);
  }
  return received.size() == 1 ? std::move(received.front()) : Descriptor(-1);
}

/// What was sent with a descriptor, and that; none if it came without.
std::pair<std::string, Descriptor> read_descriptor(int socket) {
  std::array<char, 256> text{};
  Control control;
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  const ssize_t length = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (length < 0) return {std::string(), Descriptor(-1)};
  Descriptor descriptor = descriptor_in(message);
  return {std::string(text.data(), static_cast<std::size_t>(length)), std::move(descriptor)};
}

bool send_descriptor(int socket, const std::string& text, int number) {
  Control control;
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof number);
  std::memcpy(CMSG_DATA(header), &number, sizeof number);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

}  // namespace

DescriptorExchange::DescriptorExchange(int rank, std::vector<int> ranks)
    : rank_(rank),
      ranks_(std::move(ranks)),
      listener_(listen_at(SOCK_SEQPACKET, {}, static_cast<int>(ranks_.size()) + 16)),
      secret_(random_secret()) {
  if (listener_.get() < 0) {
    throw std::runtime_error(name_of(rank_) + " cannot make a socket to be handed memory by: " + std::strerror(errno));
  }
}

std::string DescriptorExchange::name_of(int rank) const {
  return "rank " + std::to_string(ranks_[static_cast<std::size_t>(rank)]);
}

std::string DescriptorExchange::offer(bool gives) const {
  return pack({iris::name_of(listener_), secret_, gives ? "gives" : ""});
}

std::vector<Descriptor> DescriptorExchange::complete(std::span<const std::string> offers, const Descriptor& own,
                                                     const std::function<std::string(int rank)>& absence) {
  std::vector<Descriptor> received;
  std::vector<int> missing;
  for (int peer = 0; peer < static_cast<int>(offers.size()); ++peer) {
    const std::string& offer = offers[static_cast<std::size_t>(peer)];
    received.emplace_back(-1);
    if (peer == rank_) continue;
    if (own.get() >= 0) send(offer, peer, own);
    if (!unpack(offer, 3)[2].empty()) missing.push_back(peer);
  }
  if (own.get() >= 0) {
    received[static_cast<std::size_t>(rank_)] = Descriptor(::fcntl(own.get(), F_DUPFD_CLOEXEC, 0));
  }
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!missing.empty()) {
    receive_one(missing, received);
    if (missing.empty()) break;
    const std::string gone = absence(ranks_[static_cast<std::size_t>(missing.front())]);
    if (gone.empty() && std::chrono::steady_clock::now() < deadline) continue;
    throw std::runtime_error(name_of(rank_) + " was not given the memory of " + name_of(missing.front()) +
                             (gone.empty() ? " within 5 s" : ": " + gone));
  }
  return received;
}

void DescriptorExchange::send(const std::string& offer, int peer, const Descriptor& own) const {
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error(name_of(rank_) + " cannot hand its memory to " + name_of(peer) + ": " + why);
  };
  const std::vector<std::string> said = unpack(offer, 3);
  const Descriptor socket = connect_to(SOCK_SEQPACKET, said[0]);
  if (socket.get() < 0) fail(std::strerror(errno));
  if (!is_own(socket.get())) fail("another user's process listens in its place");
  if (!send_descriptor(socket.get(), pack({said[1], std::to_string(rank_)}), own.get())) fail(std::strerror(errno));
}

/// Waits a little for somebody, and takes what one of the missing ranks hands over. Who does not know the secret is
/// not listened to.
void DescriptorExchange::receive_one(std::vector<int>& missing, std::vector<Descriptor>& received) const {
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 100) <= 0) return;
  const Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.get() < 0 || !is_own(socket.get())) return;
  const timeval a_second{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &a_second, sizeof a_second);
  auto [text, file] = read_descriptor(socket.get());
  const auto sender = std::ranges::find_if(
      missing, [&](int peer) { return text == pack({secret_, std::to_string(peer)}) && file.get() >= 0; });
  if (sender == missing.end()) return;
  received[static_cast<std::size_t>(*sender)] = std::move(file);
  missing.erase(sender);
}

}  // namespace iris
