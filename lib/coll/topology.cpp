#include "coll/topology.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <verbena/error.hpp>

namespace verbena::coll {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "the topology cannot be used: " + what,
                "docs/topology-format.md describes the file; \"two-level\" and \"fat-tree\" are built in");
}

double number(const Json& object, const char* key, double least, double otherwise, const std::string& where) {
    const auto found = object.find(key);
    if (found == object.end()) return otherwise;
    if (!found->is_number() || !(found->get<double>() >= least) || found->get<double>() > 1e15)
        refuse(fmt::format("\"{}\" of {} is no number from {} up", key, where, least));
    return found->get<double>();
}

Level level(const Json& object, std::size_t index, std::uint32_t below) {
    const std::string where = fmt::format("level {}", index);
    if (!object.is_object()) refuse(where + " is no object");
    Level read;
    read.name = object.value("name", Json()).is_string() ? object["name"].get<std::string>() : where;
    read.ranks = static_cast<std::uint32_t>(number(object, "ranks", 0, 0, where));
    read.latency_ns = number(object, "latency_ns", 0, 1000, where);
    read.gap_ns = number(object, "gap_ns", 0, 0, where);
    read.gigabytes_per_second = number(object, "gigabytes_per_second", 1e-6, 10, where);
    read.links = static_cast<std::uint32_t>(number(object, "links", 1, 1, where));
    if (read.ranks != 0 && (read.ranks <= below || (below != 0 && read.ranks % below != 0)))
        refuse(fmt::format("{} has groups of {} ranks, which is no multiple of {} below it", where, read.ranks, below));
    return read;
}

} // namespace

Topology topology_of(std::string_view text) {
    // Eight GPUs or ranks a node, one 200 Gb/s NIC a node; round figures.
    const Level node{"node", 8, 400, 50, 50, 1};
    if (text == "two-level") return {"two-level", {node, {"network", 0, 2500, 100, 25, 1}}};
    // 32 nodes a leaf switch, 16 uplinks of each: two to one.
    if (text == "fat-tree") return {"fat-tree", {node, {"leaf", 256, 2000, 100, 25, 1}, {"spine", 0, 3000, 0, 25, 16}}};
    const Json object = Json::parse(text, nullptr, false);
    if (object.is_discarded() || !object.is_object()) refuse("it is no JSON object");
    if (object.value("verbena_topology", Json()) != Json(1)) refuse("\"verbena_topology\" is not 1");
    Topology read;
    read.name = object.value("name", Json()).is_string() ? object["name"].get<std::string>() : "a file's";
    read.reduction_ns_per_byte = number(object, "reduction_ns_per_byte", 0, 0.10, "the topology");
    read.copy_ns_per_byte = number(object, "copy_ns_per_byte", 0, 0.05, "the topology");
    if (!object.contains("levels") || !object["levels"].is_array() || object["levels"].empty() ||
        object["levels"].size() > 8) {
        refuse("it has no \"levels\", 1 to 8 of them");
    }
    std::uint32_t below = 0;
    for (const Json& each : object["levels"]) {
        if (!read.levels.empty() && read.levels.back().ranks == 0)
            refuse("a level stands above one that has all ranks");
        read.levels.push_back(level(each, read.levels.size(), below));
        below = read.levels.back().ranks;
    }
    if (read.levels.back().ranks != 0) refuse("the last level must have all ranks: \"ranks\" 0");
    return read;
}

} // namespace verbena::coll
