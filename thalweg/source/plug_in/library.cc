#include "thalweg/source/plug_in/library.h"

#include <cstddef>
#include <dlfcn.h>

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/source.h"

namespace thalweg::source::plug_in {
namespace {

constexpr auto kSymbol = "thalweg_get_source";
// What the first version of the header has.
constexpr std::size_t kLeastSource = offsetof(thalweg_source, counters) + sizeof(thalweg_source::counters);
constexpr std::size_t kLeastSetting = offsetof(thalweg_setting, help) + sizeof(thalweg_setting::help);

std::string text_or_empty(char const* text) { return text == nullptr ? "" : text; }

void* load(std::string const& path) {
    // Its symbols are bound now: a function that is missing is found here, and not during the run.
    auto* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        base::fail_usage({fmt::format("source {} cannot be loaded", path), text_or_empty(::dlerror())});
    return handle;
}

void check_version(std::string const& what, std::uint32_t version) {
    if (version == THALWEG_SOURCE_VERSION) return;
    auto const why = fmt::format("it is for version {} of thalweg/source.h, and this is version {}", version,
                                 THALWEG_SOURCE_VERSION);
    base::fail_usage({what + (version < THALWEG_SOURCE_VERSION ? " is too old" : " is too new"), why,
                      version < THALWEG_SOURCE_VERSION ? "compile it again with the header of this Thalweg"
                                                       : "use a newer Thalweg"});
}

void check_size(std::string const& what, std::size_t size, std::size_t least) {
    if (size < least) {
        base::fail_usage({fmt::format("{} has a struct of {} bytes", what, size), fmt::format("{} are needed", least),
                          "set `size` to sizeof of the struct"});
    }
}

} // namespace

Library::Library(std::string const& path) : path_(path) {
    auto* const symbol = ::dlsym(load(path), kSymbol);
    if (symbol == nullptr) {
        base::fail_usage({fmt::format("{} is not a source of rows", path), fmt::format("it has no {}", kSymbol),
                          "thalweg/source.h says what it needs"});
    }
    // dlsym returns functions as objects.
    source_ = reinterpret_cast<thalweg_source const* (*)(std::uint32_t)>(symbol)(THALWEG_SOURCE_VERSION);
    check();
    read_settings();
}

std::string Library::name() const { return text_or_empty(source_->name); }
std::string Library::version() const { return text_or_empty(source_->own_version); }

void Library::check() const {
    auto const what = "source " + path_;
    if (source_ == nullptr) {
        base::fail_usage({what + " does not work with this Thalweg",
                          fmt::format("it does not know version {} of thalweg/source.h", THALWEG_SOURCE_VERSION),
                          "compile it again with the header of this Thalweg"});
    }
    check_version(what, source_->version);
    check_size(what, source_->size, kLeastSource);
    std::string missing;
    auto const need = [&](bool is_there, std::string_view name) {
        if (!is_there) missing += fmt::format("{}no {}", missing.empty() ? "" : ", ", name);
    };
    need(source_->name != nullptr, "name");
    need(source_->open != nullptr, "open");
    need(source_->describe != nullptr, "describe");
    need(source_->start != nullptr, "start");
    need(source_->next != nullptr, "next");
    need(source_->stop != nullptr, "stop");
    need(source_->close != nullptr, "close");
    if (!missing.empty()) base::fail_usage({fmt::format("{} has {}", what, missing), "they may not be NULL"});
}

void Library::read_settings() {
    if (source_->settings == nullptr) return;
    for (auto const* const* it = source_->settings; *it != nullptr; ++it) {
        auto const& given = **it;
        auto const what = fmt::format("setting {} of source {}", settings_.size(), path_);
        check_version(what, given.version);
        check_size(what, given.size, kLeastSetting);
        if (given.name == nullptr || given.kind > THALWEG_JSON)
            base::fail_usage({what + " has no name or an unknown kind", "", "thalweg/source.h lists the kinds"});
        settings_.push_back({.name = given.name,
                             .kind = given.kind,
                             .is_required = given.is_required != 0,
                             .has_default = given.fallback != nullptr,
                             .fallback = text_or_empty(given.fallback),
                             .help = text_or_empty(given.help)});
    }
}

} // namespace thalweg::source::plug_in
