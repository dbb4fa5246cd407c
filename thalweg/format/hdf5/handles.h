// Owners of libhdf5's identifiers.
#pragma once

#include <hdf5.h>

#include <utility>

#include "thalweg/format/hdf5/library_lock.h"

namespace thalweg::format::hdf5 {

// Owns one identifier; empty when default-constructed or moved from.
template <herr_t (*Close)(hid_t)> class Handle {
  public:
    Handle() = default;
    // Throws what libhdf5 says where the call that gave `id` failed; `what` says what was tried.
    Handle(hid_t id, std::string_view what) : id_(id) {
        if (id < 0) fail_hdf5(what);
    }
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(id_, other.id_);
        return *this;
    }
    ~Handle() {
        if (id_ >= 0) Close(id_);
    }

    hid_t get() const { return id_; }

    // Closes now, so that a failure can be reported.
    void close(std::string_view what) {
        if (Close(std::exchange(id_, H5I_INVALID_HID)) < 0) fail_hdf5(what);
    }

  private:
    hid_t id_ = H5I_INVALID_HID;
};

using FileHandle = Handle<H5Fclose>;
using GroupHandle = Handle<H5Gclose>;
using ObjectHandle = Handle<H5Oclose>;
using DatasetHandle = Handle<H5Dclose>;
using SpaceHandle = Handle<H5Sclose>;
using TypeHandle = Handle<H5Tclose>;
using AttributeHandle = Handle<H5Aclose>;
using PropertyHandle = Handle<H5Pclose>;

} // namespace thalweg::format::hdf5
