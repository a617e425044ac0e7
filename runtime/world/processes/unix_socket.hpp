#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "generator/manifest/descriptor.hpp"

/// Unix sockets with abstract names: they lie in no folder, so no end of a process leaves one behind, and they have no
/// permissions, so who is on the other side is asked of the kernel.
namespace iris {

/// Listens under this name, or one that the kernel chooses if it is empty. None, with errno set, if that cannot be:
/// EADDRINUSE if somebody else has the name.
Descriptor listen_at(int type, const std::string& name, int backlog);
/// What it listens under.
std::string name_of(const Descriptor& listener);
/// None, with errno set, if that cannot be: ECONNREFUSED if nobody listens.
Descriptor connect_to(int type, const std::string& name);

struct Peer {
  pid_t process;
  uid_t user;
};
/// Who has connected, or listens; nothing if that is not known.
std::optional<Peer> peer_of(int socket);
/// Whether it is a process of this user.
bool is_own(int socket);

}  // namespace iris
