#include "thalweg/source/vendor/library.h"

#include <dlfcn.h>
#include <utility>

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::source::vendor {

Library::Library(std::string name, std::string product)
    : name_(std::move(name)), product_(std::move(product)), handle_(::dlopen(name_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ != nullptr) return;
    auto const* const why = ::dlerror();
    base::fail_usage({fmt::format("the driver {} cannot be loaded", name_), why == nullptr ? "" : why,
                      "install the vendor's driver, or name its file with the setting 'library'"});
}

void* Library::symbol(std::string const& name) const {
    auto* const symbol = ::dlsym(handle_, name.c_str());
    if (symbol == nullptr) {
        base::fail_usage({fmt::format("{} has no function {}", name_, name), "it is too old, or another library",
                          fmt::format("install the vendor's driver {}", product_)});
    }
    return symbol;
}

} // namespace thalweg::source::vendor
