// The options of a subcommand: `--name value` pairs, every one of which must be used.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>

namespace thalweg::study {

class Arguments {
  public:
    explicit Arguments(std::span<char* const> words);

    std::string text(std::string const& name, std::string const& otherwise);
    std::string text(std::string const& name); // throws base::UsageError if it is not given
    std::uint64_t number(std::string const& name, std::uint64_t otherwise);

    // Throws base::UsageError, which names an option that was not used.
    void check_all_used() const;

  private:
    std::map<std::string, std::string> given_;
    std::set<std::string> used_;
};

} // namespace thalweg::study
