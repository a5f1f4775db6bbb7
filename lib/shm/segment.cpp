#include "shm/segment.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::shm {
namespace {

/// Neither smaller nor larger, ever.
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

class Descriptor {
  public:
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    ~Descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

  private:
    int fd_;
};

ErrorCode code_of(int error) {
    switch (error) {
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
        return ErrorCode::exhausted;
    case EACCES:
    case EPERM:
        return ErrorCode::refused;
    case ESRCH:
    case ENOENT:
        return ErrorCode::peer_lost;
    default:
        return ErrorCode::unavailable;
    }
}

[[noreturn]] void fail(const std::string& what, const char* call, const char* advice) {
    const int error = errno;
    throw Error(code_of(error), fmt::format("{}: {}: {}", what, call, std::strerror(error)), advice,
                {Origin::system_errno, error, 0});
}

} // namespace

Segment::Segment(const char* name, std::size_t size, Sharing sharing) {
    const std::string what = fmt::format("shared memory \"{}\" of {} bytes", name, size);
    constexpr const char* room = "lower the number of ranks on this host, or raise the limit on open files (ulimit -n) "
                                 "and the memory limit of the container; wire=ofi does without";
    Descriptor made(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (made.get() < 0) fail(what, "memfd_create", room);
    if (::posix_fallocate(made.get(), 0, static_cast<off_t>(size)) != 0) {
        errno = ENOMEM; // the only way in which it fails on a new memfd
        fail(what, "posix_fallocate", room);
    }
    map(what, made.get(), size, PROT_READ | PROT_WRITE);
    // F_SEAL_FUTURE_WRITE leaves our own mapping writable and lets nobody make another (Linux 5.1; without it a peer
    // that breaks its word could write).
    const bool sealed =
        sharing == Sharing::read_write || ::fcntl(made.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) == 0 || errno == EINVAL;
    if (!sealed || ::fcntl(made.get(), F_ADD_SEALS, size_seals) != 0) {
        ::munmap(memory_.data(), memory_.size());
        fail(what, "fcntl(F_ADD_SEALS)", "Linux 3.17 or later is needed; wire=ofi does without");
    }
    fd_ = made.release();
}

Segment::Segment(pid_t pid, int fd, std::size_t size, Sharing sharing) {
    const std::string path = fmt::format("/proc/{}/fd/{}", pid, fd);
    const std::string what = "shared memory " + path;
    constexpr const char* advice =
        "both processes must run as the same user, in one PID namespace, and be dumpable (not "
        "set-user-ID); wire=ofi does without";
    const bool writes = sharing == Sharing::read_write;
    // O_NONBLOCK, O_NOCTTY: what a peer names may be anything, a FIFO or a terminal too.
    const Descriptor opened(::open(path.c_str(), (writes ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (opened.get() < 0) fail(what, "open", advice);
    const int seals = ::fcntl(opened.get(), F_GET_SEALS);
    struct stat file {};
    if (seals < 0 || (seals & size_seals) != size_seals || ::fstat(opened.get(), &file) != 0 ||
        file.st_size != static_cast<off_t>(size)) {
        throw Error(ErrorCode::protocol_violation, fmt::format("{}: not a sealed segment of {} bytes", what, size),
                    "is the peer a verbena?");
    }
    map(what, opened.get(), size, writes ? PROT_READ | PROT_WRITE : PROT_READ);
}

void Segment::map(const std::string& what, int fd, std::size_t size, int protection) {
    void* const mapped = ::mmap(nullptr, size, protection, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (mapped == MAP_FAILED) fail(what, "mmap", "is there a limit on address space (ulimit -v)?");
    memory_ = {static_cast<std::byte*>(mapped), size};
}

Segment::Segment(Segment&& other) noexcept
    : memory_(std::exchange(other.memory_, {})), fd_(std::exchange(other.fd_, -1)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(fd_, other.fd_);
    return *this;
}

Segment::~Segment() {
    if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
    if (fd_ >= 0) ::close(fd_);
}

} // namespace verbena::shm
