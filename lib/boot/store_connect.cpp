#include "boot/store_connect.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <thread>

#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "boot/codec.hpp"

namespace verbena::boot {
namespace {

using namespace std::chrono_literals;

constexpr auto attempt_limit = 5s; ///< for one address, so that a dead one does not take all the time
constexpr auto first_pause = 10ms;
constexpr auto longest_pause = 250ms;

/// A failure that may be gone at the next attempt; Error itself ends the attempts.
struct TryAgain {
    ErrorCode code = ErrorCode::unavailable;
    std::string sentence;
    std::string advice;
    Cause cause{};
};

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const StoreClient::Options& options) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    const int result = getaddrinfo(options.host.c_str(), std::to_string(options.port).c_str(), &hints, &found);
    if (result != 0) {
        // Where names are made with the processes they belong to, a name may come later.
        throw TryAgain{
            ErrorCode::unavailable,
            fmt::format("the store's host \"{}\" does not resolve: {}", options.host, gai_strerror(result)),
            fmt::format("check the host in --store (VERBENA_STORE), and `getent hosts {}` on this host", options.host)};
    }
    return {found, freeaddrinfo};
}

[[noreturn]] void connect_failed(const std::string& where, int error) {
    const Cause cause{Origin::system_errno, error, 0};
    if (error == ECONNREFUSED) {
        throw TryAgain{ErrorCode::unavailable,
                       fmt::format("the store at {} refused the connection: nothing listens there", where),
                       "is rank 0 running on that host, and is the port the same on every rank?", cause};
    }
    if (error == ETIMEDOUT) {
        throw TryAgain{ErrorCode::timed_out, fmt::format("the store at {} gave no answer", where),
                       "is the host up, and does a firewall drop the port?", cause};
    }
    throw TryAgain{
        ErrorCode::unavailable, fmt::format("connecting to the store at {}: {}", where, describe(cause)), {}, cause};
}

/// Inside the range of ephemeral ports, connecting to a port of this host where nobody listens can meet itself.
bool is_connected_to_itself(int fd) { return describe(local_address(fd)) == describe(peer_address(fd)); }

FileDescriptor connect_address(const addrinfo& address, Deadline deadline) {
    SocketAddress target;
    std::copy_n(reinterpret_cast<const char*>(address.ai_addr), address.ai_addrlen,
                reinterpret_cast<char*>(&target.storage));
    target.length = address.ai_addrlen;
    const std::string where = describe(target);
    FileDescriptor fd(socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) connect_failed(where, errno);
    if (connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
        if (errno != EINPROGRESS) connect_failed(where, errno);
        if (!wait_for(fd.get(), POLLOUT, deadline)) connect_failed(where, ETIMEDOUT);
        int error = 0;
        socklen_t length = sizeof error;
        getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
        if (error != 0) connect_failed(where, error);
    }
    if (is_connected_to_itself(fd.get())) connect_failed(where, ECONNREFUSED);
    return fd;
}

/// Talks to what listens at `where` until `deadline`, a message at a time.
class Greeting {
  public:
    Greeting(int fd, std::string where, Deadline deadline) : fd_(fd), where_(std::move(where)), deadline_(deadline) {}

    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t count = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count >= 0)
                bytes.remove_prefix(static_cast<std::size_t>(count));
            else
                wait_or_fail(POLLOUT);
        }
    }
    void write(const auto& bytes) { write({reinterpret_cast<const char*>(bytes.data()), bytes.size()}); }

    void read(unsigned char* to, std::size_t count) {
        while (count > 0) {
            const ssize_t got = recv(fd_, to, count, 0);
            if (got == 0) closed(0);
            if (got < 0) {
                wait_or_fail(POLLIN);
                continue;
            }
            to += got;
            count -= static_cast<std::size_t>(got);
        }
    }
    [[nodiscard]] Message read_message(Opener& opener) {
        while (true) {
            if (const auto message = opener.next()) return decode(*message);
            unsigned char byte = 0; // Welcome is short; nothing behind it may be taken here
            read(&byte, 1);
            opener.add({reinterpret_cast<const char*>(&byte), 1});
        }
    }

  private:
    void wait_or_fail(short events) {
        if (errno == EINTR) return;
        if (errno != EAGAIN) closed(errno);
        if (!wait_for(fd_, events, deadline_)) {
            throw TryAgain{ErrorCode::timed_out,
                           fmt::format("what listens at {} took the connection and gave no answer", where_),
                           "is it the store, and is its process stopped?"};
        }
    }
    [[noreturn]] void closed(int error) const {
        throw TryAgain{ErrorCode::unavailable,
                       fmt::format("what listens at {} closed the connection without an answer", where_),
                       "is it the store, or did another program take its port?", Cause{Origin::system_errno, error, 0}};
    }

    int fd_;
    std::string where_;
    Deadline deadline_;
};

