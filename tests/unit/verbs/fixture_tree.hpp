/// @file
/// A /sys and /dev of our own, in a temporary directory that goes with the object.
#pragma once

#include <string>

#include "verbs/sysfs.hpp"

namespace verbena::verbs {

class FixtureTree {
  public:
    FixtureTree();
    ~FixtureTree();
    FixtureTree(const FixtureTree&) = delete;
    FixtureTree& operator=(const FixtureTree&) = delete;

    [[nodiscard]] Roots roots() const { return {directory_ + "/sys", directory_ + "/dev"}; }
    [[nodiscard]] const std::string& directory() const { return directory_; }

    /// Makes the folders on the way. `path` begins with sys/ or dev/.
    void write(const std::string& path, const std::string& text);
    void make_directory(const std::string& path);
    void link(const std::string& path, const std::string& target);

    /// An ACTIVE RoCE device with a character device and its node.
    void add_device(const std::string& name, int uverbs);

  private:
    std::string directory_;
};

} // namespace verbena::verbs
