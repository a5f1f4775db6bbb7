#include "boot/store_server.hpp"

#include <thread>

#include <pthread.h>
#include <signal.h>

#include "boot/store_loop.hpp"

namespace verbena::boot {
namespace {

/// Signals are for the program's own threads: the store's thread starts with all of them blocked.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

} // namespace

class StoreServer::Impl {
  public:
    explicit Impl(const Options& options) : loop_(options) {
        const SignalsBlocked blocked;
        thread_ = std::thread([this] { loop_.run(); });
        pthread_setname_np(thread_.native_handle(), "verbena-store");
    }
    ~Impl() {
        loop_.stop();
        thread_.join();
    }

    StoreLoop& loop() noexcept { return loop_; }

  private:
    StoreLoop loop_;
    std::thread thread_;
};

StoreServer::StoreServer(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
StoreServer::~StoreServer() = default;

std::uint16_t StoreServer::port() const noexcept { return impl_->loop().port(); }

bool StoreServer::wait_until_empty(std::chrono::steady_clock::time_point deadline) {
    return impl_->loop().wait_until_empty(deadline);
}

} // namespace verbena::boot
