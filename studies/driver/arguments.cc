#include "studies/driver/arguments.h"

#include <charconv>

#include "thalweg/base/error.h"

namespace thalweg::study {

Arguments::Arguments(std::span<char* const> words) {
    for (std::size_t i = 0; i < words.size(); i += 2) {
        std::string const name = words[i];
        if (!name.starts_with("--") || i + 1 == words.size()) base::fail_usage({"'" + name + "' is not --name value"});
        given_[name.substr(2)] = words[i + 1];
    }
}

std::string Arguments::text(std::string const& name, std::string const& otherwise) {
    used_.insert(name);
    auto const found = given_.find(name);
    return found == given_.end() ? otherwise : found->second;
}

std::string Arguments::text(std::string const& name) {
    auto value = text(name, "");
    if (value.empty()) base::fail_usage({"--" + name + " is missing"});
    return value;
}

std::uint64_t Arguments::number(std::string const& name, std::uint64_t otherwise) {
    auto const value = text(name, std::to_string(otherwise));
    std::uint64_t number = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size()) {
        base::fail_usage({"--" + name + " " + value + " is not a number"});
    }
    return number;
}

void Arguments::check_all_used() const {
    for (auto const& [name, value] : given_) {
        if (!used_.contains(name)) base::fail_usage({"--" + name + " means nothing here"});
    }
}

} // namespace thalweg::study
