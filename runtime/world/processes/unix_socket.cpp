#include "runtime/world/processes/unix_socket.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace iris {
namespace {

struct Address {
  sockaddr_un place{};
  socklen_t length = sizeof place.sun_family;  // alone: the kernel chooses
};

/// Abstract names begin with a zero.
Address address_of(const std::string& name) {
  Address address;
  address.place.sun_family = AF_UNIX;
  if (name.empty()) return address;
  if (name.size() + 1 > sizeof address.place.sun_path) throw std::logic_error("the name of a socket is too long");
  std::ranges::copy(name, address.place.sun_path + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

}  // namespace

Descriptor listen_at(int type, const std::string& name, int backlog) {
  Descriptor listener(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const Address address = address_of(name);
  if (listener.get() < 0 ||
      ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.place), address.length) != 0 ||
      ::listen(listener.get(), backlog) != 0) {
    return Descriptor(-1);
  }
  return listener;
}

std::string name_of(const Descriptor& listener) {
  Address address;
  address.length = sizeof address.place;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address.place), &address.length) != 0) return {};
  const std::size_t before = offsetof(sockaddr_un, sun_path) + 1;
  return address.length <= before ? std::string() : std::string(address.place.sun_path + 1, address.length - before);
}

Descriptor connect_to(int type, const std::string& name) {
  Descriptor socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
  const Address address = address_of(name);
  if (socket.get() < 0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.place), address.length) != 0) {
    return Descriptor(-1);
  }
  return socket;
}

std::optional<Peer> peer_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return std::nullopt;
  return Peer{credentials.pid, credentials.uid};
}

bool is_own(int socket) {
  const auto peer = peer_of(socket);
  return peer.has_value() && peer->user == ::geteuid();
}

}  // namespace iris
