#include "coll/notice.hpp"

#include <algorithm>
#include <cstring>

namespace verbena::coll {
namespace {

/// The fixed part as it lies on the wire.
struct Head {
    std::uint8_t version = 1;
    std::uint8_t kind = 0;
    std::uint8_t has_called = 0;
    std::uint8_t is_forgotten = 0;
    std::uint32_t sequence = 0;
    std::uint32_t next = 0;
    std::uint8_t code = 0;
    std::uint8_t scope = 0;
    std::uint8_t cause_origin = 0;
    std::uint8_t reserved = 0;
    std::uint32_t source = 0;
    std::int32_t cause_code = 0;
    std::uint32_t cause_vendor = 0;
    std::uint32_t sentence_bytes = 0;
    CallRecord record{};
};
static_assert(sizeof(Head) == notice_bytes && offsetof(Head, record) == 32);

} // namespace

std::vector<std::byte> encode(const Notice& notice) {
    Head head;
    head.kind = static_cast<std::uint8_t>(notice.kind);
    head.has_called = notice.statement.has_called ? 1 : 0;
    head.is_forgotten = notice.statement.is_forgotten ? 1 : 0;
    head.sequence = notice.sequence;
    head.next = notice.statement.next;
    head.code = static_cast<std::uint8_t>(notice.status.code);
    head.scope = static_cast<std::uint8_t>(notice.status.scope);
    head.cause_origin = static_cast<std::uint8_t>(notice.status.cause.origin);
    head.source = notice.status.source;
    head.cause_code = notice.status.cause.code;
    head.cause_vendor = notice.status.cause.vendor_code;
    head.sentence_bytes = static_cast<std::uint32_t>(std::min(notice.sentence.size(), max_sentence_bytes));
    head.record = notice.statement.record;
    std::vector<std::byte> bytes(notice_bytes + head.sentence_bytes);
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + notice_bytes, notice.sentence.data(), head.sentence_bytes);
    return bytes;
}

std::optional<Notice> decode_notice(std::span<const std::byte> bytes) {
    if (bytes.size() < notice_bytes) return std::nullopt;
    Head head;
    std::memcpy(&head, bytes.data(), sizeof head);
    const bool is_known = head.kind == static_cast<std::uint8_t>(Notice::Kind::statement) ||
                          head.kind == static_cast<std::uint8_t>(Notice::Kind::over);
    if (head.version != 1 || !is_known || (head.kind == 2 && head.code == 0) ||
        head.code > static_cast<std::uint8_t>(ErrorCode::internal) ||
        head.scope > static_cast<std::uint8_t>(Scope::process) ||
        head.cause_origin > static_cast<std::uint8_t>(Origin::cuda) || head.sequence >= 1U << sequence_bits ||
        head.sentence_bytes != bytes.size() - notice_bytes) {
        return std::nullopt;
    }
    Notice notice;
    notice.kind = static_cast<Notice::Kind>(head.kind);
    notice.sequence = head.sequence;
    notice.statement = {head.has_called != 0, head.is_forgotten != 0, head.next, head.record};
    notice.status.code = static_cast<ErrorCode>(head.code);
    notice.status.scope = static_cast<Scope>(head.scope);
    notice.status.source = head.source;
    notice.status.cause = {static_cast<Origin>(head.cause_origin), head.cause_code, head.cause_vendor};
    const auto* text = reinterpret_cast<const char*>(bytes.data() + notice_bytes);
    notice.sentence.assign(text, head.sentence_bytes);
    return notice;
}

} // namespace verbena::coll
