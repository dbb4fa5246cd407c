#include "exact_values.h"

namespace thalweg::bind {
namespace {

// More than this is given back after the call.
constexpr std::size_t kMostKeptBytes = 1 << 20;

} // namespace

ExactValues::Use::Use() : values_(nullptr) {
    static thread_local ExactValues values;
    if (values.is_used_) return;
    values.is_used_ = true;
    values_ = &values;
}

ExactValues::Use::~Use() {
    if (values_ == nullptr) return;
    values_->clear();
    values_->is_used_ = false;
}

void ExactValues::expect(std::size_t columns) {
    numbers_.reserve(columns);
    columns_.reserve(columns);
    buffers_.reserve(columns);
}

void ExactValues::clear() {
    numbers_.clear();
    buffers_.clear();
    held_.clear();
    columns_.clear();
    growing_used_ = 0;
    has_rows_ = false;
}

bool ExactValues::has_rows(std::uint64_t rows) {
    if (has_rows_) return rows_ == rows;
    rows_ = rows;
    has_rows_ = true;
    return true;
}

std::size_t ExactValues::begin_growing(std::size_t columns) {
    auto const first = growing_used_;
    growing_used_ += columns;
    if (growing_.size() < growing_used_) growing_.resize(growing_used_);
    for (auto i = first; i < growing_used_; ++i) {
        if (growing_[i].capacity() > kMostKeptBytes) growing_[i] = {};
        growing_[i].clear();
    }
    return first;
}

void ExactValues::add_grown(std::size_t first, std::size_t columns) {
    for (auto i = first; i < first + columns; ++i) columns_.emplace_back(growing_[i]);
}

} // namespace thalweg::bind
