#include "runtime/world/processes/service.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <utility>

#include "runtime/system/thread.hpp"

namespace iris {

Service::Service(const std::string& purpose, std::function<void()> serve) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // which the thread inherits
  try {
    thread_ = start_thread(purpose, std::move(serve));
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Service::join() {
  if (thread_.joinable()) thread_.join();
}

Wake::Wake() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0) throw std::system_error(errno, std::generic_category(), "cannot make an event descriptor");
}

void Wake::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

void Wake::clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
}

void Patience::pass() {
  const Clock::time_point before = std::exchange(now_, Clock::now());
  if (now_ - before > 10 * tick) resumed_ = now_;
}

}  // namespace iris
