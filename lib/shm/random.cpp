#include "shm/random.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include <sys/random.h>
#include <unistd.h>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::shm {
namespace {

struct Pool {
    std::array<std::uint64_t, 32> numbers{}; ///< 256 bytes: getrandom(2) gives so many whole
    std::size_t left = 0;
    pid_t owner = 0; ///< a forked child must not hand out its parent's numbers
};

} // namespace

std::uint64_t random_number() {
    thread_local Pool pool;
    if (pool.left == 0 || pool.owner != ::getpid()) {
        if (::getrandom(pool.numbers.data(), sizeof pool.numbers, 0) != static_cast<ssize_t>(sizeof pool.numbers)) {
            throw Error(ErrorCode::unavailable, fmt::format("getrandom: {}", std::strerror(errno)));
        }
        pool.left = pool.numbers.size();
        pool.owner = ::getpid();
    }
    return pool.numbers[--pool.left];
}

} // namespace verbena::shm