void check_version(const HelloBytes& hello, const std::string& where) {
    const auto head = read_hello_head(hello.data());
    if (!head) {
        throw Error(ErrorCode::refused, fmt::format("what listens at {} is not a verbena store", where),
                    "choose a port for the store that no other program uses");
    }
    if (head->version != protocol_version) {
        throw Error(ErrorCode::refused,
                    fmt::format("the store at {} speaks protocol version {}, this process version {}", where,
                                head->version, protocol_version),
                    "run the same version of verbena in every rank");
    }
}

[[noreturn]] void other_secret(const std::string& where, const char* what) {
    throw Error(ErrorCode::refused, fmt::format("the store at {} {}", where, what),
                "give every rank the same secret: secret-file (VERBENA_SECRET_FILE) or VERBENA_SECRET");
}

Session prove_secret(Greeting& greeting, const Key& key, const std::string& where) {
    const HelloBytes ours = make_hello(Answer::accepted, random_nonce());
    greeting.write(ours);
    // The rest of it only then: a refusal of another version may be shorter.
    HelloBytes theirs{};
    greeting.read(theirs.data(), hello_head_bytes);
    check_version(theirs, where);
    greeting.read(theirs.data() + hello_head_bytes, hello_bytes - hello_head_bytes);
    Session session(key, ours, theirs);
    greeting.write(session.proof(Role::client));
    std::array<unsigned char, verdict_bytes> verdict;
    greeting.read(verdict.data(), verdict.size());
    if (load_little<std::uint32_t>(verdict.data()) != 0)
        other_secret(where, "refused this rank: its secret is another one");
    if (!session.is_proof(Role::store, verdict.data() + sizeof(std::uint32_t)))
        other_secret(where, "does not know the secret");
    return session;
}

void check_admission(const Welcome& welcome, const StoreClient::Options& options, const std::string& where) {
    const std::string at = welcome.holder.empty() ? std::string() : fmt::format(" on {}", welcome.holder);
    switch (welcome.admission) {
    case Admission::admitted:
        return;
    case Admission::other_size:
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the store at {} expects {} ranks, this process was started as one of {}", where,
                                welcome.size, options.size),
                    "start every rank with the same --size (VERBENA_SIZE)");
    case Admission::rank_range:
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("rank {} is not below size {}", options.rank, welcome.size),
                    "ranks count from 0: give each process its own --rank (VERBENA_RANK)");
    case Admission::rank_taken:
        throw Error(ErrorCode::refused, fmt::format("rank {} is taken by another process{}", options.rank, at),
                    "give each process its own --rank (VERBENA_RANK)");
    case Admission::rank_is_over:
        throw TryAgain{
            ErrorCode::refused,
            fmt::format("rank {}{} left this job or was lost, and other ranks of it are still at the store at {}",
                        options.rank, at, where),
            "end the other ranks before the job is started again"};
    }
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : ""; // shown to people, never resolved
}

StoreConnection join_at(const addrinfo& address, const Key& key, const StoreClient::Options& options,
                        Deadline deadline) {
    FileDescriptor fd = connect_address(address, deadline);
    watch_peer(fd.get(), options.peer_timeout);
    const std::string where = describe(peer_address(fd.get()));
    Greeting greeting(fd.get(), where, deadline);
    const Session session = prove_secret(greeting, key, where);
    Sealer sealer(session.record_key(Role::client));
    Opener opener(session.record_key(Role::store));
    std::string record;
    sealer.seal(encode(Join{options.rank, options.size, host_name()}), record);
    greeting.write(record);
    const Message answer = greeting.read_message(opener);
    const auto* welcome = std::get_if<Welcome>(&answer);
    if (welcome == nullptr) Reader::violation("the store's first is not Welcome");
    check_admission(*welcome, options, where);
    return {std::move(fd), std::move(sealer), std::move(opener), *welcome};
}

/// One round over every address of the host.
StoreConnection attempt(const Key& key, const StoreClient::Options& options, Deadline deadline) {
    const Addresses addresses = resolve(options);
    for (const addrinfo* address = addresses.get();; address = address->ai_next) {
        try {
            return join_at(*address, key, options,
                           std::min<Deadline>(deadline, std::chrono::steady_clock::now() + attempt_limit));
        } catch (const TryAgain&) {
            if (address->ai_next == nullptr) throw;
        }
    }
}

} // namespace

StoreConnection connect_to_store(const StoreClient::Options& options) {
    const Key key = key_from(options.secret);
    const Deadline deadline = std::chrono::steady_clock::now() + options.connect_timeout;
    for (std::chrono::nanoseconds pause = first_pause;;
         pause = std::min<std::chrono::nanoseconds>(2 * pause, longest_pause)) {
        try {
            return attempt(key, options, deadline);
        } catch (const TryAgain& failure) {
            if (std::chrono::steady_clock::now() + pause >= deadline) {
                throw Error(failure.code,
                            fmt::format("{} (tried for {})", failure.sentence, in_seconds(options.connect_timeout)),
                            failure.advice, failure.cause);
            }
        }
        std::this_thread::sleep_for(pause);
    }
}

} // namespace verbena::boot
