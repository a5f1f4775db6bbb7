/// Names of the public enumerations, as people read them.
#include <array>
#include <utility>

#include <verbena/device.hpp>
#include <verbena/group.hpp>
#include <verbena/memory.hpp>
#include <verbena/ordering.hpp>
#include <verbena/settings.hpp>

namespace verbena {
namespace {

constexpr std::array<std::pair<DataType, std::string_view>, 12> data_types = {{{DataType::i8, "i8"},
                                                                               {DataType::u8, "u8"},
                                                                               {DataType::i32, "i32"},
                                                                               {DataType::u32, "u32"},
                                                                               {DataType::i64, "i64"},
                                                                               {DataType::u64, "u64"},
                                                                               {DataType::f32, "f32"},
                                                                               {DataType::f64, "f64"},
                                                                               {DataType::f16, "f16"},
                                                                               {DataType::bf16, "bf16"},
                                                                               {DataType::f8e4m3, "f8e4m3"},
                                                                               {DataType::f8e5m2, "f8e5m2"}}};
constexpr std::array<std::pair<ReduceOp, std::string_view>, 5> reduce_ops = {{{ReduceOp::sum, "sum"},
                                                                              {ReduceOp::prod, "prod"},
                                                                              {ReduceOp::min, "min"},
                                                                              {ReduceOp::max, "max"},
                                                                              {ReduceOp::avg, "avg"}}};

constexpr std::array<std::pair<Collective, std::string_view>, 16> collectives = {
    {{Collective::barrier, "barrier"},
     {Collective::all_reduce, "all_reduce"},
     {Collective::broadcast, "broadcast"},
     {Collective::reduce, "reduce"},
     {Collective::reduce_scatter, "reduce_scatter"},
     {Collective::all_gather, "all_gather"},
     {Collective::gather, "gather"},
     {Collective::scatter, "scatter"},
     {Collective::all_to_all, "all_to_all"},
     {Collective::scan, "scan"},
     {Collective::exclusive_scan, "exclusive_scan"},
     {Collective::reduce_scatter_v, "reduce_scatter_v"},
     {Collective::all_gather_v, "all_gather_v"},
     {Collective::gather_v, "gather_v"},
     {Collective::scatter_v, "scatter_v"},
     {Collective::all_to_all_v, "all_to_all_v"}}};

template <class Table, class Value>
std::string_view name_in(const Table& table, Value value) noexcept {
    for (const auto& [candidate, text] : table) {
        if (candidate == value) return text;
    }
    return "unknown";
}

template <class Value, std::size_t N>
std::optional<Value> value_in(const std::array<std::pair<Value, std::string_view>, N>& table,
                              std::string_view name) noexcept {
    for (const auto& [value, text] : table) {
        if (text == name) return value;
    }
    return std::nullopt;
}

} // namespace

std::string_view name(Collective collective) noexcept { return name_in(collectives, collective); }
std::optional<Collective> collective_of(std::string_view name) noexcept { return value_in(collectives, name); }
std::string_view name(Ordering ordering) noexcept {
    switch (ordering) {
    case Ordering::relaxed:
        return "relaxed";
    case Ordering::hazard:
        return "hazard";
    case Ordering::strict:
        return "strict";
    }
    return "unknown";
}
std::string_view name(DataType type) noexcept { return name_in(data_types, type); }
std::string_view name(ReduceOp op) noexcept { return name_in(reduce_ops, op); }
std::optional<DataType> data_type_of(std::string_view name) noexcept { return value_in(data_types, name); }
std::optional<ReduceOp> reduce_op_of(std::string_view name) noexcept { return value_in(reduce_ops, name); }

std::size_t size_of(DataType type) noexcept {
    switch (type) {
    case DataType::i8:
    case DataType::u8:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
        return 1;
    case DataType::f16:
    case DataType::bf16:
        return 2;
    case DataType::i32:
    case DataType::u32:
    case DataType::f32:
        return 4;
    case DataType::i64:
    case DataType::u64:
    case DataType::f64:
        return 8;
    }
    return 0;
}

std::string_view name(MemoryKind kind) noexcept {
    switch (kind) {
    case MemoryKind::host:
        return "host";
    case MemoryKind::pinned:
        return "pinned";
    case MemoryKind::device:
        return "device";
    case MemoryKind::managed:
        return "managed";
    }
    return "unknown";
}

std::string_view name(PortState state) noexcept {
    switch (state) {
    case PortState::nop:
        return "NOP";
    case PortState::down:
        return "DOWN";
    case PortState::init:
        return "INIT";
    case PortState::armed:
        return "ARMED";
    case PortState::active:
        return "ACTIVE";
    case PortState::active_defer:
        return "ACTIVE_DEFER";
    case PortState::unknown:
        break;
    }
    return "unknown";
}

std::string_view name(Source source) noexcept {
    switch (source) {
    case Source::built_in:
        return "built-in";
    case Source::launcher:
        return "launcher";
    case Source::environment:
        return "environment";
    case Source::option:
        return "option";
    }
    return "unknown";
}

} // namespace verbena
