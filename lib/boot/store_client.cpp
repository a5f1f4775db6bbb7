#include "boot/store_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <map>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <verbena/error.hpp>

#include "boot/codec.hpp"
#include "boot/store_connect.hpp"

namespace verbena::boot {
namespace {

using namespace std::chrono_literals;

constexpr auto grace = 1s;          ///< to learn who is missing, or that our goodbye has arrived
constexpr auto between_steps = 1ms; ///< of whoever has work to do while we wait
constexpr std::size_t read_bytes = 64 << 10;

void check_lengths(std::string_view what, std::string_view name, std::string_view value) {
    if (name.size() > max_name_bytes) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("the name of a {} has {} bytes, the limit is {}", what, name.size(), max_name_bytes));
    }
    if (value.size() > max_value_bytes) {
        throw Error(ErrorCode::invalid_argument, fmt::format("the value of {} \"{}\" has {} bytes, the limit is {}",
                                                             what, name, value.size(), max_value_bytes));
    }
}

std::string describe(const MissingRank& missing) {
    return missing.host.empty() ? fmt::format("{} (never joined)", missing.rank)
                                : fmt::format("{} (on {})", missing.rank, missing.host);
}

std::string describe(const Missing& missing) {
    std::string text;
    for (const MissingRank& rank : missing.ranks) text += (text.empty() ? "" : ", ") + describe(rank);
    if (missing.total > missing.ranks.size()) text += fmt::format(" and {} more", missing.total - missing.ranks.size());
    return fmt::format("{} {}", missing.total == 1 ? "rank" : "ranks", text);
}

} // namespace

class StoreClient::Impl {
  public:
    explicit Impl(const Options& options)
        : connection_(connect_to_store(options)),
          where_(host_and_port(options.host, options.port)),
          size_(options.size) {}

    void put(std::string_view key, std::string_view value) {
        check_lengths("key", key, value);
        check_connected(fmt::format("put of key \"{}\"", key));
        write(Put{std::string(key), std::string(value)});
    }

    std::string get(std::string_view key, Deadline deadline) {
        check_lengths("key", key, {});
        const auto started = std::chrono::steady_clock::now();
        const std::string what = fmt::format("get of key \"{}\"", key);
        value_.reset();
        check_connected(what);
        write(Get{++request_, std::string(key)});
        if (!wait(what, deadline, [this] { return value_.has_value(); })) {
            throw Error(ErrorCode::timed_out,
                        fmt::format("{}: no rank has put it within {}", what, in_seconds(deadline - started)));
        }
        return *std::exchange(value_, {});
    }

    std::vector<std::string> exchange(std::string_view name, std::string_view value, Deadline deadline) {
        check_lengths("exchange", name, value);
        const auto started = std::chrono::steady_clock::now();
        const std::string what = fmt::format("exchange \"{}\"", name);
        Gathering& gathering = gatherings_[std::string(name)];
        const auto is_over = [&] { return gathering.values.size() == size_ || gathering.unfinishable; };
        if (!is_over()) {
            check_connected(what);
            write(Contribute{std::string(name), gathering.round, std::string(value)});
            if (!wait(what, deadline, is_over)) ask_missing(what, name, gathering, deadline - started);
        }
        if (gathering.unfinishable) {
            throw Error(ErrorCode::peer_lost, fmt::format("{}: rank {} left the job without taking part in it", what,
                                                          describe(*gathering.unfinishable)));
        }
        ++gathering.round;
        return std::exchange(gathering.values, {});
    }

    std::vector<Lost> poll_lost() {
        if (is_open_) receive();
        return std::exchange(unreported_, {});
    }

    void leave() {
        if (!std::exchange(is_open_, false)) return;
        write(Leave{});
        shutdown(fd(), SHUT_WR);
        // Until the store closes too: a close with bytes unread would be a reset, and could overtake the goodbye.
        const Deadline deadline = std::chrono::steady_clock::now() + grace;
        std::array<char, read_bytes> unread;
        while (wait_for(fd(), POLLIN, deadline) && recv(fd(), unread.data(), unread.size(), 0) > 0) {
        }
    }

