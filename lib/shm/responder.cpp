/// READ and WRITE at their target, where they come through the ring. Every request is checked against our own table of
/// regions, again with each fragment: memory may be deregistered in between, and is not touched from then on.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "shm/device.hpp"
#include "shm/inbound.hpp"
#include "shm/queue_pair.hpp"
#include "shm/records.hpp"

namespace verbena::shm {

bool QueuePair::handle_request(const Record& record) noexcept {
    RequestBody body{};
    if (record.length == sizeof body) std::memcpy(&body, in_.payload(record).first.data(), sizeof body);
    if (body.length == 0 || body.length > UINT32_MAX || served_.kind != Served::Kind::none) {
        break_off(EPROTO);
        return false;
    }
    const bool reads = static_cast<RecordKind>(record.kind) == RecordKind::read;
    served_ = {};
    served_.kind = reads ? Served::Kind::read : Served::Kind::write;
    served_.remote = {body.address, {body.rkey}};
    served_.left = served_.length = body.length;
    served_.has_immediate = (record.flags & has_immediate) != 0;
    served_.immediate = record.immediate;
    served_.refused = !grants(device_.regions().rows(), served_.remote, body.length,
                              reads ? Access::remote_read : Access::remote_write);
    return true;
}

bool QueuePair::handle_write_data(const Record& record) noexcept {
    if (served_.kind != Served::Kind::write || record.length == 0 || record.length > served_.left) {
        break_off(EPROTO);
        return false;
    }
    const bool is_last = record.length == served_.left;
    served_.refused =
        served_.refused || !grants(device_.regions().rows(), served_.remote, record.length, Access::remote_write);
    const bool tells = is_last && served_.has_immediate && !served_.refused;
    if (tells && !has_receive()) return false;
    if (!served_.refused) {
        auto* const target = reinterpret_cast<std::byte*>(served_.remote.address);
        const auto payload = in_.payload(record);
        std::memcpy(target, payload.first.data(), payload.first.size());
        if (!payload.second.empty()) {
            std::memcpy(target + payload.first.size(), payload.second.data(), payload.second.size());
        }
    }
    served_.remote.address += record.length;
    served_.left -= record.length;
    if (is_last) served_.kind = Served::Kind::write_answer;
    if (tells) {
        wire::Completion completion;
        completion.kind = wire::CompletionKind::receive_rdma_with_imm;
        completion.byte_count = static_cast<std::uint32_t>(served_.length);
        completion.has_immediate = true;
        completion.immediate = served_.immediate;
        complete_receive(completion);
    }
    return true;
}

/// Sends what the peer waits for, as far as there is room. Returns whether anything went out.
bool QueuePair::serve() noexcept {
    if (served_.kind == Served::Kind::write) return false; // its data are still coming
    if (served_.kind == Served::Kind::write_answer || served_.refused) {
        const RecordKind kind = served_.kind == Served::Kind::read ? RecordKind::read_refused
                                : served_.refused                  ? RecordKind::write_refused
                                                                   : RecordKind::write_done;
        if (!publish({static_cast<std::uint8_t>(kind), 0, 0, 0}, nullptr)) return false;
        served_ = {};
        return true;
    }
    bool moved = false;
    while (served_.left > 0) {
        const auto length = static_cast<std::uint32_t>(std::min<std::uint64_t>(served_.left, max_fragment_bytes));
        if (!grants(device_.regions().rows(), served_.remote, length, Access::remote_read)) {
            served_.refused = true; // said at the next step
            return true;
        }
        if (!out_->has_room(length)) return moved;
        const auto* const source = reinterpret_cast<const std::byte*>(served_.remote.address);
        const Pieces<std::byte> payload = out_->payload(length);
        std::memcpy(payload.first.data(), source, payload.first.size());
        if (!payload.second.empty()) {
            std::memcpy(payload.second.data(), source + payload.first.size(), payload.second.size());
        }
        out_->publish({static_cast<std::uint8_t>(RecordKind::read_data), 0, 0, length});
        served_.remote.address += length;
        served_.left -= length;
        moved = true;
    }
    served_ = {};
    return moved;
}

} // namespace verbena::shm
