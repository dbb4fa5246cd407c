// For tests: a directory that goes with its contents.
#pragma once

#include <filesystem>
#include <stdlib.h>
#include <string>

namespace thalweg::storage {

class TestDirectory {
  public:
    // In the current directory, which is the build tree under ctest, because /tmp often is a tmpfs without direct I/O.
    explicit TestDirectory(std::string const& parent = ".") {
        auto pattern = parent + "/thalweg-test-XXXXXX";
        path_ = ::mkdtemp(pattern.data());
    }
    TestDirectory(TestDirectory const&) = delete;
    TestDirectory& operator=(TestDirectory const&) = delete;
    ~TestDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string path(std::string const& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

} // namespace thalweg::storage
