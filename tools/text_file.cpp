#include "text_file.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <verbena/error.hpp>

namespace verbena::tools {
namespace {

constexpr std::streamoff most_bytes = 256 << 20;

[[noreturn]] void refuse(const std::string& path, const char* what) {
    const Cause cause{Origin::system_errno, errno, 0};
    throw Error(ErrorCode::unavailable, fmt::format("{} cannot be {}: {}", path, what, describe(cause)), {}, cause);
}

} // namespace

std::string read_text_file(const std::string& path) {
    errno = 0;
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) refuse(path, "opened");
    if (file.tellg() > most_bytes) {
        throw Error(ErrorCode::unavailable, fmt::format("{} has more than {} bytes", path, most_bytes));
    }
    file.seekg(0);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file && !file.eof()) refuse(path, "read");
    return text.str();
}

void write_text_file(const std::string& path, std::string_view text) {
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file) refuse(path, "written");
}

} // namespace verbena::tools
