/// @file
/// Files as `send` and `receive` handle them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace verbena::tools {

/// A regular file that is read from front to back. @throws Error naming path and reason.
class InputFile {
  public:
    explicit InputFile(std::string path);
    ~InputFile();
    InputFile(const InputFile&) = delete;
    InputFile& operator=(const InputFile&) = delete;

    [[nodiscard]] std::uint64_t size() const { return size_; }
    /// The name without its folders.
    [[nodiscard]] std::string name() const;
    /// Fills all of `bytes`. @throws Error also where the file has become shorter.
    void read(std::span<std::byte> bytes);

  private:
    std::string path_;
    int descriptor_ = -1;
    std::uint64_t size_ = 0;
};

/// A file that appears under its name only once it is complete; until then it is NAME.part beside it, and it is removed
/// if it never is. An existing file is replaced only where `may_replace`.
class OutputFile {
  public:
    OutputFile(std::string path, bool may_replace);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    void write(std::span<const std::byte> bytes);
    void complete();

  private:
    std::string path_;
    std::string part_;
    bool may_replace_;
    int descriptor_ = -1;
};

/// A name that another machine proposes, if it is one: no folder, not hidden, nothing that moves a terminal's cursor.
/// @throws Error (refused)
[[nodiscard]] std::string checked_file_name(const std::string& name);

} // namespace verbena::tools
