#include "thalweg/source/plug_in/device.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "thalweg/base/assert.h"

namespace thalweg::source::plug_in {
namespace {

// What the plug-in has said in this thread about the call in which it is.
thread_local std::string last_reason;

void note_reason(void* /*context*/, char const* text) { last_reason = text == nullptr ? "" : text; }

void log_line(void* context, char const* text) {
    auto const& device = *static_cast<Device const*>(context);
    std::fprintf(stderr, "%s: %s\n", device.name().c_str(), text == nullptr ? "" : text);
}

template <class Struct> Struct begun() {
    Struct made{};
    made.version = THALWEG_SOURCE_VERSION;
    made.size = sizeof(Struct);
    return made;
}

} // namespace

Device::Device(Library const& library, std::vector<Value> values)
    : source_(library.calls()), values_(std::move(values)) {
    THALWEG_ASSERT(values_.size() == library.settings().size(), "each setting of a source has a value");
    host_ = begun<thalweg_host>();
    host_.context = this;
    host_.log = log_line;
    host_.fail = note_reason;
    given_.reserve(values_.size());
    for (auto const& value : values_) {
        auto& given = given_.emplace_back(begun<thalweg_value>());
        given.text = value.text ? value.text->c_str() : nullptr;
        given.integer = value.integer;
        given.real = value.real;
        places_.push_back(&given);
    }
}

Device::~Device() { close(); }

void Device::forget_reason() { last_reason.clear(); }

std::string Device::reason(int code) const {
    if (!last_reason.empty()) return last_reason;
    return fmt::format("{} returned {} and did not say why", name(), code);
}

// Runs a call of a device that is open.
template <class Call> Outcome Device::called(char const* name, Call const& call) {
    if (!is_open_) return {THALWEG_LOST, fmt::format("{} is not open", source_.name)};
    forget_reason();
    return outcome_of(call(), name);
}

Outcome Device::outcome_of(int code, char const* call) const {
    if (code >= 0) return {code, ""};
    return {code, last_reason.empty() ? fmt::format("{} of {} returned {} and did not say why", call, name(), code)
                                      : last_reason};
}

Outcome Device::open() {
    forget_reason();
    void* device = nullptr;
    auto const code = source_.open(&host_, places_.data(), &device);
    device_ = device;
    is_open_ = code >= 0;
    return outcome_of(code, "open");
}

Outcome Device::describe(std::string& json) {
    char const* text = nullptr;
    auto outcome = called("describe", [&] { return source_.describe(device_, &text); });
    json = text == nullptr ? "" : text;
    return outcome;
}

Outcome Device::start(std::optional<std::int64_t>& card) {
    std::int64_t shown = THALWEG_UNKNOWN_TIME;
    auto outcome = called("start", [&] { return source_.start(device_, &shown); });
    card = shown == THALWEG_UNKNOWN_TIME ? std::nullopt : std::optional(shown);
    return outcome;
}

Outcome Device::stop() {
    return called("stop", [&] { return source_.stop(device_); });
}

Outcome Device::pause() {
    return called("pause", [&] { return source_.pause(device_); });
}

Outcome Device::counters(std::vector<Counted>& counted) {
    auto shown = begun<thalweg_counters>();
    auto outcome = called("counters", [&] { return source_.counters(device_, &shown); });
    bool const is_null = shown.names == nullptr || shown.values == nullptr;
    if (outcome.code >= 0 && shown.count > 0 && is_null)
        return {THALWEG_REFUSED, fmt::format("{} shows {} counters without names or values", name(), shown.count)};
    if (outcome.code >= 0) {
        for (std::uint64_t i = 0; i < shown.count; ++i) {
            counted.push_back({shown.tables == nullptr ? 0 : shown.tables[i],
                               shown.names[i] == nullptr ? "" : shown.names[i], shown.values[i]});
        }
    }
    return outcome;
}

void Device::close() {
    if (std::exchange(is_open_, false)) source_.close(device_);
}

int Device::next(std::uint32_t lane, std::uint64_t timeout_ns, thalweg_batch& batch) {
    batch = begun<thalweg_batch>();
    batch.lost = THALWEG_UNKNOWN_COUNT;
    forget_reason();
    if (!is_open_) {
        last_reason = fmt::format("{} is not open", source_.name);
        return THALWEG_LOST;
    }
    return source_.next(device_, lane, timeout_ns, &batch);
}

} // namespace thalweg::source::plug_in
