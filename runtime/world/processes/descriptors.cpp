#include "runtime/world/processes/descriptors.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "runtime/system/secret.hpp"
#include "runtime/world/packing.hpp"
#include "runtime/world/processes/unix_socket.hpp"

namespace iris {
namespace {

constexpr std::chrono::seconds patience{5};

/// Linux takes no more in one message (SCM_MAX_FD).
constexpr std::size_t most_at_once = 253;

struct Control {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(most_at_once * sizeof(int))> bytes{};
};

/// A message with files.
struct Parcel {
  std::string text;
  std::vector<Descriptor> files;
};

std::vector<Descriptor> files_in(msghdr& message) {
  std::vector<Descriptor> files;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return files;
  for (std::size_t at = CMSG_LEN(0); at + sizeof(int) <= header->cmsg_len; at += sizeof(int)) {
    int number = -1;
    std::memcpy(&number, reinterpret_cast<const char*>(header) + at, sizeof number);
    files.emplace_back(number);
  }
  return files;
}

[[noreturn]] void fail_for_open_files() {
  throw std::runtime_error("this process has too many open files to be handed more; raise its limit (ulimit -n)");
}

/// An empty one if none comes. Throws if this process has no room for its files: the system drops them then.
Parcel read_parcel(int socket) {
  std::array<char, 256> text{};
  Control control;
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  // A signal begins the socket's own time limit anew.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  ssize_t length = -1;
  do length = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (length < 0 && errno == EINTR && std::chrono::steady_clock::now() < deadline);
  if (length <= 0) return {};
  Parcel parcel{std::string(text.data(), static_cast<std::size_t>(length)), files_in(message)};
  if ((message.msg_flags & MSG_CTRUNC) != 0) fail_for_open_files();
  return parcel;
}

/// False, with errno set, if it cannot be sent.
bool send_parcel(int socket, const std::string& text, std::span<const Descriptor> files) {
  Control control;
  const std::size_t bytes = files.size() * sizeof(int);
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(bytes);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(bytes);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const int number = files[i].get();
    std::memcpy(CMSG_DATA(header) + i * sizeof number, &number, sizeof number);
  }
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

std::string DescriptorExchange::offer(std::size_t files) const {
  return pack({iris::name_of(listener_), secret_, std::to_string(files)});
}

void DescriptorExchange::complete(std::span<const std::string> offers, std::span<const Descriptor> own,
                                  const std::function<std::string(int rank)>& absence, const Take& take) {
  Missing missing;
  for (int peer = 0; peer < static_cast<int>(offers.size()); ++peer) {
    const std::size_t files = std::stoul(unpack(offers[static_cast<std::size_t>(peer)], 3)[2]);
    if (peer != rank_ && files > 0) missing[peer].count = files;
  }
  auto deadline = std::chrono::steady_clock::now() + patience;
  const auto receive = [&] {
    if (receive_one(missing, take)) {
      deadline = std::chrono::steady_clock::now() + patience;
      return;
    }
    for (const auto& [peer, given] : missing) {
      const std::string gone = absence(ranks_[static_cast<std::size_t>(peer)]);
      if (!gone.empty())
        throw std::runtime_error(name_of(rank_) + " was not given the memory of " + name_of(peer) + ": " + gone);
    }
    if (std::chrono::steady_clock::now() < deadline) return;
    throw std::runtime_error(name_of(rank_) +
                             (missing.empty() ? " could not hand over its memory"
                                              : " was not given the memory of " + name_of(missing.begin()->first)) +
                             " within 5 s");
  };
  for (int peer = 0; peer < static_cast<int>(offers.size()); ++peer) {
    if (peer != rank_ && !own.empty()) send(offers[static_cast<std::size_t>(peer)], peer, own, receive);
    deadline = std::chrono::steady_clock::now() + patience;
  }
  while (!missing.empty()) receive();
}

void DescriptorExchange::fail_to_reach(int peer, const std::string& why) const {
  throw std::runtime_error(name_of(rank_) + " cannot hand its memory to " + name_of(peer) + ": " + why);
}

Descriptor DescriptorExchange::connect(const std::string& offer, int peer) const {
  Descriptor socket = connect_to(SOCK_SEQPACKET | SOCK_NONBLOCK, unpack(offer, 3)[0]);
  if (socket.get() < 0 && errno == EAGAIN) return socket;
  if (socket.get() < 0) fail_to_reach(peer, std::strerror(errno));
  if (!is_own(socket.get())) fail_to_reach(peer, "another user's process listens in its place");
  return socket;
}

/// Each parcel over a connection of its own, which the other side never has to wait for. The system lets a user have
/// only so many files on their way, and a listener so many connections: then some must be received first, here and
/// there.
void DescriptorExchange::send(const std::string& offer, int peer, std::span<const Descriptor> own,
                              const std::function<void()>& make_room) const {
  const std::string text = pack({unpack(offer, 3)[1], std::to_string(rank_)});
  Descriptor socket(-1);
  while (!own.empty()) {
    if (socket.get() < 0) socket = connect(offer, peer);
    if (socket.get() < 0) {
      make_room();
      continue;
    }
    const auto parcel = own.first(std::min(most_at_once, own.size()));
    if (send_parcel(socket.get(), text, parcel)) {
      own = own.subspan(parcel.size());
      socket = Descriptor(-1);
    } else if (errno == ETOOMANYREFS) {
      make_room();
    } else {
      fail_to_reach(peer, std::strerror(errno));
    }
  }
}

/// Waits a little for somebody, and takes what one of the missing ranks hands over. Who does not know the secret, or
/// gives more files than it has said, is not listened to. True if that was one of them.
bool DescriptorExchange::receive_one(Missing& missing, const Take& take) const {
  pollfd waiting{listener_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, 100) <= 0) return false;
  const Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.get() < 0 && (errno == EMFILE || errno == ENFILE)) fail_for_open_files();
  if (socket.get() < 0 || !is_own(socket.get())) return false;
  const timeval a_second{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &a_second, sizeof a_second);
  Parcel parcel = read_parcel(socket.get());
  const auto sender = std::ranges::find_if(
      missing, [&](const auto& peer) { return parcel.text == pack({secret_, std::to_string(peer.first)}); });
  if (sender == missing.end()) return false;
  auto& [count, files] = sender->second;
  if (parcel.files.empty() || parcel.files.size() > count - files.size()) return false;
  std::ranges::move(parcel.files, std::back_inserter(files));
  if (files.size() < count) return true;
  const int peer = sender->first;
  take(peer, std::move(missing.extract(sender).mapped().files));
  return true;
}

}  // namespace iris
