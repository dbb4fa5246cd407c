// A source in a shared library of a user, as include/thalweg/source.h describes it: loaded, and checked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct thalweg_source;

namespace thalweg::source::plug_in {

struct Setting {
    std::string name;
    std::uint32_t kind = 0; // THALWEG_TEXT and so on
    bool is_required = false;
    bool has_default = false;
    std::string fallback; // its default
    std::string help;
};

// It stays loaded until the process ends: threads that the library has started may still run in it.
class Library {
  public:
    // Throws base::UsageError if the file is no such library, or is made for another version of the header.
    explicit Library(std::string const& path);

    std::string const& path() const { return path_; }
    std::string name() const;
    std::string version() const; // its own
    std::vector<Setting> const& settings() const { return settings_; }
    thalweg_source const& calls() const { return *source_; }

  private:
    void check() const;
    void read_settings();

    std::string path_;
    thalweg_source const* source_ = nullptr;
    std::vector<Setting> settings_;
};

} // namespace thalweg::source::plug_in
