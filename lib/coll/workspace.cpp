#include "coll/workspace.hpp"

#include <algorithm>
#include <utility>

#include "msg/registrations.hpp"

namespace verbena::coll {

Scratch::Scratch() noexcept = default;
Scratch::~Scratch() { release(); }

void Scratch::release() noexcept {
    registration_.reset();
    if (data_ != nullptr) place_.space->release(data_);
    data_ = nullptr;
    size_ = 0;
}

void Scratch::reserve(msg::Engine& engine, const Place& place, std::size_t bytes) {
    if (bytes <= size_ && is_at(place)) return;
    release();
    place_ = place;
    data_ = place.space->allocate(bytes, place.gpu);
    size_ = bytes;
    registration_ = engine.register_memory({data_, size_}, Access::messages);
}

std::unique_ptr<Workspace> WorkspacePool::acquire(msg::Engine& engine, const Place& place, std::size_t scratch_bytes) {
    reclaim(engine);
    auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& each) {
        return scratch_bytes == 0 || (each->scratch.is_at(place) && each->scratch.size() >= scratch_bytes);
    });
    if (found == free_.end()) {
        found = std::find_if(free_.begin(), free_.end(), [&](const auto& each) { return each->scratch.is_at(place); });
    }
    std::unique_ptr<Workspace> workspace;
    if (found == free_.end()) {
        workspace = std::make_unique<Workspace>();
    } else {
        workspace = std::move(*found);
        free_.erase(found);
    }
    if (scratch_bytes > 0) workspace->scratch.reserve(engine, place, scratch_bytes);
    return workspace;
}

void WorkspacePool::give_back(std::unique_ptr<Workspace> workspace) { free_.push_back(std::move(workspace)); }

void WorkspacePool::abandon(std::unique_ptr<Workspace> workspace) { abandoned_.push_back(std::move(workspace)); }

void WorkspacePool::reclaim(msg::Engine& engine) {
    for (std::size_t i = 0; i < abandoned_.size();) {
        std::erase_if(abandoned_[i]->flights, [&engine](const Flight& flight) {
            if (!engine.is_complete(flight.operation)) return false;
            engine.release(flight.operation);
            return true;
        });
        if (!abandoned_[i]->flights.empty()) {
            ++i;
            continue;
        }
        give_back(std::move(abandoned_[i]));
        abandoned_.erase(abandoned_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

} // namespace verbena::coll
