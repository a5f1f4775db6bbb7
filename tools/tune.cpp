/// `verbena tune`: measures what the choice of algorithms goes by, on the job's own fabric.
#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/error.hpp>

#include "command.hpp"
#include "launch.hpp"
#include "notice.hpp"
#include "rates.hpp"
#include "session.hpp"
#include "text_file.hpp"

namespace verbena::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t small_bytes = 8;
constexpr std::size_t large_bytes = 1 << 20;
constexpr std::size_t small_turns = 1000;
constexpr std::size_t large_turns = 100;

struct Tune {
    std::uint32_t ranks = 0;
    std::string output = "cost-model.json";
};

struct Figures {
    double latency_ns = 0;
    double transfer_ns_per_byte = 0;
    double reduction_ns_per_byte = 0;
    double copy_ns_per_byte = 0;
};

/// Of `turns` runs after a tenth as many to warm up.
template <class Turn>
double median_ns(std::size_t turns, Turn turn) {
    for (std::size_t i = 0; i < turns / 10; ++i) turn();
    std::vector<double> times;
    for (std::size_t i = 0; i < turns; ++i) {
        const auto begin = Clock::now();
        turn();
        times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    }
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

class Measurement {
  public:
    explicit Measurement(Session& session)
        : session_(session), memory_(session.runtime().allocate(2 * large_bytes)), pair_(pair_of(session)) {}

    /// Ranks 0 and 1 measure, the others wait for them.
    Figures run() {
        Figures figures;
        if (pair_) {
            const double small = round_trip(small_bytes, small_turns);
            const double large = round_trip(large_bytes, large_turns);
            figures.latency_ns = small / 2;
            figures.transfer_ns_per_byte = std::max(0.0, large / 2 - figures.latency_ns) / large_bytes;
            const double reduced = median_ns(large_turns, [&] { all_reduce(); });
            figures.reduction_ns_per_byte = std::max(0.0, reduced - large / 2) / large_bytes;
            const double copied = median_ns(large_turns, [&] {
                session_.runtime().copy(memory_.data() + large_bytes, memory_.data(), large_bytes);
            });
            figures.copy_ns_per_byte = copied / large_bytes;
        }
        Operation everybody = session_.runtime().world().barrier();
        session_.finish(everybody, "waiting for the measurement");
        return figures;
    }

  private:
    static std::optional<Group> pair_of(Session& session) {
        Group world = session.runtime().world();
        return world.split(world.rank() < 2 ? 0 : -1);
    }

    double round_trip(std::size_t bytes, std::size_t turns) {
        const std::uint32_t rank = session_.runtime().rank();
        Endpoint peer = session_.runtime().endpoint(1 - rank);
        const std::span<std::byte> message(memory_.data(), bytes);
        return median_ns(turns, [&] {
            if (rank == 0) {
                Operation sent = peer.send(message);
                Operation answered = peer.receive(message);
                session_.finish(sent, "sending");
                session_.finish(answered, "the answer");
            } else {
                Operation received = peer.receive(message);
                session_.finish(received, "receiving");
                Operation sent = peer.send(message);
                session_.finish(sent, "answering");
            }
        });
    }
    void all_reduce() {
        Operation operation = pair_->all_reduce(memory_.data(), memory_.data() + large_bytes, large_bytes / 4,
                                                DataType::f32, ReduceOp::sum, "recursive_doubling");
        session_.finish(operation, "the all-reduce");
    }

    Session& session_;
    MemoryRegion memory_;
    std::optional<Group> pair_; ///< ranks 0 and 1
};

std::string text_of(const Figures& figures, const std::string& where) {
    return fmt::format(
        "{{\n  \"verbena_cost_model\": 1,\n  \"latency_ns\": {:.1f},\n  \"transfer_ns_per_byte\": {:.5f},\n"
        "  \"reduction_ns_per_byte\": {:.5f},\n  \"copy_ns_per_byte\": {:.5f},\n"
        "  \"measured_on\": \"{}\"\n}}\n",
        figures.latency_ns, figures.transfer_ns_per_byte, figures.reduction_ns_per_byte, figures.copy_ns_per_byte,
        where);
}

int run(const Tune& tune, const Options& options) {
    const Settings settings = settings_of(options);
    if (!settings.is_set("rank") && tune.ranks != 0)
        return launch({.ranks = tune.ranks, .command = own_command(options.arguments), .report_exit_status = false});
    Session session(settings, options.verbosity);
    Runtime& runtime = session.runtime();
    if (runtime.size() < 2) {
        throw Error(ErrorCode::invalid_argument, "one rank has no fabric to measure",
                    "start two or more: verbena tune -n 2, or under a launcher");
    }
    Parameters parameters;
    parameters.set("command", "tune");
    session.agree(parameters);
    Measurement measurement(session);
    const ClosesOnFailure guard(session);
    const Figures figures = measurement.run();
    if (runtime.rank() == 0) {
        const std::string where = fmt::format("{}, {} ranks", runtime.selection().backend, runtime.size());
        write_text_file(tune.output, text_of(figures, where));
        Output output("tune", options.json, options.color);
        output.block({"result",
                      {real("latency_ns", "latency, ns", figures.latency_ns, 1),
                       real("transfer_ns_per_byte", "transfer, ns a byte", figures.transfer_ns_per_byte, 5),
                       real("reduction_ns_per_byte", "reduction, ns a byte", figures.reduction_ns_per_byte, 5),
                       real("copy_ns_per_byte", "copy, ns a byte", figures.copy_ns_per_byte, 5),
                       word("file", "written to", tune.output)}});
    }
    static_cast<void>(session.exchange("end"));
    return done;
}

} // namespace

Run add_tune(CLI::App& command) {
    auto tune = std::make_shared<Tune>();
    command
        .add_option("-n,--ranks", tune->ranks,
                    "start so many ranks on this machine; without it a launcher says who we are")
        ->check(CLI::Range(2, 4096).description(""))
        ->type_name("N");
    command.add_option("-o,--output", tune->output, "file for the cost model [cost-model.json]")->type_name("FILE");
    return [tune](const Options& options) { return run(*tune, options); };
}

} // namespace verbena::tools
