/// `verbena ping`: a message there and back, the smallest proof that two ends reach each other.
#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/error.hpp>

#include "command.hpp"
#include "notice.hpp"
#include "pair.hpp"
#include "pattern.hpp"
#include "rates.hpp"
#include "session.hpp"
#include "statistics.hpp"

namespace verbena::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Tag request_tag = 1;
constexpr Tag reply_tag = 2;
constexpr Tag farewell_tag = 3;

struct Ping {
    PairOptions pair;
    std::uint64_t count = 5;
    std::string size = "64";
    std::string interval = "200ms";
};

/// Sends back whatever comes until the other end says farewell.
class Echo {
  public:
    Echo(Session& session, std::size_t bytes)
        : session_(session),
          region_(session.runtime().allocate(std::max<std::size_t>(bytes, 1))),
          memory_(region_.bytes().first(bytes)) {}

    void serve() {
        Operation farewell = session_.peer().receive({}, farewell_tag);
        for (;;) {
            Operation request = session_.peer().receive(memory_, request_tag);
            if (!arrives_before(request, farewell)) return;
            Operation reply = session_.peer().send(memory_, reply_tag);
            session_.finish(reply, "sending the reply");
        }
    }

  private:
    /// The other end sets the pace, so there is no limit; a lost peer ends both receives.
    bool arrives_before(Operation& request, Operation& farewell) {
        for (;;) {
            throw_if_interrupted();
            if (request.wait_for(std::chrono::milliseconds(10)).code != ErrorCode::timed_out) {
                session_.finish(request, "waiting for the next request");
                return true;
            }
            if (farewell.test()) {
                session_.finish(farewell, "waiting for the end");
                return false;
            }
        }
    }

    Session& session_;
    MemoryRegion region_;
    std::span<std::byte> memory_;
};

/// Sends, checks and times.
class Pinger {
  public:
    Pinger(Session& session, std::size_t bytes)
        : session_(session),
          region_(session.runtime().allocate(2 * std::max<std::size_t>(bytes, 1))),
          out_(region_.bytes().first(bytes)),
          in_(region_.bytes().last(bytes)) {}

    Microseconds round_trip(std::uint64_t sequence) {
        fill_pattern(out_, sequence);
        Operation reply = session_.peer().receive(in_, reply_tag);
        const auto begin = Clock::now();
        Operation request = session_.peer().send(out_, request_tag);
        session_.finish(reply, "waiting for the reply");
        const Microseconds time = Clock::now() - begin;
        session_.finish(request, "sending the request");
        if (const auto wrong = find_wrong(in_, sequence)) {
            throw Error(ErrorCode::internal, fmt::format("reply {}: byte {} is {:#04x} and should be {:#04x}", sequence,
                                                         wrong->offset, wrong->got, wrong->expected));
        }
        return time;
    }

    void say_farewell() {
        Operation farewell = session_.peer().send({}, farewell_tag);
        const Status status = farewell.wait_for(std::chrono::seconds(1));
        if (!status.ok()) notice(fmt::format("the other end was not told that this is over: {}", describe(status)));
    }

  private:
    Session& session_;
    MemoryRegion region_;
    std::span<std::byte> out_;
    std::span<std::byte> in_;
};

void idle_until(Runtime& runtime, Clock::time_point end) {
    while (Clock::now() < end && pending_interrupt() == 0) {
        if (runtime.progress() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

Record summary(std::uint64_t sent, std::vector<double>& times) {
    const Summary all = summarize(times);
    Record record{"summary", {whole("sent", "sent", sent), whole("received", "received", all.samples)}};
    if (all.samples == 0) return record;
    record.fields.push_back(real("minimum_us", "minimum", all.minimum, 1));
    record.fields.push_back(real("mean_us", "mean", all.mean, 1));
    record.fields.push_back(real("maximum_us", "maximum", all.maximum, 1));
    record.fields.push_back(real("deviation_us", "deviation", all.deviation, 1));
    return record;
}

void measure(Session& session, const Ping& ping, std::size_t bytes, const Options& options) {
    Output output("ping", options.json, options.color);
    output.block({"parameters", session.description()});
    const auto interval = parse_duration(ping.interval);
    Pinger pinger(session, bytes);
    const ClosesOnFailure guard(session);
    std::vector<double> times;
    std::uint64_t sent = 0;
    try {
        for (auto next = Clock::now(); sent < ping.count;
             next += std::chrono::duration_cast<Clock::duration>(interval)) {
            idle_until(session.runtime(), next);
            throw_if_interrupted();
            times.push_back(pinger.round_trip(++sent).count());
            output.line({"reply",
                         {whole("bytes", "bytes", bytes), whole("rank", "rank", session.peer().rank()),
                          whole("sequence", "seq", sent), real("round_trip_us", "time", times.back(), 1)}},
                        "{bytes} bytes from rank {rank}: seq={sequence} time={round_trip_us} us");
        }
    } catch (const Interrupted&) { // what there is so far is still summed up
    }
    pinger.say_farewell();
    const Record all = summary(sent, times);
    output.line(all, all.fields.size() > 2 ? "{sent} sent, {received} received; round trip min/mean/max/deviation = "
                                             "{minimum_us}/{mean_us}/{maximum_us}/{deviation_us} us"
                                           : "{sent} sent, {received} received");
    throw_if_interrupted();
}

int run(const Ping& ping, const Options& options) {
    const std::uint64_t bytes = parse_bytes(ping.size);
    const std::uint64_t limit = 1ull << 30;
    if (bytes > limit) {
        throw Error(ErrorCode::invalid_argument, fmt::format("--size {} is above {} B", ping.size, limit),
                    "`verbena perf` measures large messages");
    }
    static_cast<void>(parse_duration(ping.interval)); // wrong usage is said before anything is waited for
    const Role role = role_of(ping.pair, settings_of(options));
    if (role == Role::launch) return launch_pair(options);
    Session session(pair_settings(role, ping.pair, options, {"ping"}), options.verbosity);
    const bool is_pinger = role == Role::connect || (role == Role::member && session.runtime().rank() == 0);
    Parameters parameters;
    parameters.set("command", "ping");
    session.agree(parameters);
    // The end that listens need not be told what the other measures: it takes the size from there.
    const auto sizes = session.exchange(is_pinger ? fmt::format("{}", bytes) : std::string());
    if (is_pinger) {
        measure(session, ping, bytes, options);
    } else {
        const std::uint64_t asked = parse_bytes(sizes[session.peer().rank()]);
        Echo echo(session, std::min(asked, limit));
        const ClosesOnFailure guard(session);
        echo.serve();
    }
    return done;
}

} // namespace

Run add_ping(CLI::App& command) {
    auto ping = std::make_shared<Ping>();
    add_pair_options(command, ping->pair, true);
    command.add_option("-c,--count", ping->count, "round trips [5]")
        ->check(CLI::Range(1, 1 << 30).description(""))
        ->type_name("N");
    command.add_option("-s,--size", ping->size, "message size [64]")->type_name("BYTES");
    command.add_option("-i,--interval", ping->interval, "time from one round trip to the next [200ms]")
        ->type_name("DURATION");
    return [ping](const Options& options) { return run(*ping, options); };
}

} // namespace verbena::tools
