#include "thalweg/dataset/node_folder/parts_folder.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <span>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/storage/storage.h"

namespace thalweg::dataset {
namespace {

constexpr char const* kRegionPrefix = "region-";
constexpr char const* kNodePrefix = "node-";
constexpr char const* kFinishedPrefix = "finished-";
constexpr char const* kDeadPrefix = "dead-";
constexpr char const* kReturnedPrefix = "returned-";
constexpr char const* kJournalEnding = ".journal";
constexpr int kTriesToRemove = 3;
constexpr std::uint64_t kSpareBytes = 256 << 10;

// Returns the numbers in names that are `prefix`, a number and `ending`.
std::vector<std::uint32_t> numbers_of(std::string const& folder, std::string_view prefix, std::string_view ending) {
    std::vector<std::uint32_t> numbers;
    for (auto const& name : base::list_directory(folder)) {
        if (!name.starts_with(prefix) || !name.ends_with(ending)) continue;
        if (name.size() <= prefix.size() + ending.size()) continue;
        auto const* const last = name.data() + name.size() - ending.size();
        std::uint32_t number = 0;
        auto const [stop, wrong] = std::from_chars(name.data() + prefix.size(), last, number);
        if (wrong == std::errc{} && stop == last) numbers.push_back(number);
    }
    std::ranges::sort(numbers);
    return numbers;
}

// In names nodes are counted from 1.
std::vector<std::uint32_t> nodes_of(std::vector<std::uint32_t> numbers) {
    std::erase(numbers, 0u);
    for (auto& number : numbers) --number;
    return numbers;
}

// Removes what a list has named. A machine may keep that it did not find the name before: it finds it when it opens it
// in order to create it.
void remove_listed(std::string const& path) {
    if (base::remove_file(path)) return;
    try {
        static_cast<void>(base::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW));
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return; // the folder is gone
        if (error.code != ELOOP) throw;   // a label is a link
    }
    base::remove_file(path);
}

template <typename Work> void on_full_disk(std::function<bool()> const& make_room, Work const& work) {
    while (true) {
        try {
            return work();
        } catch (base::SystemError const& error) {
            if (!base::is_no_space(error.code) || !make_room || !make_room()) throw;
        }
    }
}

// Returns nothing if another node has created it.
std::unique_ptr<storage::Storage> create_first(std::string const& path) {
    try {
        return storage::open_file_storage(path, storage::OpenMode::create_new, storage::Engine::posix);
    } catch (base::SystemError const& error) {
        if (error.code == EEXIST) return nullptr;
        throw;
    }
}

} // namespace

std::string name_of_node(std::uint32_t node) { return fmt::format("node {}", node + 1); }

std::string finished_name(std::uint32_t node) { return fmt::format("{}{:04}", kFinishedPrefix, node + 1); }

std::string dead_name(std::uint32_t node) { return fmt::format("{}{:04}", kDeadPrefix, node + 1); }

std::string returned_name(std::uint32_t node) { return fmt::format("{}{:04}", kReturnedPrefix, node + 1); }

bool is_listed(std::string const& path) {
    std::filesystem::path const file(path);
    auto const names = base::list_directory(file.has_parent_path() ? file.parent_path().string() : ".");
    return std::ranges::find(names, file.filename().string()) != names.end();
}

bool PartsFolder::is_there() const { return base::is_directory(path_); }

bool PartsFolder::is_listed() const { return dataset::is_listed(path_); }

void PartsFolder::make() const {
    if (base::make_directory(path_)) return;
    base::fail_usage({fmt::format("cannot create {}", path_), "it is there already", "remove it if it is not needed"});
}

PartsFolder::Names PartsFolder::names() const {
    auto const names = base::list_directory(path_);
    return {names.begin(), names.end()};
}

std::string PartsFolder::journal_name(std::uint32_t node) {
    return fmt::format("{}{:04}{}", kNodePrefix, node + 1, kJournalEnding);
}

std::string PartsFolder::journal(std::uint32_t node) const { return path_ + "/" + journal_name(node); }

std::string PartsFolder::beats(std::uint32_t node) const { return fmt::format("{}/beats-{:04}", path_, node + 1); }

std::string PartsFolder::room(std::uint32_t node) const {
    return fmt::format("{}/{}{:04}.room", path_, kNodePrefix, node + 1);
}

