/// @file
/// From a host name to a joined rank: resolve, connect, prove the secret, join, and try again while that may help.
#pragma once

#include "boot/crypto.hpp"
#include "boot/socket.hpp"
#include "boot/store_client.hpp"

namespace verbena::boot {

struct StoreConnection {
    FileDescriptor fd;
    Sealer sealer;
    Opener opener;
    Welcome welcome;
};

/// @throws Error as StoreClient's constructor.
[[nodiscard]] StoreConnection connect_to_store(const StoreClient::Options& options);

} // namespace verbena::boot
