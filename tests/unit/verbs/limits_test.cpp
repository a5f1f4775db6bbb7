/// Limits of the process and the device are named when they are met.
#include "link.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

using namespace verbena;
using namespace verbena::conformance;

namespace {

/// Lowers a limit for its lifetime.
class LoweredLimit {
  public:
    LoweredLimit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
        getrlimit(resource_, &before_);
        const rlimit lowered{value, before_.rlim_max};
        setrlimit(resource_, &lowered);
    }
    ~LoweredLimit() { setrlimit(resource_, &before_); }
    LoweredLimit(const LoweredLimit&) = delete;
    LoweredLimit& operator=(const LoweredLimit&) = delete;

  private:
    __rlimit_resource resource_;
    rlimit before_{};
};

/// CAP_IPC_LOCK lifts RLIMIT_MEMLOCK: out of the effective set for its lifetime.
class WithoutIpcLock {
  public:
    WithoutIpcLock() {
        syscall(SYS_capget, &header_, before_.data());
        auto reduced = before_;
        reduced[0].effective &= ~(1u << CAP_IPC_LOCK);
        syscall(SYS_capset, &header_, reduced.data());
    }
    ~WithoutIpcLock() { syscall(SYS_capset, &header_, before_.data()); }
    WithoutIpcLock(const WithoutIpcLock&) = delete;
    WithoutIpcLock& operator=(const WithoutIpcLock&) = delete;

  private:
    __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
    std::vector<__user_cap_data_struct> before_ = std::vector<__user_cap_data_struct>(2);
};

template <class Call>
Error error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return Error(ErrorCode::ok, "nothing was refused");
}

} // namespace

TEST_CASE("P36: a registration over RLIMIT_MEMLOCK names the limit, the need and where to raise it") {
    CONFORMANCE_PAIR(pair);
    std::vector<std::byte> memory(1u << 20);
    const LoweredLimit limit(RLIMIT_MEMLOCK, 65536);
    const WithoutIpcLock unprivileged;
    const Error error = error_of([&] { (void)pair.a->register_memory(memory, Access::messages); });
    INFO(error.what() << "\n" << error.advice());
    CHECK(error.code() == ErrorCode::exhausted);
    CHECK_THAT(error.what(), VERBENA_CONTAINS("ibv_reg_mr of 1048576 bytes"));
    CHECK_THAT(error.what(), VERBENA_CONTAINS("RLIMIT_MEMLOCK is 65536 bytes"));
    CHECK_THAT(error.advice(), VERBENA_CONTAINS("LimitMEMLOCK"));
}

TEST_CASE("P66: a completion queue without a free descriptor names limit and use, and the device goes on") {
    CONFORMANCE_PAIR(pair);
    Link link(pair);
    {
        const LoweredLimit limit(RLIMIT_NOFILE, 3);
        const Error error = error_of([&] { (void)pair.a->create_completion_queue(8); });
        CHECK(error.code() == ErrorCode::exhausted);
        CHECK_THAT(error.what(), VERBENA_CONTAINS("open files: limit 3"));
    }
    Buffer buffer(*pair.a, 8);
    const std::array sges{buffer.sge()};
    Buffer target(*pair.b, 8);
    link.a.post(request(1, wire::Opcode::rdma_write, sges, target.remote()));
    CHECK(link.wait_sent(link.a, 1));
}

TEST_CASE("a queue pair that is asked for too much names what was asked for and the limits") {
    CONFORMANCE_PAIR(pair);
    const auto cq = pair.a->create_completion_queue(8);
    wire::QueuePairOptions options;
    options.send_cq = options.receive_cq = cq.get();
    options.send_depth = 0x7fffffff;
    const Error error = error_of([&] { (void)pair.a->create_queue_pair(options); });
    INFO(error.what());
    CHECK_THAT(error.what(), VERBENA_CONTAINS("for 2147483647 send and 64 receive requests"));
    CHECK_THAT(error.what(), VERBENA_CONTAINS("max_qp_wr"));
}

TEST_CASE("a queue pair needs completion queues of its own device") {
    CONFORMANCE_PAIR(pair);
    const auto foreign = pair.b->create_completion_queue(8);
    wire::QueuePairOptions options;
    CHECK_THROWS_AS(pair.a->create_queue_pair(options), Error);
    options.send_cq = options.receive_cq = foreign.get();
    CHECK_THROWS_AS(pair.a->create_queue_pair(options), Error);
}
