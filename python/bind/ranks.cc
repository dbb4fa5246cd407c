#include "ranks.h"

#include <nanobind/stl/string.h>

#include "thalweg/base/error.h"

namespace thalweg::bind {
namespace nb = nanobind;

namespace {

nb::bytes to_python(ranks::Bytes const& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

ranks::Bytes from_python(nb::handle object) {
    auto const bytes = nb::cast<nb::bytes>(object);
    auto const* const begin = static_cast<std::byte const*>(bytes.data());
    return {begin, begin + bytes.size()};
}

} // namespace

PythonCommunicator::PythonCommunicator(nb::handle ranks)
    : ranks_(nb::borrow(ranks)), rank_(nb::cast<int>(ranks.attr("rank"))), size_(nb::cast<int>(ranks.attr("size"))) {}

std::vector<ranks::Bytes> PythonCommunicator::gather(ranks::Bytes const& own) {
    nb::gil_scoped_acquire const gil;
    auto const all = ranks_.attr("gather")(to_python(own));
    std::vector<ranks::Bytes> gathered;
    if (rank_ != 0) return gathered;
    for (auto const each : all) gathered.push_back(from_python(each));
    return gathered;
}

ranks::Bytes PythonCommunicator::broadcast(ranks::Bytes const& of_rank_0) {
    nb::gil_scoped_acquire const gil;
    return from_python(ranks_.attr("broadcast")(to_python(of_rank_0)));
}

std::uint64_t PythonCommunicator::exclusive_sum(std::uint64_t own) {
    nb::gil_scoped_acquire const gil;
    return nb::cast<std::uint64_t>(ranks_.attr("exclusive_sum")(own));
}

int PythonCommunicator::first_rank_here() {
    nb::gil_scoped_acquire const gil;
    return nb::cast<int>(ranks_.attr("first_rank_here")());
}

std::exception_ptr as_thrown(nb::handle error) {
    auto const errors = nb::module_::import_("thalweg._base.errors");
    auto const is = [&](char const* kind) { return nb::isinstance(error, errors.attr(kind)); };
    auto const text = nb::cast<std::string>(nb::str(error));
    if (is("UsageError")) return std::make_exception_ptr(base::UsageError(text));
    if (is("DataError")) return std::make_exception_ptr(base::DataError(text));
    if (is("SystemError")) {
        return std::make_exception_ptr(base::SystemError(text, nb::cast<int>(error.attr("errno"))));
    }
    auto const named = nb::cast<std::string>(errors.attr("text_of")(error));
    auto code = ECANCELED;
    if (nb::isinstance(error, PyExc_MemoryError)) code = ENOMEM;
    if (nb::isinstance(error, PyExc_OSError)) nb::try_cast(error.attr("errno"), code); // it may have none
    return std::make_exception_ptr(base::SystemError(named, code));
}

} // namespace thalweg::bind
