/// @file
/// A second process with a device of its own. It starts by fork, before this process opens a device: libfabric keeps
/// threads and shared memory that do not survive a fork, so such a test of it is a program of its own run by itself.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verbena/memory.hpp>

#include "wire/device.hpp"

namespace verbena::testing {

/// One end: a device, its queues, one page of registered memory.
struct End {
    std::unique_ptr<wire::Device> device;
    std::unique_ptr<wire::CompletionQueue> cq;
    std::vector<std::byte> memory = std::vector<std::byte>(4096);
    std::unique_ptr<wire::QueuePair> qp;
    std::unique_ptr<wire::MemoryRegion> region;
    wire::PeerHandle peer{};
    wire::RemoteAddress remote{}; ///< the other end's memory

    explicit End(std::unique_ptr<wire::Device> opened) : device(std::move(opened)) {
        cq = device->create_completion_queue(256);
        wire::QueuePairOptions options;
        options.send_cq = options.receive_cq = cq.get();
        options.inline_bytes = 64;
        qp = device->create_queue_pair(options);
        region = device->register_memory(memory, Access::messages | Access::remote_write);
    }

    /// Exchanges addresses over a packet socket.
    void meet(int socket) {
        struct {
            std::uint64_t address, rkey;
        } own{region->remote_address(memory.data()), region->rkey().value}, other{};
        const wire::Address address = qp->address();
        std::vector<std::byte> theirs(wire::max_address_bytes);
        if (write(socket, address.data(), address.size()) < 0 || write(socket, &own, sizeof(own)) < 0) {
            throw std::runtime_error("the other process is gone");
        }
        const ssize_t length = read(socket, theirs.data(), theirs.size());
        if (length <= 0 || read(socket, &other, sizeof(other)) != sizeof(other)) {
            throw std::runtime_error("the other process is gone");
        }
        theirs.resize(static_cast<std::size_t>(length));
        if (device->capabilities().connected) {
            qp->connect(theirs);
        } else {
            peer = qp->resolve(theirs);
        }
        remote = {other.address, {other.rkey}};
    }

    wire::PostResult post(wire::Opcode opcode, std::uint64_t wr_id, std::size_t offset, std::uint32_t length,
                          std::uint32_t immediate = 0) {
        const wire::Sge sge{memory.data() + offset, length, region->lkey()};
        wire::WorkRequest request;
        request.wr_id = wr_id;
        request.opcode = opcode;
        request.flags = wire::signaled;
        request.immediate = immediate;
        request.sges = {&sge, 1};
        request.remote = remote;
        request.peer = peer;
        return qp->post_send({&request, 1});
    }
    wire::PostResult post_receive(std::uint64_t wr_id, std::size_t offset, std::uint32_t length) {
        const wire::Sge sge{memory.data() + offset, length, region->lkey()};
        const wire::ReceiveRequest request{wr_id, {&sge, 1}};
        return qp->post_receive({&request, 1});
    }
};

/// Runs `body(End&, socket)` in a child, on the device that `open()` gives there; the child ends with its result.
/// kill() ends it at once.
class OtherProcess {
  public:
    template <class Open, class Body>
    OtherProcess(Open open, Body body) {
        int sockets[2];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) throw std::runtime_error("socketpair");
        pid_ = fork();
        if (pid_ == 0) {
            close(sockets[0]);
            int result = 1;
            try {
                End end(open());
                end.meet(sockets[1]);
                result = body(end, sockets[1]);
            } catch (const std::exception&) {
                // The parent sees a socket that closed and an exit status that is not 0.
            }
            _exit(result);
        }
        close(sockets[1]);
        socket_ = sockets[0];
    }
    ~OtherProcess() {
        kill();
        for (const auto& path : leftovers_) std::filesystem::remove(path);
        close(socket_);
    }
    OtherProcess(const OtherProcess&) = delete;
    OtherProcess& operator=(const OtherProcess&) = delete;

    [[nodiscard]] int socket() const { return socket_; }
    [[nodiscard]] pid_t pid() const { return pid_; }
    void kill() {
        if (pid_ <= 0) return;
        const std::string prefix = std::to_string(pid_) + ":";
        ::kill(pid_, SIGKILL);
        (void)wait();
        // The shm provider of libfabric names its region after the process, and a killed process cannot remove it.
        for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
            if (entry.path().filename().string().starts_with(prefix)) leftovers_.push_back(entry.path());
        }
    }
    /// Exit status; -1 when it did not exit by itself.
    int wait() {
        int status = 0;
        if (pid_ <= 0 || waitpid(pid_, &status, 0) != pid_) return -1;
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

  private:
    pid_t pid_ = -1;
    int socket_ = -1;
    std::vector<std::filesystem::path> leftovers_; ///< removed last: until then the survivor has them mapped
};

/// Polls until `count` completions are there; false when the other process ends before.
inline bool collect(End& end, std::size_t count, std::vector<wire::Completion>& seen, int socket) {
    std::array<wire::Completion, 16> batch;
    while (seen.size() < count) {
        const std::size_t found = end.cq->poll(batch);
        seen.insert(seen.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(found));
        char byte = 0;
        if (found == 0 && recv(socket, &byte, 1, MSG_DONTWAIT) == 0) return false;
    }
    return true;
}

/// Sends each message back until the socket says that the other end is done.
inline int echo(End& end, int socket) {
    for (std::uint64_t i = 0; i < 32; ++i) end.post_receive(i, 64 * i, 64);
    std::array<wire::Completion, 16> batch;
    char byte = 0;
    while (recv(socket, &byte, 1, MSG_DONTWAIT) != 1) {
        const std::size_t found = end.cq->poll(batch);
        for (const wire::Completion& each : std::span(batch).first(found)) {
            if (each.status != wire::CompletionStatus::success) return 2;
            if (!each.is_receive) {
                if (end.post_receive(each.wr_id, 64 * each.wr_id, 64).accepted != 1) return 3;
                continue;
            }
            if (end.post(wire::Opcode::send_with_imm, each.wr_id, 64 * each.wr_id, each.byte_count, each.immediate + 1)
                    .accepted != 1) {
                return 4;
            }
        }
    }
    return 0;
}

} // namespace verbena::testing