    void call_while_waiting(std::function<void()> step) { while_waiting_ = std::move(step); }

    [[nodiscard]] int fd() const noexcept { return connection_.fd.get(); }

  private:
    /// One name's exchange: the round that is under way, and what has come of it.
    struct Gathering {
        std::uint64_t round = 0;
        std::vector<std::string> values; ///< complete when there are size of them
        std::optional<MissingRank> unfinishable;
    };

    /// Handles what arrives until `is_done`; false once the deadline has passed. @throws Error when waiting is in vain.
    template <class Done>
    bool wait(const std::string& what, Deadline deadline, Done is_done) {
        while (true) {
            receive();
            if (is_done()) return true;
            check_connected(what);
            if (!while_waiting_) {
                if (!wait_for(fd(), POLLIN, deadline)) return false;
                continue;
            }
            while_waiting_();
            const Deadline now = std::chrono::steady_clock::now();
            if (now >= deadline) return false;
            (void)wait_for(fd(), POLLIN, std::min(deadline, now + between_steps));
        }
    }

    /// Returns when the exchange ended after all. @throws Error timed_out that names the missing ranks
    void ask_missing(const std::string& what, std::string_view name, Gathering& gathering,
                     std::chrono::nanoseconds waited) {
        missing_.reset();
        write(AskMissing{std::string(name), gathering.round});
        const auto is_complete = [&] { return gathering.values.size() == size_ || gathering.unfinishable; };
        const bool answered = wait(what, std::chrono::steady_clock::now() + grace,
                                   [&] { return is_complete() || (missing_ && missing_->name == name); });
        if (is_complete()) return;
        throw Error(ErrorCode::timed_out,
                    answered ? fmt::format("{}: {} of {} did not come within {}", what, describe(*missing_), size_,
                                           in_seconds(waited))
                             : fmt::format("{}: not over within {}, and the store at {} does not say who is missing",
                                           what, in_seconds(waited), where_),
                    "start the missing ranks, or give them more time with --connect-timeout (VERBENA_CONNECT_TIMEOUT)");
    }

    void check_connected(const std::string& what) {
        if (!lost_.empty()) {
            const Lost& first = lost_.front();
            throw Error(ErrorCode::peer_lost,
                        first.rank ? fmt::format("{}: rank {} is lost: {}", what, *first.rank, first.reason)
                                   : fmt::format("{}: {}", what, first.reason));
        }
        if (!is_open_) {
            throw Error(ErrorCode::unavailable,
                        fmt::format("{}: {}", what,
                                    has_closed_ ? fmt::format("the store at {} has closed: the job is over", where_)
                                                : "this rank has left the job"));
        }
    }

    void write(const Message& message) {
        std::string record;
        connection_.sealer.seal(encode(message), record);
        for (std::size_t sent = 0; sent < record.size();) {
            const ssize_t count = send(fd(), record.data() + sent, record.size() - sent, MSG_NOSIGNAL);
            if (count >= 0) {
                sent += static_cast<std::size_t>(count);
            } else if (errno == EAGAIN) {
                // Ends: a store that takes nothing for peer-timeout is given up by TCP_USER_TIMEOUT.
                [[maybe_unused]] const bool ready = wait_for(fd(), POLLOUT, Deadline::max());
            } else if (errno != EINTR) {
                return; // receive() finds out why, and what was said before
            }
        }
    }

