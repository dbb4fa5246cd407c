// For the tests of this folder: fields, in few words.
#pragma once

#include "thalweg/model/schema.h"

namespace thalweg::model {

inline Field scalar(std::string name, Scalar type, std::vector<std::uint64_t> shape = {}) {
    return {std::move(name), Kind::scalar, type, std::move(shape), {}, "", ""};
}

} // namespace thalweg::model
