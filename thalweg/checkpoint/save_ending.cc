#include "thalweg/checkpoint/save_ending.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "thalweg/base/assert.h"
#include "thalweg/base/checksum.h"
#include "thalweg/base/units.h"
#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/metadata.h"
#include "thalweg/format/hdf5/ours/header.h"

namespace thalweg::checkpoint {
namespace {

constexpr char kRecordName[] = "thalweg/checkpoint";
constexpr char kChecksumsName[] = "thalweg/checksums";

ArrayPart part_with_checksums(Json const& fact) {
    auto part = fact.at("part").get<ArrayPart>();
    auto const& checksums = fact.at("checksums");
    for (std::size_t i = 0; i < part.pages.size(); ++i) checksums.at(i).get_to(part.pages[i].checksums);
    return part;
}

// One dataset has the pages of all.
void merge_parts(StoredArray& array) {
    ArrayPart whole{{PerAxis(array.shape.size(), 0), array.shape}};
    for (auto& part : array.parts) {
        whole.chunk = part.chunk;
        std::ranges::move(part.pages, std::back_inserter(whole.pages));
    }
    array.parts.clear();
    array.parts.push_back(std::move(whole));
    std::ranges::sort(array.parts[0].pages, {}, [](ArrayPage const& page) { return page.box.start; });
}

// A dataset of bytes or words that lies somewhere: so the record is readable for others, too.
StoredArray plain_dataset(std::string name, model::Scalar scalar, Checked const& place) {
    PerAxis const shape{place.size_bytes / model::size_bytes(scalar)};
    StoredArray array{std::move(name), scalar, shape, "none"};
    array.parts.push_back({{{0}, shape}, {}, {{{{0}, shape}, place.offset, place.size_bytes}}});
    return array;
}

Checked write_checked(storage::Storage& file, std::uint64_t offset, Bytes const& bytes) {
    file.write(offset, bytes);
    return {offset, bytes.size(), base::xxh3(bytes)};
}

// Two pages have one place only if both are empty.
bool share_no_byte(std::vector<StoredArray> const& arrays) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pages; // offset, end
    for (auto const& array : arrays) {
        for (auto const& part : array.parts) {
            for (auto const& page : part.pages) pages.emplace_back(page.offset, page.offset + page.stored_bytes);
        }
    }
    std::ranges::sort(pages);
    return std::ranges::adjacent_find(
               pages, [](auto const& first, auto const& next) { return first.second > next.first; }) == pages.end();
}

} // namespace

std::uint64_t end_of_pages(Record const& record) {
    std::uint64_t end = base::kBlockBytes;
    for (auto const& array : record.arrays) {
        for (auto const& part : array.parts) {
            for (auto const& page : part.pages) end = std::max(end, page.offset + page.stored_bytes);
        }
    }
    return base::round_up(end, base::kBlockBytes);
}

std::vector<StoredArray> gather_arrays(std::vector<ArrayPlan> const& plans, std::vector<Json> const& facts) {
    std::vector<StoredArray> arrays;
    arrays.reserve(plans.size());
    for (auto const& plan : plans) {
        arrays.push_back({plan.name, plan.scalar, plan.shape, plan.codec, plan.layout == Layout::separate});
    }
    for (auto const& of_rank : facts) {
        for (auto const& fact : of_rank.at("parts")) {
            arrays.at(fact.at("array").get<std::size_t>()).parts.push_back(part_with_checksums(fact));
        }
    }
    for (auto& array : arrays) {
        if (!array.is_virtual) merge_parts(array);
    }
    return arrays;
}

void write_edges(storage::Storage& file, std::vector<Json> const& facts) {
    for (auto const& of_rank : facts) {
        for (auto const& edge : of_rank.at("edges")) {
            auto const& bytes = edge.at(1).get_binary();
            file.write(edge.at(0).get<std::uint64_t>(), std::as_bytes(std::span(bytes)));
        }
    }
}

SaveEnding::SaveEnding(storage::Storage& file, Record const& record) : file_(file), id_(record.id), made_(0) {
    THALWEG_ASSERT_COSTLY(share_no_byte(record.arrays), "pages of all ranks share no byte");
    auto const bytes = to_bytes(record);
    place_.record = write_checked(file, end_of_pages(record), bytes.text);
    auto const behind = base::round_up(place_.record.offset + place_.record.size_bytes, base::kBlockBytes);
    place_.checksums = write_checked(file, behind, bytes.checksums);
    auto arrays = record.arrays;
    arrays.push_back(plain_dataset(kRecordName, model::Scalar::uint8, place_.record));
    arrays.push_back(plain_dataset(kChecksumsName, model::Scalar::uint64, place_.checksums));
    made_ = make_metadata(file.path(), arrays, record.attributes, behind + place_.checksums.size_bytes);
    THALWEG_ASSERT(made_.begin() >= end_of_pages(record), "metadata begins behind every page");
    file.write(made_.begin(), made_.metadata());
}

void SaveEnding::finish() {
    file_.write(0, head_block(id_, place_));
    format::hdf5::ours::write_seal(file_, made_.begin(), made_.metadata());
    format::hdf5::ours::write_superblock(file_, made_.superblock());
    seal_head(file_);
    file_.resize(made_.allocated_end());
    file_.sync();
}

} // namespace thalweg::checkpoint
