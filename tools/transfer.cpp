/// `verbena send` and `verbena receive`: a file between two processes, its hash compared at both ends.
#include <algorithm>
#include <array>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <verbena/error.hpp>
#include <verbena/version.hpp>

#include "command.hpp"
#include "file.hpp"
#include "file_hash.hpp"
#include "notice.hpp"
#include "pair.hpp"
#include "rates.hpp"
#include "session.hpp"
#include "sizes.hpp"

namespace verbena::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t chunk_bytes = 1u << 20;
constexpr std::size_t chunks_in_flight = 8;
constexpr Tag data_tag = 1;

struct Transfer {
    PairOptions pair;
    std::string path; ///< to send, or to receive into; empty: as the sender calls it
    bool may_replace = false;
};

/// Chunks in flight: each has memory of its own, and an operation that uses it.
class Ring {
  public:
    explicit Ring(Session& session) : memory_(session.runtime().allocate(chunk_bytes * chunks_in_flight)) {}

    [[nodiscard]] std::span<std::byte> chunk(std::uint64_t index, std::uint64_t total) const {
        const std::uint64_t begin = index * chunk_bytes;
        return memory_.bytes().subspan(index % chunks_in_flight * chunk_bytes,
                                       std::min<std::uint64_t>(chunk_bytes, total - begin));
    }
    [[nodiscard]] Operation& operation(std::uint64_t index) { return operations_[index % chunks_in_flight]; }
    [[nodiscard]] static std::uint64_t chunks(std::uint64_t total) { return (total + chunk_bytes - 1) / chunk_bytes; }

  private:
    MemoryRegion memory_;
    std::array<Operation, chunks_in_flight> operations_;
};

std::string send_all(Session& session, InputFile& file) {
    Ring ring(session);
    const ClosesOnFailure guard(session);
    FileHash hash;
    const std::uint64_t chunks = Ring::chunks(file.size());
    for (std::uint64_t i = 0; i < chunks; ++i) {
        session.finish(ring.operation(i), "sending the file"); // the one before in this place
        const std::span<std::byte> chunk = ring.chunk(i, file.size());
        file.read(chunk);
        hash.add(chunk);
        ring.operation(i) = session.peer().send(chunk, data_tag);
        if (i % 64 == 0) progress(fmt::format("{} of {} bytes sent", i * chunk_bytes, file.size()));
    }
    for (std::uint64_t i = 0; i < chunks_in_flight; ++i) session.finish(ring.operation(i), "sending the file");
    return hash.text();
}

std::string receive_all(Session& session, OutputFile& file, std::uint64_t total) {
    Ring ring(session);
    const ClosesOnFailure guard(session);
    FileHash hash;
    const std::uint64_t chunks = Ring::chunks(total);
    const auto post = [&](std::uint64_t i) {
        ring.operation(i) = session.peer().receive(ring.chunk(i, total), data_tag);
    };
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(chunks, chunks_in_flight); ++i) post(i);
    for (std::uint64_t i = 0; i < chunks; ++i) {
        const std::span<std::byte> chunk = ring.chunk(i, total);
        const std::uint64_t bytes = session.finish(ring.operation(i), "receiving the file");
        if (bytes != chunk.size()) {
            throw Error(ErrorCode::protocol_violation,
                        fmt::format("chunk {} of the file has {} bytes and should have {}", i, bytes, chunk.size()));
        }
        hash.add(chunk);
        file.write(chunk);
        if (i + chunks_in_flight < chunks) post(i + chunks_in_flight);
        if (i % 64 == 0) progress(fmt::format("{} of {} bytes received", i * chunk_bytes, total));
    }
    return hash.text();
}

/// What each end tells the other before the first byte.
struct Offer {
    std::string path;
    std::uint64_t bytes = 0;
};