std::string PartsFolder::spare(std::uint32_t node) const {
    return fmt::format("{}/{}{:04}.spare", path_, kNodePrefix, node + 1);
}

void PartsFolder::keep_spare(std::uint32_t node) const {
    auto file = create_first(spare(node));
    if (!file) file = storage::open_file_storage(spare(node), storage::OpenMode::read_write, storage::Engine::posix);
    file->reserve(0, kSpareBytes);
}

bool PartsFolder::give_up_spare(std::uint32_t node) const {
    if (!has(std::filesystem::path(spare(node)).filename().string())) return false;
    auto const file = storage::open_file_storage(spare(node), storage::OpenMode::read_write, storage::Engine::posix);
    auto const bytes = file->size();
    file->resize(bytes - std::min(bytes, kSpareBytes / 4));
    file->sync();
    return bytes > 0;
}

std::vector<std::uint32_t> PartsFolder::nodes_with_journal() const {
    return nodes_of(numbers_of(path_, kNodePrefix, kJournalEnding));
}

std::vector<std::uint32_t> PartsFolder::dead_nodes() const { return nodes_of(numbers_of(path_, kDeadPrefix, "")); }

bool PartsFolder::take_region(std::uint32_t number) const {
    return create_first(fmt::format("{}/{}{:06}", path_, kRegionPrefix, number)) != nullptr;
}

std::vector<std::uint32_t> PartsFolder::regions() const { return numbers_of(path_, kRegionPrefix, ""); }

bool PartsFolder::take(std::string const& name, std::function<bool()> const& make_room) const {
    bool is_ours = false;
    on_full_disk(make_room, [&] { is_ours = create_first(path_ + "/" + name) != nullptr; });
    return is_ours;
}

// The line end comes last, with the rest: a text without it is not there yet.
bool PartsFolder::announce(std::string const& name, std::string const& text,
                           std::function<bool()> const& make_room) const {
    std::unique_ptr<storage::Storage> file;
    on_full_disk(make_room, [&] { file = create_first(path_ + "/" + name); });
    if (!file) return false;
    auto const line = text + "\n";
    on_full_disk(make_room, [&] {
        file->write(0, std::as_bytes(std::span(line)));
        file->sync();
    });
    return true;
}

std::optional<std::string> PartsFolder::announced(std::string const& name, Names const& names) const {
    if (!names.contains(name)) return std::nullopt;
    try {
        auto const path = path_ + "/" + name;
        auto const file = storage::open_file_storage(path, storage::OpenMode::read_only, storage::Engine::posix);
        std::string text(file->size(), '\0');
        if (!text.empty()) file->read(0, std::as_writable_bytes(std::span(text)));
        if (!text.ends_with('\n')) return std::nullopt;
        text.pop_back();
        return text;
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT || error.code == ENODATA) return std::nullopt;
        throw;
    }
}

void PartsFolder::forget_announcements() const {
    for (auto const& name : base::list_directory(keys())) remove_listed(keys() + "/" + name);
    auto const is_journal = [](std::string const& name) {
        return name.starts_with(kNodePrefix) && name.find(kJournalEnding) != std::string::npos;
    };
    for (auto const& name : base::list_directory(path_)) {
        bool const stays = is_journal(name) || name.starts_with(kRegionPrefix) || name.starts_with(kReturnedPrefix) ||
                           name == kResuming || name == kResumed || name == kRecovering ||
                           base::is_directory(path_ + "/" + name);
        if (!stays) remove_listed(path_ + "/" + name);
    }
    sync();
}

void PartsFolder::sync() const { base::sync_directory_of(journal(0)); }

void PartsFolder::remove() const {
    if (!is_there()) return;
    base::remove_file(journal(0));
    base::sync_directory_of(journal(0));
    for (auto const& name : base::list_directory(keys())) remove_listed(keys() + "/" + name);
    base::remove_directory(keys());
    // A node may still be making a name: the one with which it gives a sign of life, say.
    for (int tries = 0; is_there() && tries < kTriesToRemove; ++tries) {
        for (auto const& name : base::list_directory(path_)) {
            if (name != kComplete && name != kCompleting) remove_listed(path_ + "/" + name);
        }
        for (auto const* const name : {kComplete, kCompleting}) // last, since others may be looking for them
            base::remove_file(path_ + "/" + name);
        base::remove_directory(path_);
    }
}

} // namespace thalweg::dataset
