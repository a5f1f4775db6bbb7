#include "catch.hpp"

#include <random>
#include <set>

#include "coll/call_ledger.hpp"
#include "coll/inquiry.hpp"
#include "coll/notice.hpp"

using namespace verbena;
using namespace verbena::coll;

namespace {

CallRecord record(std::uint64_t count) {
    CallRecord made;
    made.collective = static_cast<std::uint8_t>(Collective::all_reduce);
    made.type = static_cast<std::uint8_t>(DataType::f32);
    made.count = count;
    made.algorithm = 1;
    return made;
}

Statement called(std::uint64_t count) { return {true, false, 5, record(count)}; }

} // namespace

TEST_CASE("any field that differs gives another fingerprint, but for one in a million") {
    std::set<std::uint32_t> prints;
    for (std::uint64_t count = 0; count < 1000; ++count) prints.insert(fingerprint_of(record(count)));
    CHECK(prints.size() > 990);
    const std::uint32_t print = fingerprint_of(record(4));
    CallRecord other = record(4);
    other.root = 1;
    CHECK(fingerprint_of(other) != print);
    other = record(4);
    other.type = 1;
    CHECK(fingerprint_of(other) != print);
    other = record(4);
    other.digest = 1;
    CHECK(fingerprint_of(other) != print);
}

TEST_CASE("a call's tag gives back its sequence number and fingerprint at the ends of their ranges") {
    const std::uint32_t last = (1U << sequence_bits) - 1;
    const Tag tag = call_tag(last, (1U << fingerprint_bits) - 1, 0);
    CHECK(sequence_in(tag) == last);
    CHECK(fingerprint_in(tag) == (1U << fingerprint_bits) - 1);
    CHECK(next_sequence(last) == 0);
    CHECK(is_before(last, 0));
    CHECK_FALSE(is_before(0, last));
    CHECK_FALSE(is_before(7, 7));
}

TEST_CASE("a ledger tells a message of another call, whether it comes before ours or after") {
    CallLedger ledger;
    CHECK_FALSE(ledger.note_early(3, call_tag(0, 9, 0)));
    const auto found = ledger.note_call(record(1), 8);
    REQUIRE(found);
    CHECK((found->sequence == 0 && found->job_rank == 3));
    CHECK_FALSE(ledger.note_early(3, call_tag(0, 8, 1)));
    CHECK(ledger.note_early(2, call_tag(0, 9, 1))->job_rank == 2);
    REQUIRE(ledger.find(0));
    CHECK(ledger.find(0)->count == 1);
    CHECK_FALSE(ledger.find(1));
    for (int call = 0; call < 200; ++call) CHECK_FALSE(ledger.note_call(record(2), 5));
    CHECK_FALSE(ledger.find(0)); // forgotten
    CHECK_FALSE(ledger.note_early(2, call_tag(0, 9, 1)));
}

TEST_CASE("the minority is odd, and with no majority whoever differs from the lowest rank") {
    auto [counts, odd] = GENERATE(table<std::vector<std::uint64_t>, std::uint32_t>(
        {{{8, 8, 4, 8}, 2}, {{4, 8, 8, 8}, 0}, {{4, 8}, 1}, {{4, 4, 8, 8}, 2}, {{1, 2, 3}, 1}, {{1, 2, 3, 3}, 0}}));
    Inquiry inquiry(static_cast<std::uint32_t>(counts.size()), 4);
    for (std::uint32_t rank = 0; rank < counts.size(); ++rank) {
        CHECK_FALSE(inquiry.conclude(false)); // not before all have spoken
        inquiry.hear(rank, called(counts[rank]));
    }
    const auto found = inquiry.conclude(false);
    REQUIRE(found);
    CHECK(found->rank == odd);
    CHECK(found->code == ErrorCode::invalid_argument);
}

TEST_CASE("when time is up, ranks that have not called and ranks that do not answer are told apart") {
    Inquiry inquiry(4, 4);
    inquiry.hear(0, called(8));
    inquiry.hear(1, {false, false, 3, {}});
    inquiry.hear(3, called(8));
    CHECK_FALSE(inquiry.conclude(false));
    const auto found = inquiry.conclude(true);
    REQUIRE(found);
    CHECK(found->code == ErrorCode::timed_out);
    CHECK(found->rank == 1);
    CHECK(found->sentence == "call #4, all_reduce of 8 f32 (sum, ring): rank 1 has not made it (the next call there is "
                             "#3); rank 2 does not answer");
    inquiry.hear(1, called(8));
    inquiry.hear(2, called(8));
    CHECK_FALSE(inquiry.conclude(true)); // all are there: slow is no fault
}

TEST_CASE("a notice is read back as it was written, and no other bytes are taken for one") {
    Notice notice;
    notice.kind = Notice::Kind::over;
    notice.sequence = 77;
    notice.statement = called(9);
    notice.status.code = ErrorCode::peer_lost;
    notice.status.source = 5;
    notice.status.cause = {Origin::work_completion, 12, 0x81};
    notice.sentence = std::string(1000, 'x');
    std::vector<std::byte> bytes = encode(notice);
    CHECK(bytes.size() == max_notice_bytes);
    const auto read = decode_notice(bytes);
    REQUIRE(read);
    CHECK((read->sequence == 77 && read->statement.record == record(9) && read->status.source == 5));
    CHECK(read->status.cause == notice.status.cause);
    CHECK(read->sentence.size() == max_sentence_bytes);
    std::mt19937_64 random(3);
    for (int turn = 0; turn < 20'000; ++turn) {
        std::vector<std::byte> other(random() % (max_notice_bytes + 10));
        for (std::byte& byte : other) byte = static_cast<std::byte>(random() % 4);
        if (const auto taken = decode_notice(other)) CHECK(taken->sentence.size() + notice_bytes == other.size());
    }
    bytes.pop_back();
    CHECK_FALSE(decode_notice(bytes));
}
