/// `verbena order-check`: the pairs of a recorded trace that nothing ordered.
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/error.hpp>
#include <verbena/order_check.hpp>

#include "command.hpp"
#include "notice.hpp"

namespace verbena::tools {
namespace {

OrderReport check(const std::string& path) {
    std::ifstream trace(path);
    if (!trace) {
        throw Error(ErrorCode::unavailable, fmt::format("cannot read {}", path),
                    "a trace is PATH.RANK, with PATH the setting order-trace of the program");
    }
    return check_order(trace);
}

int order_check(const std::vector<std::string>& paths, const Options& options) {
    Output output("order-check", options.json, options.color);
    std::uint64_t conflicts = 0;
    for (const std::string& path : paths) {
        const OrderReport report = check(path);
        conflicts += report.conflicts.size();
        for (const OrderConflict& each : report.conflicts) {
            output.line(
                {"conflict",
                 {whole("rank", "rank", report.rank), whole("earlier", "earlier", each.earlier),
                  word("earlier_what", "", each.earlier_what), whole("later", "later", each.later),
                  word("later_what", "", each.later_what), whole("peer", "peer", each.peer),
                  word("where", "where", each.at_peer ? fmt::format("of rank {}", each.peer) : "here"),
                  word("address", "address", fmt::format("{:#x}", each.address)),
                  whole("size_bytes", "bytes", each.bytes), word("remedy", "remedy", each.remedy)}},
                "rank {rank}: operations {earlier} ({earlier_what}) and {later} ({later_what}) are unordered and "
                "share {size_bytes} bytes at {address} {where}: {remedy}");
        }
        output.line({"summary",
                     {word("file", "file", path), whole("rank", "rank", report.rank),
                      whole("operations", "operations", report.operations), whole("fences", "fences", report.fences),
                      whole("conflicts", "conflicts", report.conflicts.size())}},
                    "{file}: {operations} operations of rank {rank}, {fences} fences, {conflicts} unordered pairs");
    }
    return conflicts == 0 ? done : found_failure;
}

} // namespace

Run add_order_check(CLI::App& command) {
    auto paths = std::make_shared<std::vector<std::string>>();
    command.add_option("trace", *paths, "trace files, one a rank")->required()->type_name("TRACE");
    return [paths](const Options& options) { return order_check(*paths, options); };
}

} // namespace verbena::tools
