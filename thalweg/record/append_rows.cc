#include "thalweg/record/append_rows.h"

#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "thalweg/base/error.h"
#include "thalweg/dataset/append/row_slices.h"

namespace thalweg::record {
namespace {

// The committer tries as often to allocate again.
constexpr auto kFullDiskPause = std::chrono::milliseconds(100);

void take(dataset::RowSlices& slices, std::uint64_t rows) {
    std::vector<std::span<std::byte const>> parts;
    for (std::size_t i = 0; i < slices.columns.size(); ++i) {
        auto const& parent = slices.columns[i].parent;
        parts.push_back(slices.take(i, parent ? dataset::sum_of(parts[*parent]) : rows));
    }
}

} // namespace

void append_rows(dataset::Producer& producer, std::uint64_t rows, std::span<std::span<std::byte const> const> columns,
                 std::function<bool()> const& may_wait, std::function<void()> const& before_pause) {
    auto rest = columns;
    std::vector<model::Column> flat; // a copy: the producer may go on in another file meanwhile
    std::optional<dataset::RowSlices> slices;
    std::exception_ptr full; // why it waits
    while (rows > 0) {
        auto const before = producer.rows(); // NOLINT(clang-analyzer-deadcode.DeadStores): read after an error
        try {
            return producer.append(rows, rest);
        } catch (base::Error const& error) {
            auto const* const system = dynamic_cast<base::SystemError const*>(&error);
            if (system != nullptr && base::is_no_space(system->code) && may_wait())
                full = std::current_exception();
            else if (full) // a write has failed, and the producer takes no more: the first error says why
                std::rethrow_exception(full);
            else
                throw;
        }
        if (!slices) {
            flat = producer.columns();
            slices.emplace(dataset::RowSlices{flat, {columns.begin(), columns.end()}});
        }
        auto const taken = producer.rows() - before;
        take(*slices, taken);
        rest = slices->rest;
        rows -= taken;
        before_pause();
        std::this_thread::sleep_for(kFullDiskPause);
    }
}

} // namespace thalweg::record
