#include "coll/cost_model_file.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <verbena/error.hpp>

namespace verbena::coll {
namespace {

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorCode::invalid_argument, "the cost model cannot be used: " + what,
                "`verbena tune` writes one; docs/cost-model.md describes it");
}

} // namespace

CostModel read_cost_model(std::string_view text) {
    const auto object = nlohmann::json::parse(text, nullptr, false);
    if (object.is_discarded() || !object.is_object()) refuse("it is no JSON object");
    if (object.value("verbena_cost_model", nlohmann::json()) != nlohmann::json(1))
        refuse("\"verbena_cost_model\" is not 1");
    CostModel model;
    const auto take = [&](const char* key, double& value) {
        const auto found = object.find(key);
        if (found == object.end()) refuse(fmt::format("it has no \"{}\"", key));
        // A negative or absurd figure would make a choice that nobody can explain.
        if (!found->is_number() || !(found->get<double>() >= 0) || found->get<double>() > 1e12)
            refuse(fmt::format("\"{}\" is no number from 0 to 1e12", key));
        value = found->get<double>();
    };
    take("latency_ns", model.latency_ns);
    take("transfer_ns_per_byte", model.transfer_ns_per_byte);
    take("reduction_ns_per_byte", model.reduction_ns_per_byte);
    take("copy_ns_per_byte", model.copy_ns_per_byte);
    return model;
}

CostModel cost_model_from(const std::string& path) {
    if (path.empty()) return {};
    errno = 0;
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
        const Cause cause{Origin::system_errno, errno, 0};
        throw Error(ErrorCode::unavailable,
                    fmt::format("the cost model {} cannot be read: {}", path, verbena::describe(cause)),
                    "name another with --cost-model, or leave it out", cause);
    }
    return read_cost_model(text.str());
}

} // namespace verbena::coll
