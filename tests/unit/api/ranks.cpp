#include "ranks.hpp"

#include <array>
#include <csignal>
#include <stdexcept>
#include <vector>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace verbena::testing {
namespace {

/// A port of the loopback interface that was free a moment ago.
std::uint16_t free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
        throw std::runtime_error("no port is free");
    }
    ::close(socket);
    return ntohs(address.sin_port);
}

std::string run_one(std::uint32_t rank, std::uint32_t ranks, std::uint16_t port,
                    const std::function<std::string(Runtime&)>& body, const std::function<void(Settings&)>& change) {
    try {
        Settings settings;
        settings.set("rank", std::to_string(rank));
        settings.set("size", std::to_string(ranks));
        settings.set("local-size", std::to_string(ranks));
        settings.set("store", fmt::format("127.0.0.1:{}", port));
        settings.set("secret", "a test's");
        settings.set("wire", "shm");
        if (change) change(settings);
        Runtime runtime(settings);
        std::string complaint = body(runtime);
        runtime.close();
        return complaint;
    } catch (const std::exception& error) {
        return error.what();
    }
}

} // namespace

std::string run_ranks(std::uint32_t ranks, const std::function<std::string(Runtime&)>& body,
                      const std::function<void(Settings&)>& change) {
    const std::uint16_t port = free_port();
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw std::runtime_error("no pipe");
    std::vector<pid_t> children;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        const pid_t child = ::fork();
        if (child < 0) throw std::runtime_error("no process");
        if (child > 0) {
            children.push_back(child);
            continue;
        }
        ::close(pipe[0]);
        const std::string complaint = run_one(rank, ranks, port, body, change);
        if (!complaint.empty()) {
            const std::string line = fmt::format("rank {}: {}\n", rank, complaint);
            [[maybe_unused]] const ssize_t written = ::write(pipe[1], line.data(), line.size());
        }
        ::_exit(0); // the parent's test report is not this process's to write
    }
    ::close(pipe[1]);
    std::string complaints;
    std::array<char, 4096> text;
    for (ssize_t got = 0; (got = ::read(pipe[0], text.data(), text.size())) > 0;)
        complaints.append(text.data(), static_cast<std::size_t>(got));
    ::close(pipe[0]);
    for (const pid_t child : children) {
        int status = 0;
        ::waitpid(child, &status, 0);
        if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
            complaints += fmt::format("a rank ended by signal {}\n", WTERMSIG(status));
    }
    return complaints;
}

} // namespace verbena::testing
