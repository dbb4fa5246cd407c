#include "thalweg/source/caen/plug_in/settings.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/source/plug_in/settings.h"

namespace thalweg::source::caen {
namespace {

using plug_in::choice, plug_in::optional_setting, plug_in::setting, plug_in::whole;
using Json = nlohmann::ordered_json;

enum Place : std::uint8_t {
    address,
    library,
    endpoint,
    samples,
    channels,
    parameters,
    waveforms,
    reset,
    software_start,
    trigger_ids,
    batch,
    tick,
    time_bits,
    fine_unit,
    clock_restarts,
    number_of_settings,
};

std::array<thalweg_setting, number_of_settings> const kSettings = {
    setting("address", THALWEG_TEXT, nullptr, "dig2://host, or dig1://caen.internal/usb?link_num=0."),
    setting("library", THALWEG_TEXT, "libCAEN_FELib.so", "The vendor's library."),
    setting("endpoint", THALWEG_TEXT, "auto", "auto: by the firmware; scope, dpppha, dpppsd, or raw."),
    setting("samples", THALWEG_INTEGER, "0", "Samples of a waveform; 0: what the board has."),
    optional_setting("channels", THALWEG_JSON, "List of the channels that are on: [0, 1]."),
    optional_setting("parameters", THALWEG_JSON, R"(Values by path: {"/ch/0..7/par/DCOffset": "50"}.)"),
    setting("waveforms", THALWEG_FLAG, "true", "Whether waveforms of DPP firmwares are recorded."),
    setting("reset", THALWEG_FLAG, "true", "Whether the board is reset when it is opened."),
    setting("software_start", THALWEG_TEXT, "auto", "on, off, or auto: on with dig2."),
    setting("trigger_ids", THALWEG_TEXT, "auto", "on, off, or auto: on with dig2, without DPP."),
    setting("batch", THALWEG_INTEGER, "64", "Events that are read before rows are handed out."),
    setting("tick", THALWEG_REAL, "8", "Duration of a tick of time tags, in ns."),
    setting("time_bits", THALWEG_INTEGER, "0", "Bits of time tags; 0: 48 with dig2, 31 with dig1."),
    setting("fine_unit", THALWEG_REAL, "7.8125", "Unit of FINE_TIMESTAMP, in ps; 0: it is not read."),
    setting("clock_restarts", THALWEG_FLAG, "true", "Whether each start sets the clock of the board to 0."),
};

[[noreturn]] void refuse(char const* name, std::string const& text, char const* what) {
    base::fail_usage({fmt::format("setting '{}' is {}", name, text), fmt::format("it is {}", what)});
}

std::vector<std::uint32_t> channels_of(std::string const& text) {
    auto const json = Json::parse(text, nullptr, false);
    if (!json.is_array()) refuse("channels", text, "a list of numbers");
    std::vector<std::uint32_t> made;
    for (auto const& each : json) {
        if (!each.is_number_unsigned() || each > 127U) refuse("channels", text, "a list of numbers from 0 on");
        made.push_back(each);
    }
    return made;
}

std::vector<std::pair<std::string, std::string>> parameters_of(std::string const& text) {
    auto const json = Json::parse(text, nullptr, false);
    if (!json.is_object()) refuse("parameters", text, "a table of values by path");
    std::vector<std::pair<std::string, std::string>> made;
    for (auto const& [path, value] : json.items()) {
        if (value.is_structured() || value.is_null()) refuse("parameters", text, "a table of texts or numbers");
        made.emplace_back(path, value.is_string() ? value.get<std::string>() : value.dump());
    }
    return made;
}

} // namespace

Options options_of(std::span<thalweg_value const* const> values) {
    Options options;
    auto const text = [&](Place place) { return values[place]->text; };
    auto const integer = [&](Place place) { return values[place]->integer; };
    auto const switched = [&](char const* name, Place place) {
        return static_cast<Switch>(choice(name, text(place), {"auto", "on", "off"}));
    };
    options.address = text(address);
    if (!options.address.starts_with("dig1://") && !options.address.starts_with("dig2://")) {
        base::fail_usage({fmt::format("setting 'address' is '{}'", options.address),
                          "it begins with dig1:// or dig2://", "for example dig2://192.168.0.20"});
    }
    options.library = text(library);
    options.endpoint = text(endpoint);
    if (options.endpoint == "auto") options.endpoint.clear();
    options.samples = whole("samples", integer(samples), 1 << 27, 0);
    if (auto const* const given = text(channels); given != nullptr) options.channels = channels_of(given);
    if (auto const* const given = text(parameters); given != nullptr) options.parameters = parameters_of(given);
    options.waveforms = integer(waveforms) != 0;
    options.reset = integer(reset) != 0;
    options.software_start = switched("software_start", software_start);
    options.trigger_ids = switched("trigger_ids", trigger_ids);
    options.batch = whole("batch", integer(batch), 100'000);
    options.tick_ns = values[tick]->real;
    if (!(options.tick_ns >= 0.001 && options.tick_ns <= 1e6))
        refuse("tick", fmt::format("{}", options.tick_ns), "0.001 to 1000000");
    options.time_bits = whole("time_bits", integer(time_bits), 63, 0);
    options.fine_unit_ps = values[fine_unit]->real;
    if (!(options.fine_unit_ps >= 0 && options.fine_unit_ps <= 1e6))
        refuse("fine_unit", fmt::format("{}", options.fine_unit_ps), "0 to 1000000");
    options.clock_restarts = integer(clock_restarts) != 0;
    return options;
}

thalweg_setting const* const* settings() {
    static auto const places = plug_in::listed(kSettings);
    return places.data();
}

} // namespace thalweg::source::caen
