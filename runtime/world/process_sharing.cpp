#include "runtime/world/process_sharing.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/world/processes/descriptors.hpp"

namespace iris {

void hand_over_among_processes(Collectives& members, const CollectiveCall& call, const Collectives::Files& files,
                               const std::function<std::string(int rank)>& absence,
                               const Collectives::TakeFiles& take) {
  std::optional<DescriptorExchange> exchange;
  std::string offer;
  std::string error = files.error;
  if (error.empty()) {
    error = words_of_attempt([&] {
      exchange.emplace(members.rank(), members.ranks());
      offer = exchange->offer(files.own.size());
    });
  }
  const std::vector<std::string> offers = members.all_gather_or_fail(call, error, std::move(offer));
  members.all_gather_or_fail(call,
                             words_of_attempt([&] { exchange.value().complete(offers, files.own, absence, take); }));
}

namespace {

std::shared_ptr<void> map_shared(const Descriptor& file, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error(std::string("memory that the first rank shares cannot be mapped: ") +
                             std::strerror(errno));
  }
  return {memory, [bytes](void* mapped) { ::munmap(mapped, bytes); }};
}

Descriptor make_shared_file(std::size_t bytes) {
  Descriptor file(::memfd_create("irisgen shared", MFD_CLOEXEC));
  if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
    throw std::runtime_error(std::string("memory to share cannot be made: ") + std::strerror(errno));
  }
  return file;
}

}  // namespace

std::shared_ptr<void> share_among_processes(Collectives& members, const CollectiveCall& call, std::size_t bytes) {
  std::shared_ptr<void> memory;
  Collectives::Files files;
  if (members.rank() == 0) {
    files.error = words_of_attempt([&] {
      files.own.push_back(make_shared_file(bytes));
      memory = map_shared(files.own.front(), bytes);
    });
  }
  members.hand_over(call, files, [&](int /*rank*/, const std::vector<Descriptor>& given) {
    memory = map_shared(given.front(), bytes);
  });
  return memory;
}

}  // namespace iris
