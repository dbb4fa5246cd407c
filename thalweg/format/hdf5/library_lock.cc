#include "thalweg/format/hdf5/library_lock.h"

#include <utility>

#include "thalweg/base/error.h"
#include "thalweg/base/stand_in.h"
#include "thalweg/format/hdf5/filters.h"

namespace thalweg::format::hdf5 {
namespace {

std::recursive_mutex& library_mutex() {
    static std::recursive_mutex mutex;
    return mutex;
}

// Guarded by the library's mutex.
std::exception_ptr& kept_failure() {
    static std::exception_ptr failure;
    return failure;
}

herr_t take_innermost(unsigned, H5E_error2_t const* error, void* failure) {
    auto const text = [](char const* chars) { return std::string(chars != nullptr ? chars : ""); };
    *static_cast<Failure*>(failure) = {text(error->func_name), text(error->desc)};
    return 1; // the first is the innermost: stop
}

} // namespace

LibraryLock::LibraryLock() : lock_(library_mutex(), std::defer_lock) {
    if (base::stand_in != nullptr) base::stand_in->enter_library();
    lock_.lock();
    H5open();
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    kept_failure() = nullptr;
    register_filters();
}

LibraryLock::~LibraryLock() {
    H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
    if (base::stand_in != nullptr) base::stand_in->leave_library(); // no other thread runs before it is unlocked
}

void keep_failure(std::exception_ptr failure) {
    if (!kept_failure()) kept_failure() = std::move(failure);
}

Failure innermost_failure() {
    Failure failure;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &failure);
    return failure;
}

void fail_hdf5(std::string_view what) {
    if (auto const failure = std::exchange(kept_failure(), nullptr)) std::rethrow_exception(failure);
    auto const reason = innermost_failure().message;
    H5Eclear2(H5E_DEFAULT);
    base::fail_data({std::string(what), reason.empty() ? "libhdf5 gives no reason" : "libhdf5: " + reason});
}

} // namespace thalweg::format::hdf5
