#include "ofi/address.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>

namespace verbena::ofi {

wire::Address pack_address(const EndpointAddress& address) {
    const std::size_t size = 3 + address.provider.size() + address.bytes.size();
    if (size > wire::max_address_bytes || address.provider.size() > 255) {
        throw Error(ErrorCode::exhausted, fmt::format("the address of a {} endpoint takes {} bytes, {} is the limit",
                                                      address.provider, size, wire::max_address_bytes));
    }
    wire::Address packed(size);
    auto at = packed.begin();
    *at++ = static_cast<std::byte>(address.provider.size());
    for (const char letter : address.provider) *at++ = static_cast<std::byte>(letter);
    *at++ = static_cast<std::byte>(address.bytes.size());
    *at++ = static_cast<std::byte>(address.bytes.size() >> 8);
    std::copy(address.bytes.begin(), address.bytes.end(), at);
    return packed;
}

EndpointAddress unpack_address(std::span<const std::byte> packed) {
    const std::size_t name_length = packed.empty() ? 0 : std::to_integer<std::size_t>(packed[0]);
    const std::size_t rest = packed.size() < name_length + 3
                                 ? 0
                                 : std::to_integer<std::size_t>(packed[1 + name_length]) +
                                       (std::to_integer<std::size_t>(packed[2 + name_length]) << 8);
    if (rest == 0 || packed.size() != name_length + 3 + rest || packed.size() > wire::max_address_bytes) {
        throw Error(ErrorCode::protocol_violation,
                    fmt::format("{} bytes are no address of a libfabric endpoint", packed.size()));
    }
    const auto name = packed.subspan(1, name_length);
    const auto bytes = packed.subspan(3 + name_length);
    return {std::string(reinterpret_cast<const char*>(name.data()), name.size()), {bytes.begin(), bytes.end()}};
}

std::vector<std::byte> readdressed(std::span<const std::byte> bytes, const std::string& host) {
    sockaddr_storage address{};
    std::memcpy(&address, bytes.data(), std::min(bytes.size(), sizeof(address)));
    addrinfo hints{};
    hints.ai_family = address.ss_family;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int result = getaddrinfo(host.c_str(), nullptr, &hints, &list); result != 0) {
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("setting advertise: \"{}\": {}", host, gai_strerror(result)),
                    "it must name an address of the same family (IPv4 or IPv6) as the setting bind");
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
    if (address.ss_family == AF_INET) {
        reinterpret_cast<sockaddr_in&>(address).sin_addr =
            reinterpret_cast<const sockaddr_in*>(list->ai_addr)->sin_addr;
    } else {
        reinterpret_cast<sockaddr_in6&>(address).sin6_addr =
            reinterpret_cast<const sockaddr_in6*>(list->ai_addr)->sin6_addr;
    }
    const auto* first = reinterpret_cast<const std::byte*>(&address);
    return {first, first + std::min(bytes.size(), sizeof(address))};
}

} // namespace verbena::ofi
