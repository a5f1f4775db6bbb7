#include <verbena/settings.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include <verbena/error.hpp>

namespace verbena {
namespace {

enum class Form : std::uint8_t { text, number, bytes, duration, choice };

/// One row a setting: the only place where a setting, its default and its bounds are written.
struct Row {
    std::string_view name;
    Form form;
    std::string_view value;
    std::string_view unit;
    std::int64_t minimum;
    std::int64_t maximum;
    std::string_view description; ///< for Form::choice it ends in the accepted words, "...: a, b, c"
};

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

// Depths, timers and retries are within what UCX, NCCL and perftest use; where ours differ (retry-count 6) it says why.
constexpr std::array rows = {
    Row{"rank", Form::number, "", "", 0, 1 << 24, "this process's rank; a launcher gives it"},
    Row{"size", Form::number, "", "ranks", 1, 1 << 24, "number of ranks of the job; a launcher gives it"},
    Row{"local-rank", Form::number, "", "", 0, 1 << 16, "rank among those of this host"},
    Row{"local-size", Form::number, "", "ranks", 1, 1 << 16, "ranks on this host"},
    Row{"store", Form::text, "", "host:port", 0, 0,
        "where the ranks meet; rank 0 listens there unless a launcher does"},
    Row{"store-external", Form::choice, "no", "", 0, 0, "something else listens at the store's address: yes, no"},
    Row{"bind", Form::text, "", "address", 0, 0, "address the store listens on; empty: every one"},
    Row{"advertise", Form::text, "", "address", 0, 0, "address told to peers, where it differs from the bound one"},
    Row{"interface", Form::text, "", "", 0, 0, "network interface whose address is advertised; empty: by rule"},
    Row{"secret", Form::text, "", "", 0, 0, "the job's shared secret; prefer secret-file or the environment"},
    Row{"secret-file", Form::text, "", "path", 0, 0, "file that holds the secret"},
    Row{"connect-timeout", Form::duration, "30s", "duration", 0, no_limit,
        "limit for finding and connecting every rank"},
    Row{"operation-timeout", Form::duration, "60s", "duration", 0, no_limit, "limit of Operation::wait()"},
    Row{"collective-timeout", Form::duration, "", "duration", 1'000'000, no_limit,
        "a collective whose ranks are not all there by then is over; empty: 3/4 of operation-timeout"},
    Row{"close-timeout", Form::duration, "2s", "duration", 0, no_limit,
        "limit for work on its way when a runtime closes"},
    Row{"peer-timeout", Form::duration, "10s", "duration", 1'000'000'000, no_limit,
        "a host that answers nothing for so long is lost"},
    Row{"wire", Form::text, "auto", "", 0, 0, "backend: auto, verbs, shm, ofi"},
    Row{"transport", Form::choice, "auto", "", 0, 0, "of the backend verbs: auto, rc, ud"},
    Row{"ud-from", Form::number, "64", "ranks", 2, 1 << 24,
        "transport auto takes ud for a job of so many ranks, rc below"},
    Row{"ud-timeout", Form::duration, "30s", "duration", 1'000'000'000, no_limit,
        "over UD, a peer whose process acknowledges nothing for so long is lost"},
    Row{"device", Form::text, "", "", 0, 0,
        "device (rxe1, mlx5_0) or its network interface (eth0), shm, or libfabric provider (tcp, shm); empty: by rule"},
    Row{"port", Form::number, "", "", 1, 255, "port of the device; empty: the first ACTIVE one"},
    Row{"gid-index", Form::number, "", "", 0, 65535, "entry of the port's GID table; empty: by rule"},
    Row{"mtu", Form::bytes, "4096", "bytes", 256, 4096, "upper bound on the path MTU"},
    Row{"ack-timeout", Form::number, "14", "code", 0, 31, "transport timer: 4.096 us * 2^code"},
    Row{"retry-count", Form::number, "6", "", 0, 7, "transport retries; 7 is for ever on Soft-RoCE"},
    Row{"send-depth", Form::number, "128", "requests", 1, 32768, "work requests asked for on a send queue"},
    Row{"receive-window", Form::number, "64", "messages", 1, 16384, "messages one peer may have on the way to us"},
    Row{"eager-limit", Form::bytes, "8KiB", "bytes", 64, 1 << 20,
        "largest message that is copied; larger ones are fetched by RDMA READ"},
    Row{"inline-limit", Form::bytes, "220", "bytes", 0, 4096,
        "largest payload posted inside a work request; less may be granted"},
    Row{"unexpected-limit", Form::bytes, "64MiB", "bytes", 0, no_limit,
        "messages kept for receives not yet posted; beyond it the senders wait"},
    Row{"backlog-limit", Form::bytes, "256MiB", "bytes", 1, no_limit,
        "messages that may wait for room to one peer; beyond it a send ends with would_block"},
    Row{"threads", Form::choice, "single", "", 0, 0,
        "who may call a runtime: the thread that made it, or any, one at a time: single, serialised"},
    Row{"ordering", Form::choice, "hazard", "", 0, 0,
        "order of puts, gets and atomics, relaxed is the program's own business: relaxed, hazard, strict"},
    Row{"order-trace", Form::text, "", "path", 0, 0,
        "file for `verbena order-check`, PATH.RANK for each rank, mode 0600; empty: nothing is recorded"},
    Row{"spin-polls", Form::number, "", "polls", 0, no_limit,
        "empty polls before a waiting rank yields its core; empty: 2000, or 0 with fewer cores than ranks"},
    Row{"gpu", Form::choice, "auto", "", 0, 0, "load the CUDA plug-in: auto, off, required"},
    Row{"gpu-ipc", Form::choice, "auto", "", 0, 0,
        "large messages between GPU memories of one host by mapping the peer's: auto, off"},
};

/// Levenshtein distance, to suggest the nearest name; set-up path only.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> costs(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) costs[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = costs[0];
        costs[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = costs[j];
            costs[j] = std::min({replaced, costs[j] + 1, costs[j - 1] + 1});
        }
    }
    return costs[b.size()];
}