/// Compares version and roles, and gets the sender's offer.
Offer agree_on_file(Session& session, const std::string& role, const Offer& own) {
    Parameters mine;
    mine.set("version", VERBENA_VERSION);
    mine.set("command", role);
    mine.set("name", own.path);
    mine.set("bytes", fmt::format("{}", own.bytes));
    const auto theirs = Parameters::decode(session.exchange(mine.encode())[session.peer().rank()]);
    const std::string_view wanted = role == "send" ? "receive" : "send";
    if (theirs.text("version") != VERBENA_VERSION || theirs.text("command") != wanted) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("this end is `verbena {}` {} and the other is `verbena {}` {}", role, VERBENA_VERSION,
                                theirs.text("command"), theirs.text("version")),
                    fmt::format("start `verbena {}` of the same version there", wanted));
    }
    return {std::string(theirs.text("name")), role == "send" ? own.bytes : parse_bytes(theirs.text("bytes"))};
}

/// Both ends have the hash of what passed through them; only where they are equal the file is complete.
void compare(Session& session, const std::string& hash) {
    const std::string theirs = session.exchange(hash)[session.peer().rank()];
    if (theirs != hash) {
        throw Error(ErrorCode::internal,
                    fmt::format("the file arrived altered: hash {} here, {} at the other end", hash, theirs),
                    "send it again; if that repeats, please report it");
    }
}

void print(const Options& options, const std::string& command, const std::string& path, std::uint64_t bytes,
           Seconds time, const std::string& hash) {
    progress("");
    Record record{
        "summary",
        {word("path", "path", path), whole("bytes", "bytes", bytes), real("seconds", "seconds", time.count(), 3)}};
    if (bytes != 0) {
        record.fields.push_back(real("rate_megabytes_per_second", "MB/s", megabytes_per_second(bytes, time), 1));
        record.fields.push_back(real("rate_gigabits_per_second", "Gb/s", gigabits_per_second(bytes, time), 3));
    }
    record.fields.push_back(word("blake2b_256", "BLAKE2b-256", hash));
    Output(command, options.json, options.color)
        .line(record,
              bytes != 0
                  ? "{path}: {bytes} bytes in {seconds} s, {rate_megabytes_per_second} MB/s "
                    "({rate_gigabits_per_second} Gb/s), files included; BLAKE2b-256 {blake2b_256}, equal at both ends"
                  : "{path}: empty; BLAKE2b-256 {blake2b_256}, equal at both ends");
}

Role role_for(const Transfer& transfer, const Options& options) { return role_of(transfer.pair, settings_of(options)); }

int send(const Transfer& transfer, const Options& options) {
    InputFile file(transfer.path);
    Session session(pair_settings(role_for(transfer, options), transfer.pair, options, {"receive"}), options.verbosity);
    agree_on_file(session, "send", {file.name(), file.size()});
    const auto begin = Clock::now();
    const std::string hash = send_all(session, file);
    compare(session, hash);
    const Seconds time = Clock::now() - begin;
    static_cast<void>(session.exchange("named")); // the receiver has it under its name, or has failed
    print(options, "send", transfer.path, file.size(), time, hash);
    return done;
}

int receive(const Transfer& transfer, const Options& options) {
    Session session(pair_settings(role_for(transfer, options), transfer.pair, options, {"send", "FILE"}),
                    options.verbosity);
    const Offer offer = agree_on_file(session, "receive", {});
    OutputFile file(transfer.path.empty() ? checked_file_name(offer.path) : transfer.path, transfer.may_replace);
    const auto begin = Clock::now();
    const std::string hash = receive_all(session, file, offer.bytes);
    compare(session, hash);
    const Seconds time = Clock::now() - begin;
    file.complete();
    static_cast<void>(session.exchange("named"));
    print(options, "receive", file.path(), offer.bytes, time, hash);
    return done;
}

} // namespace

Run add_send(CLI::App& command) {
    auto transfer = std::make_shared<Transfer>();
    command.add_option("FILE", transfer->path, "what to send")->required();
    add_pair_options(command, transfer->pair, false);
    return [transfer](const Options& options) { return send(*transfer, options); };
}

Run add_receive(CLI::App& command) {
    auto transfer = std::make_shared<Transfer>();
    add_pair_options(command, transfer->pair, false);
    command.add_option("-o,--output", transfer->path, "where to put it [the sender's name for it, here]")
        ->type_name("PATH");
    command.add_flag("--replace", transfer->may_replace, "replace a file that is there already");
    return [transfer](const Options& options) { return receive(*transfer, options); };
}

} // namespace verbena::tools
