#pragma once

#include <cstddef>
#include <nanobind/nanobind.h>
#include <span>
#include <utility>
#include <vector>

namespace thalweg::bind {

// The memory of a contiguous Python object (a NumPy array, bytes, ...), which it keeps alive. Made and destroyed with
// the GIL held.
class Buffer {
  public:
    explicit Buffer(nanobind::handle object, int flags = PyBUF_SIMPLE) {
        if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nanobind::python_error();
    }
    Buffer(Buffer&& other) noexcept : view_(std::exchange(other.view_, Py_buffer{})) {}
    ~Buffer() { PyBuffer_Release(&view_); }

    Py_buffer const& view() const { return view_; }
    std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }

  private:
    Py_buffer view_{};
};

// The memory of each of several objects, in the same way: columns that are appended.
class Buffers {
  public:
    explicit Buffers(nanobind::typed<nanobind::sequence, nanobind::object> const& objects) {
        for (auto const object : objects) {
            buffers_.emplace_back(object);
            bytes_.push_back(buffers_.back().bytes());
        }
    }

    std::span<std::span<std::byte const> const> bytes() const { return bytes_; }

  private:
    std::vector<Buffer> buffers_;
    std::vector<std::span<std::byte const>> bytes_;
};

} // namespace thalweg::bind
