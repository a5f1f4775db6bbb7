#include "interrupt.hpp"

#include <atomic>
#include <csignal>
#include <initializer_list>

#include <unistd.h>

namespace verbena::tools {
namespace {

std::atomic<int> pending{0};
std::atomic<bool> is_interruptible{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free, "used in a handler");

extern "C" void on_interrupt(int signal) {
    if (!is_interruptible.load() || pending.exchange(signal) != 0) _exit(128 + signal);
}

} // namespace

void install_interrupt_handlers() {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN); // a closed stdout is an error of the write, said in a sentence
}

Interruptible::Interruptible() noexcept { is_interruptible = true; }
Interruptible::~Interruptible() { is_interruptible = false; }

int pending_interrupt() noexcept { return pending.load(std::memory_order_relaxed); }

} // namespace verbena::tools