    /// Takes what has arrived, without waiting.
    void receive() {
        std::array<char, read_bytes> bytes;
        while (is_open_) {
            const ssize_t got = recv(fd(), bytes.data(), bytes.size(), 0);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && errno == EAGAIN) return;
            if (got <= 0) {
                store_ended(got < 0 ? errno : 0);
                return;
            }
            try {
                connection_.opener.add({bytes.data(), static_cast<std::size_t>(got)});
                while (const auto message = connection_.opener.next()) handle(decode(*message));
            } catch (const Error& error) {
                lose_store(error.what());
            }
        }
    }

    void handle(Message&& message) {
        if (auto* value = std::get_if<Value>(&message)) {
            if (value->request == request_) value_ = std::move(value->value);
        } else if (auto* part = std::get_if<Gathered>(&message)) {
            gather(std::move(*part));
        } else if (auto* missing = std::get_if<Missing>(&message)) {
            missing_ = std::move(*missing);
        } else if (auto* end = std::get_if<Unfinishable>(&message)) {
            gatherings_[end->name].unfinishable = end->who;
        } else if (auto* rank = std::get_if<RankLost>(&message)) {
            add_lost({rank->rank, std::move(rank->reason)});
        } else if (const auto* left = std::get_if<RankLeft>(&message)) {
            unreported_.push_back({left->rank, "it left the job"}); // exchanges that do not need it go on
        } else if (std::holds_alternative<Closing>(message)) {
            has_closed_ = true;
            is_open_ = false;
        } else {
            Reader::violation("not one that a store sends");
        }
    }

    void gather(Gathered&& part) {
        Gathering& gathering = gatherings_[part.name];
        if (part.round != gathering.round || part.first_rank != gathering.values.size() ||
            part.values.size() > size_ - gathering.values.size()) {
            Reader::violation("values of an exchange out of order");
        }
        for (std::string& value : part.values) gathering.values.push_back(std::move(value));
    }

    void store_ended(int error) {
        const Cause cause{error == 0 ? Origin::none : Origin::system_errno, error, 0};
        lose_store(error == 0 ? "its process ended" : verbena::describe(cause));
    }

    void lose_store(const std::string& why) {
        is_open_ = false;
        add_lost({connection_.welcome.store_rank, fmt::format("the store at {} is gone: {}", where_, why)});
    }

    void add_lost(Lost lost) {
        lost_.push_back(lost);
        unreported_.push_back(std::move(lost));
    }

    StoreConnection connection_;
    std::string where_;
    std::uint32_t size_;
    bool is_open_ = true;
    bool has_closed_ = false; ///< the store said so
    std::vector<Lost> lost_;
    std::function<void()> while_waiting_;
    std::vector<Lost> unreported_; ///< by poll_lost()
    std::uint64_t request_ = 0;    ///< of the latest get; answers to earlier ones are dropped
    std::optional<std::string> value_;
    std::optional<Missing> missing_;
    std::map<std::string, Gathering> gatherings_;
};

StoreClient::StoreClient(const Options& options) : impl_(std::make_unique<Impl>(options)) {}

StoreClient::~StoreClient() { leave(); }

void StoreClient::put(std::string_view key, std::string_view value) { impl_->put(key, value); }

std::string StoreClient::get(std::string_view key, Deadline deadline) { return impl_->get(key, deadline); }

std::vector<std::string> StoreClient::exchange(std::string_view name, std::string_view value, Deadline deadline) {
    return impl_->exchange(name, value, deadline);
}

void StoreClient::barrier(std::string_view name, Deadline deadline) {
    [[maybe_unused]] const auto nothing = impl_->exchange(name, {}, deadline);
}

void StoreClient::call_while_waiting(std::function<void()> step) { impl_->call_while_waiting(std::move(step)); }
std::vector<Lost> StoreClient::poll_lost() { return impl_->poll_lost(); }

void StoreClient::leave() noexcept {
    try {
        impl_->leave();
    } catch (const std::exception&) {
        // Out of memory: the store takes this rank for lost, which is true enough.
    }
}

std::string StoreClient::local_host() const {
    const std::string text = describe(local_address(impl_->fd()));
    return text.substr(0, text.rfind(':'));
}

} // namespace verbena::boot
