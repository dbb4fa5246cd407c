#include "thalweg/source/caen/digitizer.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/base/units.h"

namespace thalweg::source::caen {
namespace {

using Json = nlohmann::ordered_json;

// What is collected before it is handed out stays in the cache.
constexpr std::size_t kAtOnceBytes = base::kMiB;
// So long a board that is stopped may take to say that no more events come.
constexpr int kDrainMs = 500;

Json field(char const* name, char const* type, char const* unit, char const* description) {
    Json made = {{"name", name}, {"type", type}};
    if (*unit != 0) made["unit"] = unit;
    if (*description != 0) made["description"] = description;
    return made;
}

Json fields_of(Columns const& columns, Table const& table) {
    Json fields = {field("timestamp", "uint64", "ps", "of the trigger, on the digitizer's clock since start of run")};
    if (columns.energy) fields.push_back(field("energy", "uint16", "", "channel of the spectrum"));
    if (columns.energy_short) fields.push_back(field("energy_short", "uint16", "", "of the short gate, in channels"));
    if (columns.flags) fields.push_back(field("flags", "uint32", "", "as the firmware defines them"));
    if (columns.sample_type == nullptr) return fields;
    Json values = {{"name", "values"}};
    if (columns.has_lists) {
        values["type"] = "list";
        values["element"] = {{"type", columns.sample_type}};
    } else {
        values["type"] = columns.sample_type;
        values["shape"] = {table.samples};
    }
    values["unit"] = "ADC";
    Json const members = {field("t0", "float32", "ns", "time of the first sample, from the trigger on"),
                          field("dt", "float32", "ns", "time from sample to sample"), values};
    fields.push_back({{"name", "waveform"}, {"type", "struct"}, {"fields", members}});
    return fields;
}

} // namespace

Digitizer::Digitizer(Options options)
    : options_(std::move(options)), connection_(load_driver(options_.library), options_.address) {
    board_.is_second_generation = options_.address.starts_with("dig2:");
    if (options_.reset) connection_.send("RESET");
    read_identity();
    choose_endpoint();
    enable_channels();
    set_samples();
    set_parameters();
    if (!board_.is_second_generation) connection_.send("CALIBRATEADC");
    read_back();
    read_samples();
    if (options_.endpoint == "raw")
        reader_ = make_raw_reader(connection_, options_, board_);
    else
        reader_ = is_dpp() ? make_dpp_reader(connection_, options_, board_)
                           : make_scope_reader(connection_, options_, board_);
}

void Digitizer::read_identity() {
    model_ = connection_.get("/par/MODELNAME");
    serial_ = connection_.get("/par/SERIALNUM");
    firmware_ = connection_.get("/par/FWTYPE");
    board_.channels = static_cast<std::size_t>(std::clamp(connection_.number("/par/NUMCH"), 0.0, 128.0));
    auto const rate = connection_.number("/par/ADC_SAMPLRATE"); // in millions a second
    if (rate <= 0) throw DriverError(fmt::format("{} says that its sample rate is {} MS/s", model_, rate));
    board_.sample_period_ns = 1000 / rate;
    if (options_.time_bits == 0) options_.time_bits = board_.is_second_generation ? 48 : 31;
}

void Digitizer::choose_endpoint() {
    auto decoded = firmware_; // "DPP_PHA" and "DPP-PHA" have the endpoint dpppha
    std::erase_if(decoded, [](char each) { return each == '-' || each == '_'; });
    std::ranges::transform(decoded, decoded.begin(), [](char each) {
        return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
    });
    if (options_.endpoint.empty()) options_.endpoint = decoded;
    if (options_.endpoint == "raw" && (!board_.is_second_generation || decoded != "scope")) {
        base::fail_usage({fmt::format("endpoint raw of {} cannot be decoded", model_),
                          fmt::format("its firmware is {}, and this knows the events of Scope with dig2", firmware_),
                          fmt::format("use endpoint = \"{}\"", decoded)});
    }
    board_.has_trigger_ids = options_.trigger_ids == Switch::automatic ? board_.is_second_generation && !is_dpp()
                                                                       : options_.trigger_ids == Switch::on;
    if (board_.has_trigger_ids && is_dpp()) {
        base::fail_usage({"events of DPP firmwares have no trigger numbers", "", "leave out 'trigger_ids'"});
    }
}

std::string Digitizer::channel_path(std::uint32_t channel, char const* parameter) const {
    return fmt::format("/ch/{}/par/{}", channel, parameter);
}

void Digitizer::set(std::string const& path, std::string const& value) {
    connection_.set(path, value);
    set_.emplace_back(path, value);
}

void Digitizer::enable_channels() {
    if (!options_.channels) return;
    auto const& wanted = *options_.channels;
    for (auto const channel : wanted) {
        if (channel >= board_.channels) {
            base::fail_usage({fmt::format("there is no channel {}", channel),
                              fmt::format("{} has {} of them, from 0 on", model_, board_.channels)});
        }
    }
    for (std::uint32_t channel = 0; channel < board_.channels; ++channel) {
        auto const is_on = std::ranges::find(wanted, channel) != wanted.end();
        if (board_.is_second_generation)
            set(channel_path(channel, "CHENABLE"), is_on ? "true" : "false");
        else
            set(channel_path(channel, "CH_ENABLED"), is_on ? "TRUE" : "FALSE");
    }
}

void Digitizer::set_samples() {
    if (options_.samples == 0) return;
    if (!board_.is_second_generation) {
        set("/par/RECLEN",
            fmt::format("{}", std::lround(static_cast<double>(options_.samples) * board_.sample_period_ns)));
    } else if (is_dpp()) {
        for (std::uint32_t channel = 0; channel < board_.channels; ++channel)
            set(channel_path(channel, "CHRECORDLENGTHS"), fmt::format("{}", options_.samples));
    } else {
        set("/par/RECORDLENGTHS", fmt::format("{}", options_.samples));
    }
}

// "/ch/0..7/par/X" is set for each channel: so each value can be read back.
void Digitizer::set_parameters() {
    for (auto const& [name, value] : options_.parameters) {
        auto const path = name.starts_with('/') ? name : "/par/" + name;
        unsigned first = 0, last = 0;
        int length = 0;
        if (std::sscanf(path.c_str(), "/ch/%u..%u%n", &first, &last, &length) == 2 && first <= last && last < 128) {
            for (auto channel = first; channel <= last; ++channel)
                set(fmt::format("/ch/{}{}", channel, path.substr(static_cast<std::size_t>(length))), value);
        } else {
            set(path, value);
        }
    }
}

void Digitizer::read_back() {
    for (auto& [path, value] : set_) {
        auto const taken = connection_.get(path);
        char *taken_end = nullptr, *value_end = nullptr;
        auto const is_same_number = std::strtod(taken.c_str(), &taken_end) == std::strtod(value.c_str(), &value_end) &&
                                    *taken_end == 0 && *value_end == 0;
        auto const is_same_text = std::ranges::equal(taken, value, [](char left, char right) {
            return std::tolower(static_cast<unsigned char>(left)) == std::tolower(static_cast<unsigned char>(right));
        });
        if (!is_same_number && !is_same_text)
            other_values_ += fmt::format("{}{} = {} (not {})", other_values_.empty() ? "" : ", ", path, taken, value);
        value = taken;
    }
}

void Digitizer::read_samples() {
    board_.table_of.assign(board_.channels, nullptr);
    for (std::uint32_t channel = 0; channel < board_.channels; ++channel) {
        auto const enabled =
            connection_.get(channel_path(channel, board_.is_second_generation ? "CHENABLE" : "CH_ENABLED"));
        if (enabled != "true" && enabled != "True" && enabled != "TRUE") continue;
        Table table{.channel = channel};
        auto const number = [&](char const* of_all, char const* of_channel) {
            return connection_.number(is_dpp() ? channel_path(channel, of_channel) : of_all);
        };
        if (board_.is_second_generation) {
            table.samples = static_cast<std::size_t>(std::max(number("/par/RECORDLENGTHS", "CHRECORDLENGTHS"), 0.0));
            table.t0_ns = static_cast<float>(-number("/par/PRETRIGGERS", "CHPRETRIGGERS") * board_.sample_period_ns);
        } else {
            auto const length_ns = std::max(connection_.number("/par/RECLEN"), 0.0);
            table.samples = static_cast<std::size_t>(std::lround(length_ns / board_.sample_period_ns));
        }
        board_.tables.push_back(std::move(table));
    }
    if (board_.tables.empty()) base::fail_usage({fmt::format("no channel of {} is on", model_), "", "set 'channels'"});
    for (auto& table : board_.tables) board_.table_of[table.channel] = &table;
}

std::string Digitizer::describe() const {
    Json tables = Json::array();
    for (auto const& table : board_.tables) {
        tables.push_back({{"name", fmt::format("ch{}", table.channel)},
                          {"description", fmt::format("CAEN {} {}, channel {}", model_, serial_, table.channel)},
                          {"fields", fields_of(board_.columns, table)}});
    }
    Json const clock = {{"column", "timestamp"},
                        {"restarts", options_.clock_restarts},
                        {"domain", fmt::format("ps of the clock of {} {}", model_, serial_)}};
    Json parameters = Json::object();
    for (auto const& [path, value] : set_) parameters[path] = value;
    Json const settings = {{"endpoint", options_.endpoint},
                           {"samples", board_.tables.front().samples},
                           {"time_bits", options_.time_bits},
                           {"clock_restarts", options_.clock_restarts},
                           {"parameters", parameters},
                           {"model", model_},
                           {"serial_number", serial_},
                           {"firmware", firmware_},
                           {"driver", connection_.library_version()}};
    Json notes = Json::array();
    if (!other_values_.empty())
        notes.push_back(fmt::format("{} took other values than were given: {}", model_, other_values_));
    return Json{{"tables", tables}, {"clock", clock}, {"settings", settings}, {"notes", notes}}.dump();
}

void Digitizer::start() {
    if (is_running_) connection_.send("DISARMACQUISITION");
    for (auto& table : board_.tables) table.rows.clear();
    is_showing_ = is_stopping_ = is_over_ = false;
    reader_->restart(options_.clock_restarts);
    connection_.send("ARMACQUISITION");
    auto const by_software = options_.software_start == Switch::automatic ? board_.is_second_generation
                                                                          : options_.software_start == Switch::on;
    if (by_software) connection_.send("SWSTARTACQUISITION");
    is_running_ = is_fresh_ = true;
}

void Digitizer::stop() {
    if (!is_running_ || is_stopping_) return;
    connection_.send("DISARMACQUISITION");
    is_stopping_ = true;
}

std::size_t Digitizer::collected_bytes() const {
    std::size_t sum = 0;
    for (auto const& table : board_.tables) sum += table.rows.samples.size();
    return sum;
}

void Digitizer::collect(int timeout_ms) {
    for (auto& table : board_.tables) table.rows.clear();
    for (std::uint64_t count = 0; count < options_.batch && collected_bytes() < kAtOnceBytes; ++count) {
        auto const code = reader_->read(count == 0 ? timeout_ms : 0);
        // The end that a run before has left is not the end of this one.
        if (std::exchange(is_fresh_, false) && code == Code::stop) continue;
        is_over_ = code == Code::stop || (code == Code::timeout && is_stopping_ && count == 0);
        if (code != Code::success) break;
    }
}

bool Digitizer::show_next() {
    for (; table_ < board_.tables.size(); ++table_)
        if (rows().count() > 0) return true;
    return false;
}

Digitizer::Got Digitizer::next(std::uint64_t timeout_ns) {
    if (is_showing_) {
        ++table_;
        is_showing_ = show_next();
        if (is_showing_) return Got::rows;
    }
    if (!is_running_) return Got::nothing;
    if (!is_over_) {
        auto const timeout_ms = static_cast<int>(std::min<std::uint64_t>(timeout_ns / base::kMsNs, 60'000));
        collect(is_stopping_ ? std::max(timeout_ms, kDrainMs) : timeout_ms);
        table_ = 0;
        is_showing_ = show_next();
        if (is_showing_) return Got::rows;
    }
    if (!is_over_) return Got::nothing;
    is_running_ = false;
    return is_stopping_ ? Got::nothing : Got::ended;
}

} // namespace thalweg::source::caen