const Row& row_of(std::string_view name) {
    for (const Row& row : rows) {
        if (row.name == name) return row;
    }
    const Row* nearest = &rows[0];
    for (const Row& row : rows) {
        if (distance(row.name, name) < distance(nearest->name, name)) nearest = &row;
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("no setting is called \"{}\"", name),
                fmt::format("the nearest is \"{}\"; `verbena info` lists all", nearest->name));
}

std::int64_t parse_number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
        throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a whole number", text));
    }
    return value;
}

/// Splits "64KiB" into 64 and "KiB".
std::pair<std::int64_t, std::string_view> split_unit(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return {parse_number(text.substr(0, digits)), text.substr(digits)};
}

std::int64_t scaled(std::int64_t value, std::int64_t factor, std::string_view text) {
    if (value > std::numeric_limits<std::int64_t>::max() / factor) {
        throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is too large", text));
    }
    return value * factor;
}

bool is_accepted_word(const Row& row, std::string_view value) {
    std::string_view words = row.description.substr(row.description.rfind(':') + 1);
    while (!words.empty()) {
        const std::size_t end = std::min(words.find(','), words.size());
        if (words.substr(0, end).substr(1) == value) return true;
        words.remove_prefix(std::min(end + 1, words.size()));
    }
    return false;
}

/// The value in the row's base unit (bytes, nanoseconds, count). @throws Error on bad form.
std::int64_t parse(const Row& row, std::string_view value) {
    switch (row.form) {
    case Form::number:
        return parse_number(value);
    case Form::bytes:
        return static_cast<std::int64_t>(parse_bytes(value));
    case Form::duration:
        return parse_duration(value).count();
    case Form::choice:
        if (!is_accepted_word(row, value)) {
            throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not among the accepted words", value));
        }
        return 0;
    case Form::text:
        return 0;
    }
    return 0;
}

void check(const Row& row, std::string_view value) {
    if (value.empty() || row.form == Form::text) return;
    try {
        const std::int64_t number = parse(row, value);
        if (row.form != Form::choice && (number < row.minimum || number > row.maximum)) {
            throw Error(ErrorCode::invalid_argument,
                        row.maximum == no_limit
                            ? fmt::format("\"{}\" is below {} {}", value, row.minimum, row.unit)
                            : fmt::format("\"{}\" is outside {} to {} {}", value, row.minimum, row.maximum, row.unit));
        }
    } catch (const Error& error) {
        throw Error(ErrorCode::invalid_argument, fmt::format("setting {}: {}", row.name, error.what()),
                    std::string(row.description));
    }
}

} // namespace

std::uint64_t parse_bytes(std::string_view text) {
    const auto [value, unit] = split_unit(text);
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 4> units = {
        {{"k", 1LL << 10}, {"m", 1LL << 20}, {"g", 1LL << 30}, {"t", 1LL << 40}}};
    std::string lower(unit);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    if (lower.empty() || lower == "b") return static_cast<std::uint64_t>(value);
    for (const auto& [letter, factor] : units) {
        if (lower == letter || lower == fmt::format("{}b", letter) || lower == fmt::format("{}ib", letter)) {
            return static_cast<std::uint64_t>(scaled(value, factor, text));
        }
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a size", text),
                "write 4096, 64KiB, 16MiB or 1GiB");
}

std::chrono::nanoseconds parse_duration(std::string_view text) {
    const auto [value, unit] = split_unit(text);
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 6> units = {{{"ns", 1},
                                                                                 {"us", 1'000},
                                                                                 {"ms", 1'000'000},
                                                                                 {"s", 1'000'000'000},
                                                                                 {"min", 60'000'000'000},
                                                                                 {"h", 3'600'000'000'000}}};
    for (const auto& [name, factor] : units) {
        if (unit == name) return std::chrono::nanoseconds(scaled(value, factor, text));
    }
    throw Error(ErrorCode::invalid_argument, fmt::format("\"{}\" is not a duration", text),
                "write 500us, 20ms, 10s or 2min");
}

Settings::Settings() {
    settings_.reserve(rows.size());
    for (const Row& row : rows) {
        settings_.push_back({std::string(row.name),
                             std::string(row.value),
                             std::string(row.unit),
                             std::string(row.description),
                             Source::built_in,
                             {},
                             row.name == "secret"});
    }
}

void Settings::set(std::string_view name, std::string_view value, Source source, std::string_view origin) {
    const Row& row = row_of(name);
    check(row, value);
    Setting& setting = settings_[static_cast<std::size_t>(&row - rows.data())];
    setting.value = value;
    setting.source = source;
    setting.origin = origin;
}

const std::string& Settings::text(std::string_view name) const {
    return settings_[static_cast<std::size_t>(&row_of(name) - rows.data())].value;
}

std::int64_t Settings::number(std::string_view name) const { return parse(row_of(name), text(name)); }

std::uint64_t Settings::bytes(std::string_view name) const { return parse_bytes(text(name)); }

std::chrono::nanoseconds Settings::duration(std::string_view name) const { return parse_duration(text(name)); }

} // namespace verbena
