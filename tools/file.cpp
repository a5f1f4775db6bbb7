#include "file.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <verbena/error.hpp>

namespace verbena::tools {
namespace {

[[noreturn]] void fail(const std::string& sentence, const std::string& advice = {}) {
    throw Error(ErrorCode::unavailable, sentence, advice, Cause{Origin::system_errno, errno, 0});
}

} // namespace

InputFile::InputFile(std::string path)
    : path_(std::move(path)), descriptor_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail(fmt::format("{} cannot be opened", path_), "look at the path and its permissions");
    struct stat status = {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(descriptor_);
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("{} is not a regular file, so its length is not known beforehand", path_),
                    "write it into a file first");
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { close(descriptor_); }

std::string InputFile::name() const { return path_.substr(path_.rfind('/') + 1); }

void InputFile::read(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::read(descriptor_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(fmt::format("{} cannot be read", path_));
        if (count == 0) {
            throw Error(ErrorCode::unavailable,
                        fmt::format("{} has become shorter than the {} bytes it had", path_, size_),
                        "send it again when nobody writes to it");
        }
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

OutputFile::OutputFile(std::string path, bool may_replace)
    : path_(std::move(path)), part_(path_ + ".part"), may_replace_(may_replace) {
    if (!may_replace_ && access(path_.c_str(), F_OK) == 0) {
        throw Error(ErrorCode::refused, fmt::format("{} is there already", path_),
                    "give --output another name, or --replace");
    }
    struct stat there {};
    if (may_replace_ && lstat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
        throw Error(ErrorCode::refused, fmt::format("{} is no regular file: it is not replaced", path_),
                    "give --output another name");
    }
    descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0)
        fail(fmt::format("{} cannot be made", part_), "look at the folder, or at what an earlier try left behind");
}

OutputFile::~OutputFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(part_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail(fmt::format("{} cannot be written", part_), "look at the space left: df");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
}

void OutputFile::complete() {
    // link() refuses to replace, rename() does it in one step; both leave either the old file or the whole new one.
    const bool is_named =
        may_replace_ ? rename(part_.c_str(), path_.c_str()) == 0 : link(part_.c_str(), path_.c_str()) == 0;
    if (!is_named) fail(fmt::format("{} cannot be renamed to {}", part_, path_));
    if (!may_replace_) unlink(part_.c_str());
    close(descriptor_);
    descriptor_ = -1;
}

std::string checked_file_name(const std::string& name) {
    const bool is_plain =
        std::all_of(name.begin(), name.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f && c != '/'; });
    if (name.empty() || name.front() == '.' || name.size() > 200 || !is_plain) {
        throw Error(ErrorCode::refused, "the other end proposes a file name that is none, or a hidden or foreign one",
                    "choose one here with --output");
    }
    return name;
}

} // namespace verbena::tools
