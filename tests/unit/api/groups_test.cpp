#include "catch.hpp"

#include <csignal>
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <verbena/group.hpp>

#include "ranks.hpp"

using namespace verbena;
using verbena::testing::run_ranks;

namespace {

/// Sums one number over a group; what is wrong, or nothing.
std::string check_sum(Group group, std::int32_t mine, std::int32_t expected) {
    std::int32_t sum = 0;
    const Status status = group.all_reduce(&mine, &sum, 1).wait();
    if (!status.ok()) return fmt::format("{}: {}", describe(status), group.failure());
    return sum == expected ? std::string() : fmt::format("the sum is {}, not {}", sum, expected);
}

} // namespace

TEST_CASE("a split gives each colour its group, in the order of the keys, beside the others") {
    CHECK(run_ranks(4, [](Runtime& runtime) -> std::string {
              const auto rank = static_cast<std::int32_t>(runtime.rank());
              Group world = runtime.world();
              std::optional<Group> parity = world.split(rank % 2, -rank);
              std::optional<Group> three = world.split(rank == 3 ? -1 : 0);
              if (!parity || parity->size() != 2) return "no group of two";
              if (parity->rank() != (rank < 2 ? 1u : 0u)) return "the keys do not order the ranks";
              if (parity->job_ranks()[0] != static_cast<std::uint32_t>(rank % 2 + 2)) return "wrong ranks";
              if (three.has_value() == (rank == 3)) return "a negative colour is no group, any other is";
              std::vector<std::int32_t> from(2);
              Operation running = parity->all_gather(&rank, from.data(), 1, DataType::i32); // beside the next
              if (three) {
                  if (std::string wrong = check_sum(*three, rank, 3); !wrong.empty()) return wrong;
                  Group pair = *three->split(rank == 0 ? 7 : 8); // of a group that is itself a part
                  if (std::string wrong = check_sum(pair, rank, rank == 0 ? 0 : 3); !wrong.empty()) return wrong;
              }
              if (!running.wait().ok() || from[0] != rank % 2 + 2 || from[1] != rank % 2) return "wrong blocks";
              return check_sum(world, 1, 4);
          }) == "");
}

TEST_CASE("P49: over processes every rank ends within the limit, naming the odd one") {
    CHECK(run_ranks(
              4,
              [](Runtime& runtime) -> std::string {
                  Group world = runtime.world();
                  std::vector<float> data(8192);
                  const bool is_odd = runtime.rank() == 3;
                  const auto begun = std::chrono::steady_clock::now();
                  const Status status = world.all_reduce(data.data(), data.data(), is_odd ? 4096 : 8192).wait();
                  if (status.code != ErrorCode::invalid_argument || status.source != 3) return describe(status);
                  if (std::chrono::steady_clock::now() - begun > std::chrono::seconds(20)) return "too late";
                  if (world.failure().find("rank 3 calls all_reduce of 4096 f32") == std::string::npos)
                      return world.failure();
                  return check_sum(world.shrink(), 1, 4); // all are there, and start anew
              },
              [](Settings& settings) { settings.set("collective-timeout", "20s"); }) == "");
}

TEST_CASE("P49: a rank that computes and never calls is named when its time is up") {
    CHECK(run_ranks(
              3,
              [](Runtime& runtime) -> std::string {
                  Group world = runtime.world();
                  if (runtime.rank() == 1) {
                      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
                      while (std::chrono::steady_clock::now() < until) runtime.progress();
                      return world.failure().empty() ? "it does not hear of it" : "";
                  }
                  const Status status = world.barrier().wait();
                  if (status.code != ErrorCode::timed_out || status.source != 1) return describe(status);
                  return world.failure().find("rank 1 has not made it") == std::string::npos ? world.failure() : "";
              },
              [](Settings& settings) { settings.set("collective-timeout", "500ms"); }) == "");
}

TEST_CASE("a killed rank ends the calls of its groups alone, and the survivors go on without it") {
    CHECK(run_ranks(5, [](Runtime& runtime) -> std::string {
              const auto rank = static_cast<std::int32_t>(runtime.rank());
              Group world = runtime.world();
              Group half = *world.split(rank < 3 ? 0 : 1);
              if (rank == 4) ::raise(SIGKILL);
              std::vector<std::int32_t> data(100'000, 1);
              const Status status = world.all_reduce(data.data(), data.data(), data.size()).wait();
              if (status.code != ErrorCode::peer_lost || status.source != 4) return describe(status);
              if (world.failure().find("rank 4 is lost") != 0) return world.failure();
              if (rank < 3) {
                  if (std::string wrong = check_sum(half, rank, 3); !wrong.empty()) return "the half: " + wrong;
              }
              Group rest = world.shrink();
              if (rest.size() != 4 || rest.rank() != runtime.rank()) return "not the four that are left";
              for (int turn = 0; turn < 100; ++turn) {
                  if (std::string wrong = check_sum(rest, rank, 6); !wrong.empty()) return wrong;
              }
              return {};
          }) == "");
}
