#pragma once

#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>

#include "thalweg/dataset/append/work_unit.h"

namespace thalweg::bind {

// An open work unit of Python.
struct OpenUnit {
    dataset::WorkUnit unit;
    void append(std::string const& table, std::uint64_t rows,
                nanobind::typed<nanobind::sequence, nanobind::object> const& columns);
};

} // namespace thalweg::bind
