// libhdf5 as a whole: one caller at a time, silent, and its errors as exceptions.
#pragma once

#include <hdf5.h>

#include <exception>
#include <mutex>
#include <string>
#include <string_view>

namespace thalweg::format::hdf5 {

// Held around every use of libhdf5, whose serial build knows no threads. While it is held, libhdf5 prints nothing.
class LibraryLock {
  public:
    LibraryLock();
    ~LibraryLock();
    LibraryLock(LibraryLock const&) = delete;
    LibraryLock& operator=(LibraryLock const&) = delete;

  private:
    std::unique_lock<std::recursive_mutex> lock_;
    H5E_auto2_t print_ = nullptr;
    void* print_data_ = nullptr;
};

// An exception cannot cross libhdf5. What a callback of ours threw is kept here, and thrown by the next `fail_hdf5`.
void keep_failure(std::exception_ptr failure);

// The function and the message that the error stack has innermost: where the last call failed, and why.
struct Failure {
    std::string function;
    std::string message;
};
Failure innermost_failure();

// Throws the kept failure of a callback, or base::DataError with the innermost message of libhdf5's error stack.
[[noreturn]] void fail_hdf5(std::string_view what);

inline void check(herr_t result, std::string_view what) {
    if (result < 0) fail_hdf5(what);
}

} // namespace thalweg::format::hdf5
