#include "thalweg/model/scalar.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::model {
namespace {

struct ScalarFacts {
    std::string_view name;
    std::size_t size_bytes = 0;
    bool is_complex = false;
};

constexpr ScalarFacts facts_of(Scalar scalar) {
    switch (scalar) {
    case Scalar::boolean:
        return {"bool", 1};
    case Scalar::int8:
        return {"int8", 1};
    case Scalar::int16:
        return {"int16", 2};
    case Scalar::int32:
        return {"int32", 4};
    case Scalar::int64:
        return {"int64", 8};
    case Scalar::uint8:
        return {"uint8", 1};
    case Scalar::uint16:
        return {"uint16", 2};
    case Scalar::uint32:
        return {"uint32", 4};
    case Scalar::uint64:
        return {"uint64", 8};
    case Scalar::float32:
        return {"float32", 4};
    case Scalar::float64:
        return {"float64", 8};
    case Scalar::complex64:
        return {"complex64", 8, true};
    case Scalar::complex128:
        return {"complex128", 16, true};
    }
    return {};
}

} // namespace

std::size_t size_bytes(Scalar scalar) { return facts_of(scalar).size_bytes; }

std::string_view name_of(Scalar scalar) { return facts_of(scalar).name; }

bool is_complex(Scalar scalar) { return facts_of(scalar).is_complex; }

Scalar parse_scalar(std::string_view name) {
    std::string known;
    for (auto const scalar : kScalars) {
        if (name_of(scalar) == name) return scalar;
        known += (known.empty() ? "" : ", ") + std::string(name_of(scalar));
    }
    base::fail_usage({fmt::format("'{}' is not a type of value", name), "", "use one of " + known});
}

} // namespace thalweg::model
