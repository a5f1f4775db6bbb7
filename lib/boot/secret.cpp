#include "boot/secret.hpp"

#include <array>
#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "boot/socket.hpp"

namespace verbena::boot {
namespace {

[[noreturn]] void unreadable(const std::string& path) {
    const Cause cause{Origin::system_errno, errno, 0};
    throw Error(ErrorCode::unavailable, fmt::format("secret-file {}: {}", path, describe(cause)),
                "every rank needs the file: copy it to each host, or put it on a shared file system", cause);
}

/// Of the opened file, not of the path: what was checked is what is read.
void check_private(int fd, const std::string& path) {
    struct stat status {};
    if (fstat(fd, &status) != 0) unreadable(path);
    if (!S_ISREG(status.st_mode)) {
        throw Error(ErrorCode::invalid_argument, fmt::format("secret-file {} is not a regular file", path));
    }
    constexpr mode_t others = S_IRWXG | S_IRWXO;
    if ((status.st_mode & others) != 0) {
        throw Error(ErrorCode::refused,
                    fmt::format("secret-file {} has mode {:04o}: others may use it", path, status.st_mode & 07777),
                    fmt::format("chmod 600 {}", path));
    }
}

std::string read_secret_file(const std::string& path) {
    const FileDescriptor fd(
        open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)); // no waiting for the other end of a FIFO
    if (!fd) unreadable(path);
    check_private(fd.get(), path);
    std::array<char, 4096> bytes;
    const ssize_t count = read(fd.get(), bytes.data(), bytes.size());
    if (count < 0) unreadable(path);
    if (count == static_cast<ssize_t>(bytes.size())) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("secret-file {} has {} bytes or more: is it the right file?", path, count));
    }
    std::string secret(bytes.data(), static_cast<std::size_t>(count));
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
    if (secret.empty()) throw Error(ErrorCode::invalid_argument, fmt::format("secret-file {} is empty", path));
    return secret;
}

} // namespace

std::string secret_from(const Settings& settings, std::uint32_t size) {
    if (settings.is_set("secret") && settings.is_set("secret-file")) {
        throw Error(ErrorCode::invalid_argument, "secret and secret-file are both set", "keep one of them");
    }
    if (settings.is_set("secret")) return settings.text("secret");
    if (settings.is_set("secret-file")) return read_secret_file(settings.text("secret-file"));
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a job of {} ranks needs a shared secret, and none is set", size),
                "make one with `(umask 077; head -c 32 /dev/urandom | base64 > verbena.secret)` and give every rank "
                "--secret-file verbena.secret (VERBENA_SECRET_FILE)");
}

} // namespace verbena::boot
