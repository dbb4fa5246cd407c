// For .cc files that read schemas: looks into JSON that a user may have written, and names the place of what is wrong.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::model {

// An object of a schema, and what messages call it, such as "field 'x' of table 't'".
class JsonPart {
  public:
    // Throws base::DataError if this is no object, as all others do if a value is missing or of another type. `keys`
    // lists those that have a meaning, and is not copied.
    JsonPart(nlohmann::ordered_json const& json, std::string name, std::span<std::string_view const> keys);

    std::string const& name() const { return name_; }
    bool has(std::string_view key) const { return json_->contains(key); }
    nlohmann::ordered_json const& at(std::string_view key) const;
    nlohmann::ordered_json const& list(std::string_view key) const;
    std::string text(std::string_view key) const;
    std::string text_or_empty(std::string_view key) const;
    std::vector<std::uint64_t> sizes(std::string_view key) const;
    [[noreturn]] void refuse(std::string const& why) const;

  private:
    [[noreturn]] void refuse_type(std::string_view key, std::string_view needed) const;
    std::string strangers() const;

    nlohmann::ordered_json const* json_;
    std::string name_;
    std::span<std::string_view const> keys_;
};

// What is wrong, without the number that the library gives it.
std::string why_of(nlohmann::json::exception const& error);

} // namespace thalweg::model
