#include "thalweg/source/acqiris/plug_in/settings.h"

#include <array>

#include "thalweg/source/plug_in/settings.h"

namespace thalweg::source::acqiris {
namespace {

using plug_in::choice, plug_in::setting, plug_in::whole;

enum Place : std::uint8_t {
    resource,
    library,
    driver_options,
    mode,
    channels,
    sample_rate,
    samples,
    range,
    offset,
    trigger,
    trigger_level,
    trigger_slope,
    batch,
    calibrate,
    packing,
    sample_order,
    is_signed,
    test_pattern,
    clock_restarts,
    temperature_period,
    number_of_settings,
};

std::array<thalweg_setting, number_of_settings> const kSettings = {
    setting("resource", THALWEG_TEXT, nullptr, "Address of the card: PXI40::0::0::INSTR."),
    setting("library", THALWEG_TEXT, "libAqMD3.so", "The vendor's driver."),
    setting("driver_options", THALWEG_TEXT, "Simulate=false", "Options of the driver for InitWithOptions."),
    setting("mode", THALWEG_TEXT, "auto", "streaming, records, or auto: streaming if it is licensed."),
    setting("channels", THALWEG_INTEGER, "1", "Number of channels."),
    setting("sample_rate", THALWEG_REAL, "0", "Samples a second; 0: what the card has."),
    setting("samples", THALWEG_INTEGER, "10496", "Samples of a record."),
    setting("range", THALWEG_REAL, "1", "Full scale, in V."),
    setting("offset", THALWEG_REAL, "0", "Offset, in V."),
    setting("trigger", THALWEG_TEXT, "External1", "Source of the trigger: Internal1, External1."),
    setting("trigger_level", THALWEG_REAL, "0", "Level of the trigger, in V."),
    setting("trigger_slope", THALWEG_TEXT, "rising", "rising or falling."),
    setting("batch", THALWEG_INTEGER, "64", "Records that are fetched at once."),
    setting("calibrate", THALWEG_FLAG, "true", "Whether the card calibrates itself when it is opened."),
    setting("packing", THALWEG_TEXT, "auto", "packed10, int16, or auto: by the model."),
    setting("sample_order", THALWEG_TEXT, "low-first", "low-first or high-first, of packed samples."),
    setting("signed", THALWEG_FLAG, "false", "Whether packed samples have a sign."),
    setting("test_pattern", THALWEG_FLAG, "false", "Whether the order of packed samples is checked with a pattern."),
    setting("clock_restarts", THALWEG_FLAG, "true", "Whether each start sets the clock of the card to 0."),
    setting("temperature_period", THALWEG_REAL, "1", "Seconds from one temperature to the next; 0: none is recorded."),
};

} // namespace

Options options_of(std::span<thalweg_value const* const> values) {
    Options options;
    auto const text = [&](Place place) { return values[place]->text; };
    options.resource = text(resource);
    options.library = text(library);
    options.driver_options = text(driver_options);
    options.mode = static_cast<Mode>(choice("mode", text(mode), {"auto", "streaming", "records"}));
    options.channels = static_cast<std::uint32_t>(whole("channels", values[channels]->integer, 8));
    options.sample_rate = values[sample_rate]->real;
    options.samples = whole("samples", values[samples]->integer, 1 << 27);
    options.range_v = values[range]->real;
    options.offset_v = values[offset]->real;
    options.trigger = text(trigger);
    options.trigger_level_v = values[trigger_level]->real;
    options.falling = choice("trigger_slope", text(trigger_slope), {"rising", "falling"}) == 1;
    options.batch = whole("batch", values[batch]->integer, 100'000);
    options.calibrate = values[calibrate]->integer != 0;
    options.packing = static_cast<Packing>(choice("packing", text(packing), {"auto", "packed10", "int16"}));
    options.high_first = choice("sample_order", text(sample_order), {"low-first", "high-first"}) == 1;
    options.is_signed = values[is_signed]->integer != 0;
    options.test_pattern = values[test_pattern]->integer != 0;
    options.clock_restarts = values[clock_restarts]->integer != 0;
    options.temperature_period_s = values[temperature_period]->real;
    return options;
}

thalweg_setting const* const* settings() {
    static auto const places = plug_in::listed(kSettings);
    return places.data();
}

} // namespace thalweg::source::acqiris
