#include "thalweg/source/acqiris/driver.h"

#include <array>

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/source/vendor/library.h"

namespace thalweg::source::acqiris {
namespace {

constexpr std::size_t kTextBytes = 256;

std::int32_t number(Attribute attribute) { return static_cast<std::int32_t>(attribute); }

} // namespace

Functions load_driver(std::string const& library) {
    vendor::Library const loaded(library, "MD3 3.x");
    Functions functions;
#define THALWEG_AQMD3_FIND(name, arguments) loaded.find("AqMD3_" #name, functions.name);
    THALWEG_AQMD3_FUNCTIONS(THALWEG_AQMD3_FIND)
#undef THALWEG_AQMD3_FIND
    return functions;
}

Instrument::Instrument(Functions const& functions, std::string const& resource, std::string const& options)
    : functions_(functions) {
    check("InitWithOptions", functions_.InitWithOptions(resource.c_str(), 0, 0, options.c_str(), &session_));
}

Instrument::~Instrument() {
    functions_.Abort(session_);
    functions_.close(session_);
}

void Instrument::check(char const* name, Status status) const {
    if (status >= 0) return;
    std::array<char, kTextBytes> text{};
    functions_.error_message(session_, status, text.data());
    text.back() = 0;
    auto const what = fmt::format("AqMD3_{}: {} (0x{:08X})", name, text.data(), static_cast<std::uint32_t>(status));
    if (status == kOptionRequired) base::fail_usage({what, "", "an option of the card is not licensed"});
    throw DriverError(what, status);
}

bool Instrument::flag(Attribute attribute) const {
    Bool value = 0;
    call("GetAttributeViBoolean", functions_.GetAttributeViBoolean, "", number(attribute), &value);
    return value != 0;
}

std::int32_t Instrument::int32(Attribute attribute) const {
    std::int32_t value = 0;
    call("GetAttributeViInt32", functions_.GetAttributeViInt32, "", number(attribute), &value);
    return value;
}

std::int64_t Instrument::int64(Attribute attribute, char const* capability) const {
    std::int64_t value = 0;
    call("GetAttributeViInt64", functions_.GetAttributeViInt64, capability, number(attribute), &value);
    return value;
}

double Instrument::real(Attribute attribute) const {
    double value = 0;
    call("GetAttributeViReal64", functions_.GetAttributeViReal64, "", number(attribute), &value);
    return value;
}

std::string Instrument::text(Attribute attribute) const {
    std::array<char, kTextBytes> value{};
    call("GetAttributeViString", functions_.GetAttributeViString, "", number(attribute),
         static_cast<std::int32_t>(value.size()), value.data());
    value.back() = 0;
    return value.data();
}

void Instrument::set_flag(Attribute attribute, bool value) {
    call("SetAttributeViBoolean", functions_.SetAttributeViBoolean, "", number(attribute),
         static_cast<Bool>(value ? 1 : 0));
}

void Instrument::set_int32(Attribute attribute, std::int32_t value, std::string const& capability) {
    call("SetAttributeViInt32", functions_.SetAttributeViInt32, capability.c_str(), number(attribute), value);
}

void Instrument::set_int64(Attribute attribute, std::int64_t value) {
    call("SetAttributeViInt64", functions_.SetAttributeViInt64, "", number(attribute), value);
}

void Instrument::set_real(Attribute attribute, double value, std::string const& capability) {
    call("SetAttributeViReal64", functions_.SetAttributeViReal64, capability.c_str(), number(attribute), value);
}

void Instrument::set_text(Attribute attribute, std::string const& value) {
    call("SetAttributeViString", functions_.SetAttributeViString, "", number(attribute), value.c_str());
}

} // namespace thalweg::source::acqiris
