// Reads one table of the configuration and notes which keys were asked for. A key that is never asked for is unknown,
// and refused.
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

    // `where` names the table in messages: "handler 'dh0', [index]". Throws base::UsageError if `json` is not a table.
    ConfigTable(Json const& json, std::string where);

    // Each function leaves `out` unchanged if the file does not have the key. It throws base::UsageError, which names
    // table and key, if the value does not fit.
    void read(std::string_view key, bool& out);
    void read(std::string_view key, std::string& out);
    void read(std::string_view key, std::vector<std::string>& out);
    void read_secret(std::string_view key, std::string& out); // messages never repeat this text
    template <class T>
    requires std::is_unsigned_v<T>
    void read(std::string_view key, T& out) {
        out = static_cast<T>(whole_number(key, out, std::numeric_limits<T>::max()));
    }
    // Reads "8MiB", or a number of bytes.
    template <class T> void read_size_bytes(std::string_view key, T& out) {
        out = static_cast<T>(size_bytes(key, out, std::numeric_limits<T>::max()));
    }
    void read_duration_ns(std::string_view key, std::uint64_t& out);         // "100ms", or a number of seconds
    void read_rate_hz(std::string_view key, double& out);                    // "1.1MHz", or a number
    void read_elinks(std::string_view key, std::vector<std::uint16_t>& out); // numbers, and ranges "0-13"
    // Returns the index of the value in `words`, or `otherwise` if the key is missing.
    std::size_t read_word(std::string_view key, std::vector<std::string_view> const& words, std::size_t otherwise);

    bool has(std::string_view key) const { return json_.contains(key); }
    // Calls `read` with a table, or with each table of a list, inside this table. Does nothing if the key is missing.
    void read_table(std::string_view key, std::function<void(ConfigTable&)> const& read);
    void read_tables(std::string_view key, std::function<void(ConfigTable&, std::size_t index)> const& read);

    // Throws base::UsageError if the file has a key that was never asked for. The message names this key and the known
    // ones.
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
