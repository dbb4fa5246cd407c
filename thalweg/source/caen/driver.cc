#include "thalweg/source/caen/driver.h"

#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/source/vendor/library.h"

namespace thalweg::source::caen {
namespace {

// What the library writes into the text of its functions, at most.
constexpr std::size_t kVersionBytes = 16, kNameBytes = 32, kValueBytes = 256, kErrorBytes = 1024;

} // namespace

Functions load_driver(std::string const& library) {
    vendor::Library const loaded(library, "CAEN FELib 1.x");
    Functions functions;
#define THALWEG_FELIB_FIND(name, arguments) loaded.find("CAEN_FELib_" #name, functions.name);
    THALWEG_FELIB_FUNCTIONS(THALWEG_FELIB_FIND)
#undef THALWEG_FELIB_FIND
    return functions;
}

Connection::Connection(Functions const& functions, std::string const& address) : functions_(functions) {
    check("Open", address, functions_.Open(address.c_str(), &device_));
}

Connection::~Connection() {
    functions_.SendCommand(device_, "/cmd/DISARMACQUISITION");
    functions_.Close(device_);
}

void Connection::check(char const* name, std::string const& about, int code) const {
    if (code >= 0) return;
    std::array<char, kNameBytes> error{};
    std::array<char, kErrorBytes> text{};
    functions_.GetErrorName(code, error.data());
    functions_.GetLastError(text.data());
    error.back() = text.back() = 0;
    auto const what = fmt::format("CAEN_FELib_{}{}{}: {} ({}, {})", name, about.empty() ? "" : " of ", about,
                                  text.data(), error.data(), code);
    if (code == static_cast<int>(Code::invalid_parameter) || code == static_cast<int>(Code::library_not_available))
        base::fail_usage({what});
    throw DriverError(what);
}

std::string Connection::library_version() const {
    std::array<char, kVersionBytes> text{};
    check("GetLibVersion", "", functions_.GetLibVersion(text.data()));
    text.back() = 0;
    return text.data();
}

std::string Connection::get(std::string const& path) const {
    std::array<char, kValueBytes> text{};
    check("GetValue", path, functions_.GetValue(device_, path.c_str(), text.data()));
    text.back() = 0;
    return text.data();
}

double Connection::number(std::string const& path) const {
    auto const text = get(path);
    char* end = nullptr;
    auto const value = std::strtod(text.c_str(), &end);
    if (end == text.c_str()) throw DriverError(fmt::format("{} is '{}', and a number was wanted", path, text));
    return value;
}

void Connection::set(std::string const& path, std::string const& value) {
    check("SetValue", fmt::format("{} = {}", path, value), functions_.SetValue(device_, path.c_str(), value.c_str()));
}

void Connection::send(std::string const& command) {
    auto const path = "/cmd/" + command;
    check("SendCommand", path, functions_.SendCommand(device_, path.c_str()));
}

void Connection::choose_endpoint(std::string const& name, std::string const& format) {
    auto const path = "/endpoint/" + name;
    check("GetHandle", path, functions_.GetHandle(device_, path.c_str(), &endpoint_));
    set("/endpoint/par/ACTIVEENDPOINT", name);
    check("SetReadDataFormat", path, functions_.SetReadDataFormat(endpoint_, format.c_str()));
}

} // namespace thalweg::source::caen
