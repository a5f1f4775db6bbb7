#include "catch.hpp"

#include <string>
#include <vector>

#include <verbena/error.hpp>

#include "coll_operation.hpp"

using namespace verbena;
using namespace verbena::tools;

TEST_CASE("bus bandwidth is what nccl-tests multiplies the algorithm's with") {
    auto [operation, of_two, of_four] = GENERATE(table<std::string, double, double>({{"all_reduce", 10, 15},
                                                                                     {"broadcast", 10, 10},
                                                                                     {"reduce", 10, 10},
                                                                                     {"reduce_scatter", 5, 7.5},
                                                                                     {"all_gather", 5, 7.5},
                                                                                     {"gather", 5, 7.5},
                                                                                     {"scatter", 5, 7.5},
                                                                                     {"all_to_all", 5, 7.5}}));
    const CollOperation& found = coll_operation_named(operation);
    CHECK(bus_bandwidth(found, 10, 1) == 0);
    CHECK(bus_bandwidth(found, 10, 2) == Approx(of_two));
    CHECK(bus_bandwidth(found, 10, 4) == Approx(of_four));
}

TEST_CASE("an operation that is not there lists those that are") {
    try {
        (void)coll_operation_named("all_scatter");
        FAIL("accepted");
    } catch (const Error& error) {
        for (const CollOperation& each : coll_operations())
            CHECK_THAT(error.advice(), VERBENA_CONTAINS(std::string(name(each.collective))));
    }
}

TEST_CASE("each rank's buffers are as long as the operation says, and lie within each other in place") {
    // on rank 2 of 4, root 2 or 0, blocks of 10: input, output, and where they begin in place
    using Row = std::vector<std::size_t>;
    auto [operation, at_root, elsewhere] = GENERATE(table<std::string, Row, Row>({
        {"all_reduce", {10, 10, 0, 0}, {10, 10, 0, 0}},
        {"broadcast", {10, 10, 0, 0}, {0, 10, 0, 0}},
        {"reduce", {10, 10, 0, 0}, {10, 0, 0, 0}},
        {"reduce_scatter", {40, 10, 0, 20}, {40, 10, 0, 20}},
        {"all_gather", {10, 40, 20, 0}, {10, 40, 20, 0}},
        {"gather", {10, 40, 20, 0}, {10, 0, 0, 0}},
        {"scatter", {40, 10, 0, 20}, {0, 10, 0, 0}},
        {"all_to_all", {40, 40, 0, 0}, {40, 40, 0, 0}},
    }));
    const auto row = [&, &operation = operation](std::uint32_t root) {
        const CollBuffers found = buffers_of(coll_operation_named(operation), 10, 2, 4, root);
        return Row{found.input, found.output, found.input_at, found.output_at};
    };
    INFO(operation);
    CHECK(row(2) == at_root);
    CHECK(row(0) == elsewhere);
}

TEST_CASE("a size is that of the longer buffer, and a block has an element at least") {
    const CollOperation whole = coll_operation_named("broadcast");
    const CollOperation blocks = coll_operation_named("all_gather");
    CHECK(block_count(whole, 4096, 4, 4) == 1024);
    CHECK(block_count(whole, 3, 4, 4) == 0);
    CHECK(block_count(blocks, 4096, 4, 4) == 256);
    CHECK(block_count(blocks, 4095, 4, 3) == 341);
    CHECK(block_count(blocks, 8, 4, 4) == 1);
    CHECK(longer_count(whole, 256, 4) == 256);
    CHECK(longer_count(blocks, 256, 4) == 1024);
}

TEST_CASE("an output block comes from the rank and place that the operation says") {
    const auto from = [](const char* operation, std::uint32_t block) {
        const Source source = source_of(coll_operation_named(operation), block, 10, 2, 1); // on rank 2, root 1
        return std::pair<int, std::size_t>(source.rank ? static_cast<int>(*source.rank) : -1, source.offset);
    };
    CHECK(from("all_reduce", 0) == std::pair<int, std::size_t>(-1, 0));
    CHECK(from("broadcast", 0) == std::pair<int, std::size_t>(1, 0));
    CHECK(from("reduce", 0) == std::pair<int, std::size_t>(-1, 0));
    CHECK(from("reduce_scatter", 0) == std::pair<int, std::size_t>(-1, 20));
    CHECK(from("all_gather", 3) == std::pair<int, std::size_t>(3, 0));
    CHECK(from("gather", 3) == std::pair<int, std::size_t>(3, 0));
    CHECK(from("scatter", 0) == std::pair<int, std::size_t>(1, 20));
    CHECK(from("all_to_all", 3) == std::pair<int, std::size_t>(3, 20));
}
