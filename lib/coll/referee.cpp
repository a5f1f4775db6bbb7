#include "coll/referee.hpp"

#include <utility>

#include <fmt/format.h>

namespace verbena::coll {
namespace {

/// A notice on its way to one rank; the engine owns it until it has left. A lost rank does not matter.
class Sending final : public msg::Task {
  public:
    Sending(std::uint32_t rank, msg::Context context, std::shared_ptr<const std::vector<std::byte>> bytes)
        : rank_(rank), context_(context), bytes_(std::move(bytes)) {}

    std::optional<Status> advance(msg::Engine& engine) override {
        if (!has_begun_) {
            operation_ = engine.send(rank_, context_, 0, *bytes_);
            has_begun_ = true;
        }
        if (!engine.is_complete(operation_)) return std::nullopt;
        const Status status = engine.status(operation_);
        engine.release(operation_);
        has_begun_ = false;
        if (status.code == ErrorCode::would_block) return std::nullopt; // no room now
        return status;
    }
    void fail(const Status&) override {}

  private:
    std::uint32_t rank_;
    msg::Context context_;
    std::shared_ptr<const std::vector<std::byte>> bytes_;
    msg::OperationId operation_{};
    bool has_begun_ = false;
};

} // namespace

Referee::Referee(msg::Engine& engine, std::shared_ptr<Team> team, Time limit)
    : engine_(engine), team_(std::move(team)), limit_(limit) {
    engine_.listen(team_->context, this);
    engine_.listen(team_->context | notice_context_bit, this);
}

Referee::~Referee() {
    engine_.listen(team_->context, nullptr);
    engine_.listen(team_->context | notice_context_bit, nullptr);
}

void Referee::early(std::uint32_t rank, msg::Context context, Tag tag) noexcept {
    if ((context & notice_context_bit) != 0) {
        if (tag == 0) notices_from_.push_back(rank);
        return;
    }
    if (team_->failure) {
        has_strays_ = true;
        return;
    }
    if (const std::optional<Contradiction> found = team_->calls.note_early(rank, tag)) note(*found);
}

void Referee::tick(Time now) {
    now_ = now;
    if (!notices_from_.empty()) take_notices();
    if (team_->failure) return wind_up();
    if (contradiction_) open(std::exchange(contradiction_, {})->sequence);
    if (team_->wrong_length) open(team_->wrong_length->sequence);
    watch_running();
    for (auto each = inquiries_.begin(); each != inquiries_.end() && !team_->failure;) {
        state(each->second);
        each = conclude(each->second) ? inquiries_.erase(each) : std::next(each);
    }
    if (team_->failure) wind_up();
}

void Referee::take_notices() {
    for (const std::uint32_t rank : std::exchange(notices_from_, {})) {
        std::vector<std::byte> bytes(max_notice_bytes);
        const msg::OperationId id = engine_.receive(rank, team_->context | notice_context_bit, 0, bytes);
        // One that is fetched by READ because `eager-limit` is tiny cannot be waited for here: the sentence is lost to
        // us, and the group ends by its limit instead.
        const Status status = engine_.status(id);
        if (status.code == ErrorCode::would_block) engine_.cancel(id);
        engine_.release(id);
        if (!status.ok()) continue;
        bytes.resize(status.bytes);
        if (const std::optional<Notice> notice = decode_notice(bytes)) handle(rank, *notice);
    }
}

void Referee::handle(std::uint32_t rank, const Notice& notice) {
    const std::optional<std::uint32_t> own = team_->members.rank_of(rank);
    if (!own || team_->failure) return;
    if (notice.kind == Notice::Kind::over) {
        team_->fail(notice.status, notice.sentence);
        return;
    }
    open(notice.sequence).inquiry.hear(*own, notice.statement);
}

void Referee::watch_running() {
    std::erase_if(watched_, [&](const auto& entry) {
        return std::none_of(team_->running.begin(), team_->running.end(),
                            [&](const Running* call) { return call->sequence == entry.first; });
    });
    for (const Running* call : team_->running) {
        const auto [entry, is_new] = watched_.try_emplace(call->sequence, Watched{call->steps_finished, now_});
        Watched& watched = entry->second;
        if (watched.steps_finished != call->steps_finished) watched = {call->steps_finished, now_};
        if (!is_new && now_ - watched.since >= limit_ / 2) open(call->sequence);
    }
}

Referee::Open& Referee::open(std::uint32_t sequence) {
    const auto [entry, is_new] =
        inquiries_.try_emplace(sequence, Open{Inquiry(team_->members.size(), sequence), now_, false});
    Open& open = entry->second;
    if (is_new && !is_before(sequence, team_->calls.next())) {
        Notice notice{Notice::Kind::statement, sequence, {false, false, team_->calls.next(), {}}, {}, {}};
        open.inquiry.hear(team_->members.own(), notice.statement);
        say_to_all(notice);
    }
    return open;
}

void Referee::state(Open& open) {
    const std::uint32_t sequence = open.inquiry.sequence();
    if (open.has_stated || !is_before(sequence, team_->calls.next())) return;
    open.has_stated = true;
    const CallRecord* record = team_->calls.find(sequence);
    Notice notice{Notice::Kind::statement,
                  sequence,
                  {true, record == nullptr, team_->calls.next(), record != nullptr ? *record : CallRecord{}},
                  {},
                  {}};
    open.inquiry.hear(team_->members.own(), notice.statement);
    say_to_all(notice);
}

bool Referee::conclude(Open& open) {
    const bool time_is_up = now_ - open.since >= limit_ / 2;
    if (const std::optional<Finding> found = open.inquiry.conclude(time_is_up)) {
        Status status;
        status.code = found->code;
        status.source = team_->members.job_rank(found->rank);
        team_->fail(status, found->sentence);
        return true;
    }
    if (!open.inquiry.all_have_called()) return false;
    const std::optional<WrongLength>& wrong = team_->wrong_length;
    if (wrong && wrong->sequence == open.inquiry.sequence()) {
        Status status;
        status.code = ErrorCode::invalid_argument;
        status.source = wrong->job_rank;
        team_->fail(status, fmt::format("call #{}: rank {} sent {}{} bytes to rank {}, which expects {}",
                                        wrong->sequence, team_->members.rank_of(wrong->job_rank).value_or(0),
                                        wrong->got == wrong->expected ? "more than " : "", wrong->got,
                                        team_->members.own(), wrong->expected));
        return true;
    }
    for (auto& [sequence, watched] : watched_) watched.since = now_; // all are there: it is slow, and may be
    return true;
}

void Referee::say_to_all(const Notice& notice) {
    const auto bytes = std::make_shared<const std::vector<std::byte>>(encode(notice));
    for (const std::uint32_t rank : team_->members.job_ranks()) {
        if (rank == engine_.rank()) continue;
        engine_.release(engine_.start(std::make_unique<Sending>(rank, team_->context | notice_context_bit, bytes)));
    }
}

void Referee::wind_up() {
    if (!has_told_) {
        has_told_ = true;
        has_strays_ = true;
        inquiries_.clear();
        watched_.clear();
        Notice notice;
        notice.kind = Notice::Kind::over;
        notice.sequence = team_->calls.next();
        notice.status = *team_->failure;
        notice.sentence = team_->sentence;
        say_to_all(notice);
    }
    if (!has_strays_) return;
    has_strays_ = false;
    for (const std::uint32_t rank : team_->members.job_ranks()) {
        // Into no memory: an eager one is dropped, the sender of a large one is told that it was truncated.
        while (const std::optional<Tag> tag = engine_.early_tag(rank, team_->context)) {
            engine_.release(engine_.receive(rank, team_->context, *tag, {}));
        }
    }
}

} // namespace verbena::coll
