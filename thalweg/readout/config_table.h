// One table of the configuration, and what was read of it: a key that nobody asks for is unknown, and refused.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace thalweg::readout {

class ConfigTable {
  public:
    using Json = nlohmann::ordered_json;

    // `where`: "handler 'dh0', [index]". Throws base::UsageError where `json` is no table.
    ConfigTable(Json const& json, std::string where);

    // Each leaves `out` as it is where the file does not have the key, and throws base::UsageError that names table and
    // key where the value is none.
    void read(std::string_view key, bool& out);
    void read(std::string_view key, std::string& out);
    void read(std::string_view key, std::vector<std::string>& out);
    void read_secret(std::string_view key, std::string& out); // a text that no message repeats
    template <class T>
    requires std::is_unsigned_v<T>
    void read(std::string_view key, T& out) {
        out = static_cast<T>(whole_number(key, out, std::numeric_limits<T>::max()));
    }
    // "8MiB", or a number of bytes.
    template <class T> void read_size_bytes(std::string_view key, T& out) {
        out = static_cast<T>(size_bytes(key, out, std::numeric_limits<T>::max()));
    }
    void read_duration_ns(std::string_view key, std::uint64_t& out);         // "100ms", or a number of seconds
    void read_rate_hz(std::string_view key, double& out);                    // "1.1MHz", or a number
    void read_elinks(std::string_view key, std::vector<std::uint16_t>& out); // numbers, and ranges "0-13"
    // One of `words`: its number.
    std::size_t read_word(std::string_view key, std::vector<std::string_view> const& words, std::size_t otherwise);

    bool has(std::string_view key) const { return json_.contains(key); }
    // A table, or a list of tables, in this one; nothing where there is none.
    void read_table(std::string_view key, std::function<void(ConfigTable&)> const& read);
    void read_tables(std::string_view key, std::function<void(ConfigTable&, std::size_t index)> const& read);

    // Throws base::UsageError that names a key nobody asked for, and those that there are.
    void finish() const;
    [[noreturn]] void refuse(std::string_view key, std::string const& why) const;
    void set_where(std::string where) { where_ = std::move(where); }
    std::string const& where() const { return where_; }

  private:
    Json const* find(std::string_view key);
    std::uint64_t whole_number(std::string_view key, std::uint64_t otherwise, std::uint64_t most);
    std::uint64_t size_bytes(std::string_view key, std::uint64_t otherwise, std::uint64_t most);
    void append_elinks(std::string_view key, Json const& item, std::vector<std::uint16_t>& out) const;

    Json const& json_;
    std::string where_;
    std::vector<std::string> known_;
};

} // namespace thalweg::readout
