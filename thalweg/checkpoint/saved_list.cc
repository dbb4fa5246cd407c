#include "thalweg/checkpoint/saved_list.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "thalweg/base/checksum.h"
#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/checkpoint/version.h"

namespace thalweg::checkpoint {
namespace {

using Json = nlohmann::json;

constexpr int kListVersion = 1;
constexpr std::size_t kChecksumLineBytes = 18; // a line feed, 16 digits, a line feed

std::string list_path(std::string const& path) {
    auto const whole = std::filesystem::path(path);
    return (whole.parent_path() / ("." + whole.filename().string() + ".saved")).string();
}

Json json_of(Checked const& checked) { return {checked.offset, checked.size_bytes, checked.checksum}; }

Checked checked_from(Json const& json) {
    return {json.at(0).get<std::uint64_t>(), json.at(1).get<std::uint64_t>(), json.at(2).get<std::uint64_t>()};
}

Json json_of(Saved const& saved) {
    auto const& signs = saved.signs;
    return {{"id", signs.id},
            {"file", {saved.file.inode, saved.file.born_ns}},
            {"superblock", signs.superblock},
            {"record", json_of(signs.place.record)},
            {"checksums", json_of(signs.place.checksums)},
            {"place", signs.place.place_checksum}};
}

Saved saved_from(Json const& json) {
    Signs signs{
        json.at("id").get<std::string>(),
        json.at("superblock").get<std::vector<std::uint8_t>>(),
        {checked_from(json.at("record")), checked_from(json.at("checksums")), json.at("place").get<std::uint64_t>()}};
    auto const& file = json.at("file");
    return {std::move(signs), {file.at(0).get<std::uint64_t>(), file.at(1).get<std::int64_t>()}};
}

std::string checksum_line(std::string_view text) {
    return fmt::format("\n{:016x}\n", base::xxh3(std::as_bytes(std::span(text))));
}

[[noreturn]] void fail_damaged(std::string const& file, std::string const& why) {
    base::fail_data({fmt::format("the list of checkpoints {} is damaged", file), why,
                     "restore a checkpoint by its own name; the next save writes a new list"});
}

SavedList list_from(std::string const& file, std::string_view text) {
    try {
        auto const json = Json::parse(text);
        check_version(fmt::format("the list of checkpoints {} cannot be read", file),
                      json.at("format_version").get<int>(), kListVersion);
        SavedList list{json.at("numbers").get<std::vector<std::uint64_t>>(), {}, {}};
        for (auto const& each : json.at("saved")) list.saved.push_back(saved_from(each));
        if (json.contains("next")) list.next = saved_from(json.at("next"));
        return list;
    } catch (Json::exception const& error) {
        fail_damaged(file, error.what());
    }
}

} // namespace

std::string older(std::string const& path, std::uint64_t number) { return fmt::format("{}.{}", path, number); }

std::optional<SavedList> read_list(std::string const& path) {
    auto const file = list_path(path);
    if (!base::identity_of(file)) return std::nullopt;
    auto const storage = storage::open_file_storage(file, storage::OpenMode::read_only);
    std::string whole(storage->size(), '\0');
    storage->read(0, std::as_writable_bytes(std::span(whole)));
    auto const text = std::string_view(whole).substr(0, whole.size() - std::min(whole.size(), kChecksumLineBytes));
    if (checksum_line(text) != std::string_view(whole).substr(text.size())) {
        fail_damaged(file, "it is not as it was written");
    }
    return list_from(file, text);
}

void write_list(std::string const& path, SavedList const& list, std::string const& beside) {
    Json json{{"format_version", kListVersion}, {"numbers", list.numbers}, {"saved", Json::array()}};
    for (auto const& each : list.saved) json["saved"].push_back(json_of(each));
    if (list.next) json["next"] = json_of(*list.next);
    auto text = json.dump();
    text += checksum_line(text);
    base::remove_file(beside);
    try {
        auto const file = storage::open_file_storage(beside, storage::OpenMode::create_new, storage::Engine::posix);
        file->write(0, std::as_bytes(std::span(text)));
        file->sync();
        auto const to = list_path(path);
        if (std::rename(beside.c_str(), to.c_str()) != 0)
            base::fail_system({fmt::format("cannot rename {} to {}", beside, to)}, errno);
    } catch (base::Error const&) {
        ::unlink(beside.c_str()); // the error above is what counts; the next save removes what is left
        throw;
    }
}

FileMark mark_of(std::string const& path) {
    struct statx status {};
    if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &status) != 0)
        base::fail_system({"cannot look at " + path}, errno);
    FileMark mark{status.stx_ino};
    if (status.stx_mask & STATX_BTIME)
        mark.born_ns = status.stx_btime.tv_sec * 1'000'000'000 + status.stx_btime.tv_nsec;
    return mark;
}

std::optional<Saved> find_saved(SavedList const& list, storage::Storage const& file) {
    for (auto const& saved : list.saved) {
        if (has_signs(file, saved.signs)) return saved;
    }
    if (list.next && has_signs(file, list.next->signs)) return list.next;
    return std::nullopt;
}

} // namespace thalweg::checkpoint
