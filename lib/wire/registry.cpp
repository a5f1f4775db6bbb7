#include <string>
#include <utility>

#include <verbena/error.hpp>

#include "wire/backend.hpp"

namespace verbena::wire {
namespace {

struct Table {
    std::vector<const Backend*> present;
    std::vector<BackendInfo> absent;
};

Table& table() {
    static Table instance;
    return instance;
}

} // namespace

void set_backends(std::vector<const Backend*> present, std::vector<BackendInfo> absent) {
    table() = {std::move(present), std::move(absent)};
}

std::span<const Backend* const> backends() { return table().present; }

std::span<const BackendInfo> absent_backends() { return table().absent; }

const Backend& backend(std::string_view name) {
    std::string known;
    for (const Backend* candidate : backends()) {
        if (candidate->name() == name) return *candidate;
        known += (known.empty() ? "" : ", ") + std::string(candidate->name());
    }
    for (const BackendInfo& info : absent_backends()) {
        if (info.name == name) throw Error(ErrorCode::unavailable, "backend " + std::string(name) + ": " + info.note);
    }
    throw Error(ErrorCode::invalid_argument, "no backend is called \"" + std::string(name) + "\"",
                "choose one of: " + known);
}

} // namespace verbena::wire
