#include "catch.hpp"

#include <rdma/fi_errno.h>

#include "ofi/address.hpp"
#include "ofi/errors.hpp"

using namespace verbena;
using wire::CompletionStatus;

TEST_CASE("libfabric's codes become the nearest completion status") {
    const auto [code, status] = GENERATE(table<int, CompletionStatus>({
        {FI_ETRUNC, CompletionStatus::local_length_error},
        {FI_ECANCELED, CompletionStatus::flushed},
        {FI_EIO, CompletionStatus::retry_exceeded},
        {FI_ECONNRESET, CompletionStatus::retry_exceeded},
        {FI_ENOTCONN, CompletionStatus::retry_exceeded},
        {FI_ETIMEDOUT, CompletionStatus::retry_exceeded},
        {FI_EACCES, CompletionStatus::remote_access_error},
        {FI_EKEYREJECTED, CompletionStatus::remote_access_error},
        {FI_EFAULT, CompletionStatus::local_protection_error},
        {FI_EOTHER, CompletionStatus::general_error},
    }));
    CAPTURE(code);
    CHECK(ofi::status_of(code) == status);
    CHECK(ofi::is_peer_gone(code) == (status == CompletionStatus::retry_exceeded));
}

TEST_CASE("an error of libfabric names the call, its subject and the code") {
    try {
        ofi::check("fi_endpoint", "tcp on eth0", -FI_ENOMEM);
        FAIL("passed");
    } catch (const Error& error) {
        CHECK(error.code() == ErrorCode::exhausted);
        CHECK(error.cause() == Cause{Origin::libfabric, FI_ENOMEM, 0});
        CHECK_THAT(error.what(), VERBENA_CONTAINS("fi_endpoint on tcp on eth0"));
    }
}

TEST_CASE("an endpoint's address survives packing, and any other length is refused") {
    const ofi::EndpointAddress address{"net;ofi_rxm", std::vector<std::byte>(300, std::byte{7})};
    wire::Address packed = ofi::pack_address(address);
    const ofi::EndpointAddress back = ofi::unpack_address(packed);
    CHECK(back.provider == address.provider);
    CHECK(back.bytes == address.bytes);
    for (std::size_t length = 0; length < packed.size(); ++length) {
        CHECK_THROWS_AS(ofi::unpack_address(std::span(packed).first(length)), Error);
    }
    packed.push_back({});
    CHECK_THROWS_AS(ofi::unpack_address(packed), Error);
    CHECK_THROWS_AS(ofi::pack_address({"net", std::vector<std::byte>(wire::max_address_bytes)}), Error);
}
