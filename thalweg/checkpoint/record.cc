#include "thalweg/checkpoint/record.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "thalweg/base/error.h"
#include "thalweg/checkpoint/head.h"
#include "thalweg/checkpoint/pieces.h"
#include "thalweg/checkpoint/version.h"
#include "thalweg/model/schema.h"

namespace thalweg::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

template <class Use> void for_pages(std::vector<StoredArray>& arrays, Use const& use) {
    for (auto& array : arrays) {
        for (auto& part : array.parts) {
            for (auto& page : part.pages) use(page);
        }
    }
}

} // namespace

RecordBytes to_bytes(Record const& record) {
    RecordBytes bytes;
    // Attributes have a form of their own within a schema, which keeps every bit.
    Json const text = {{"format_version", kVersion},
                       {"id", record.id},
                       {"schema", model::to_json({.attributes = record.attributes})},
                       {"arrays", record.arrays}};
    auto const dumped = text.dump();
    auto const* const begin = reinterpret_cast<std::byte const*>(dumped.data());
    bytes.text.assign(begin, begin + dumped.size());
    for (auto const& array : record.arrays) {
        for (auto const& part : array.parts) {
            for (auto const& page : part.pages) {
                auto const* const sums = reinterpret_cast<std::byte const*>(page.checksums.data());
                bytes.checksums.insert(bytes.checksums.end(), sums,
                                       sums + page.checksums.size() * sizeof(std::uint64_t));
            }
        }
    }
    return bytes;
}

Record from_bytes(RecordBytes const& bytes, std::string const& path) {
    try {
        auto const text =
            Json::parse(std::string_view(reinterpret_cast<char const*>(bytes.text.data()), bytes.text.size()));
        check_version(path + " cannot be restored", text.at("format_version").get<int>(), kVersion);
        Record record{text.at("id"), model::schema_from_json(text.at("schema").get<std::string>()).attributes,
                      text.at("arrays")};
        std::size_t at = 0;
        for_pages(record.arrays, [&](ArrayPage& page) {
            page.checksums.resize(piece_count(page.offset, page.stored_bytes));
            auto const size_bytes = page.checksums.size() * sizeof(std::uint64_t);
            if (size_bytes > bytes.checksums.size() - at)
                base::fail_data({path + " is damaged", "checksums are missing"});
            std::memcpy(page.checksums.data(), bytes.checksums.data() + at, size_bytes);
            at += size_bytes;
        });
        return record;
    } catch (Json::exception const& error) {
        base::fail_data({path + " is damaged", std::string("its record: ") + error.what()});
    } catch (base::UsageError const& error) {
        base::fail_data({path + " is damaged", error.what()});
    }
}

RecordBytes read_record(storage::Storage const& file) {
    auto const place = place_of(file);
    RecordBytes bytes{read_checked(file, place.record, "its record"),
                      read_checked(file, place.checksums, "its checksums")};
    if (id_of(file) != from_bytes(bytes, file.path()).id)
        base::fail_data({file.path() + " is damaged", "its mark, at offset 2048, is not as it was written"});
    return bytes;
}

} // namespace thalweg::checkpoint
