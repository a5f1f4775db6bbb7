#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

namespace verbena::verbs {

/// What is mapped at `address`, where that is a device's registers or memory and not pages of the host's: such a
/// mapping cannot be pinned, so ibv_reg_mr refuses it. Its file ("/dev/gdrdrv"), or "a device" for one without a name.
/// @param smaps  as /proc/self/smaps, whose VmFlags tell
[[nodiscard]] std::optional<std::string> io_mapping(std::istream& smaps, std::uintptr_t address);

} // namespace verbena::verbs
