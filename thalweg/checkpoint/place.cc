#include "thalweg/checkpoint/place.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/checkpoint/record.h"
#include "thalweg/checkpoint/version.h"

namespace thalweg::checkpoint {
namespace {

constexpr std::string_view kEnding = ".saving";
constexpr std::string_view kLinkEnding = ".older.saving", kListEnding = ".list.saving"; // while the file has its lock
constexpr std::size_t kIdDigits = 32;
constexpr int kMostLinks = 40; // as the kernel follows

std::string folder_of(std::string const& path) {
    auto const folder = std::filesystem::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

std::string name_of(std::string const& path) { return std::filesystem::path(path).filename().string(); }

std::unique_ptr<storage::Storage> open_to_read(std::string const& path) {
    return storage::open_file_storage(path, storage::OpenMode::read_only);
}

void rename_file(std::string const& from, std::string const& to) {
    if (std::rename(from.c_str(), to.c_str()) == 0) return;
    base::fail_system({fmt::format("cannot rename {} to {}", from, to)}, errno);
}

std::optional<struct stat> status_of(std::string const& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return status;
    if (errno == ENOENT) return std::nullopt;
    base::fail_system({"cannot look at " + path}, errno);
}

// Returns "", or why the file has no arrays that could be restored. What is read for that is small. Throws
// base::SystemError if the machine does not read it: then the file may be whole.
std::string why_lost(storage::Storage const& file) {
    try {
        read_record(file);
        return {};
    } catch (UnknownVersion const&) { // a newer Thalweg restores it
        return {};
    } catch (base::DataError const& error) {
        return error.what();
    } catch (base::SystemError const& error) {
        if (error.code != EIO) throw;
        return error.what(); // the device cannot read it
    }
}

// Returns the ending of a name that a save has given to a file beside `name`: what follows the id. Returns "" for any
// other name, such as those that saves to NAME.bak give.
std::string_view ending_beside(std::string_view name, std::string_view given) {
    auto const prefix = fmt::format(".{}.", name);
    if (!given.starts_with(prefix) || given.size() < prefix.size() + kIdDigits) return {};
    auto const id = given.substr(prefix.size(), kIdDigits), ending = given.substr(prefix.size() + kIdDigits);
    if (id.find_first_not_of("0123456789abcdef") != std::string_view::npos) return {};
    return ending == kEnding || ending == kLinkEnding || ending == kListEnding ? ending : std::string_view();
}

} // namespace

std::string behind_links(std::string const& path) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::path at = path;
    for (int links = 0; fs::is_symlink(fs::symlink_status(at, error)); ++links) {
        if (links == kMostLinks) base::fail_system({"cannot follow the links of " + path}, ELOOP);
        auto const to = fs::read_symlink(at, error);
        if (error) base::fail_system({"cannot read the link " + at.string()}, error.value());
        at = at.parent_path() / to; // `to` alone, if it begins at the root
    }
    return at.string();
}

NewFile::NewFile(std::string const& path, std::string const& id, unsigned keep)
    : path_(behind_links(path)), own_(fmt::format("{}/.{}.{}{}", folder_of(path_), name_of(path_), id, kEnding)),
      keep_(keep) {
    if (keep == 0) base::fail_usage({"a checkpoint cannot be saved with keep=0", "the new one is one, too"});
    if (name_of(path_).empty() || base::is_directory(path_))
        base::fail_usage({"cannot save to " + path, "it is a folder"});
    try {
        list_ = read_list(path_).value_or(SavedList());
    } catch (UnknownVersion const&) { // a new list would not have what this one has
        throw;
    } catch (base::DataError const& error) {
        problems_.emplace_back(error.what());
    }
    if (list_.next) list_.saved.push_back(*std::exchange(list_.next, std::nullopt)); // of a save that was killed
    check_names();
    replaced_ = status_of(path_);
    lock_ = base::open_file(own_, O_RDWR | O_CREAT | O_EXCL, replaced_ ? 0600 : 0644);
    try {
        if (!base::try_lock_file(lock_, own_, true)) check_it_is_there();
        remove_remnants();
    } catch (...) {
        ::unlink(own_.c_str());
        throw;
    }
}

// Throws if a file is not a checkpoint: files of other programs are neither overwritten nor removed.
void NewFile::check_names() const {
    auto const check = [&](std::string const& file) {
        if (!base::identity_of(file)) return;
        auto const storage = open_to_read(file);
        if (find_saved(list_, *storage) || is_checkpoint(*storage)) return;
        base::fail_usage({"cannot replace " + file, "it is no checkpoint", "choose another name, or move it away"});
    };
    check(path_);
    std::uint64_t last = 1;
    for (auto const number : chain()) last = std::max(last, number);
    for (std::uint64_t number = 1; keep_ > 1 && number <= last; ++number) check(older(path_, number));
}

// Returns the numbers of which each hands its file on to the next one: up to the first that has none, or to the last
// of `keep`, whose file is replaced.
std::vector<std::uint64_t> NewFile::chain() const {
    std::vector<std::uint64_t> numbers;
    for (std::uint64_t number = 1; numbers.size() + 1 < keep_; ++number) {
        auto const file = older(path_, number);
        auto const is_free = !base::identity_of(file);
        if (!is_free && (!std::ranges::binary_search(list_.numbers, number) || !made_by_saves(file))) continue;
        numbers.push_back(number);
        if (is_free) break;
    }
    return numbers;
}

// A lock tells whether the job that made a file is alive.
void NewFile::remove_remnants() const {
    std::vector<std::string> helpers;
    for (auto const& name : base::list_directory(folder_of(path_))) {
        auto const other = folder_of(path_) + "/" + name;
        auto const ending = ending_beside(name_of(path_), name);
        if (ending.empty() || other == own_) continue;
        if (ending != kEnding) {
            helpers.push_back(other);
            continue;
        }
        base::FileDescriptor file;
        try {
            file = base::open_file(other, O_RDWR);
        } catch (base::SystemError const& error) {
            if (error.code == ENOENT) continue; // it has become the checkpoint by now
            throw;
        }
        if (!base::try_lock_file(file, other, true)) {
            base::fail_system({"cannot save to " + path_, "another job saves to it at this moment",
                               "let only one job at a time save to a path"},
                              EBUSY);
        }
        base::remove_file(other);
    }
    for (auto const& each : helpers) base::remove_file(each);
}

NewFile::~NewFile() {
    if (!is_published_) ::unlink(own_.c_str());
}

void NewFile::check_it_is_there() const {
    auto const there = base::identity_of(own_);
    if (there && *there == base::identity_of(lock_)) return;
    base::fail_system({"cannot save to " + path_, "another job that saves to it has removed " + own_,
                       "let only one job at a time save to a path"},
                      EBUSY);
}

// Owner and group are kept if this user may give files to them. Otherwise the rights of the group, which is another
// one now, are not given.
void NewFile::take_over_mode() const {
    auto const before = status_of(path_);
    auto const& status = before ? before : replaced_;
    if (!status) return;
    auto mode = status->st_mode & 07777;
    if (::fchown(lock_.get(), status->st_uid, status->st_gid) != 0 &&
        ::fchown(lock_.get(), static_cast<uid_t>(-1), status->st_gid) != 0) {
        mode &= ~static_cast<mode_t>(070);
    }
    if (::fchmod(lock_.get(), mode) != 0) base::fail_system({"cannot set the mode of " + own_}, errno);
}

std::string NewFile::helper(std::string_view ending) const {
    return own_.substr(0, own_.size() - kEnding.size()) + std::string(ending);
}

void NewFile::shift(std::vector<std::uint64_t> const& chain) const {
    for (std::size_t i = chain.size(); i-- > 1;) {
        if (base::identity_of(older(path_, chain[i - 1])))
            rename_file(older(path_, chain[i - 1]), older(path_, chain[i]));
    }
    auto const first = older(path_, chain.at(0));
    auto const beside = helper(kLinkEnding);
    base::remove_file(beside);
    // Not renamed: `path` is there at every moment. Some file systems have no second names.
    if (::link(path_.c_str(), beside.c_str()) == 0) {
        rename_file(beside, first);
        base::remove_file(beside); // it is still there if both were one file
    } else {
        rename_file(path_, first);
    }
}

// Returns what the list has about a file, however damaged that is; none if it is a copy, or another program's.
std::optional<Saved> NewFile::made_by_saves(std::string const& file) const {
    auto const storage = open_to_read(file);
    auto const mark = mark_of(file);
    auto const is_it = [&](Saved const& saved) { return saved.file == mark && has_signs(*storage, saved.signs); };
    auto const found = std::ranges::find_if(list_.saved, is_it);
    if (found == list_.saved.end()) return std::nullopt;
    return *found;
}

// Says what publishing may change, before it does. Returns the numbers that hand their files on: none if `path` has
// nothing that is worth keeping.
std::vector<std::uint64_t> NewFile::begin_list() {
    std::vector<std::uint64_t> moves;
    std::optional<Saved> last;
    if (base::identity_of(path_)) {
        auto const file = open_to_read(path_);
        if (auto const why = why_lost(*file); why.empty()) {
            moves = chain();
            last = Saved{signs_of(*file), mark_of(path_)};
            auto const is_handed_on =
                !moves.empty() && base::identity_of(older(path_, moves[0])) == base::identity_of(path_);
            if (is_handed_on) moves.clear(); // by a save that was killed then
        } else {
            problems_.push_back(fmt::format("{} is replaced, and not kept ({})", path_, why));
        }
    }
    auto const is_known = [&](std::uint64_t number) { return std::ranges::binary_search(list_.numbers, number); };
    auto const is_newest = [&] {
        auto const& newest = list_.saved.front();
        return last->signs.id == newest.signs.id && last->file == newest.file;
    };
    auto const stays_true = list_.saved.empty() ? moves.empty() : !moves.empty() && is_newest();
    auto const is_enough = stays_true && std::ranges::all_of(moves, is_known);
    if (last) {
        std::erase_if(list_.saved, [&](Saved const& each) { return each.signs.id == last->signs.id; });
        list_.saved.insert(list_.saved.begin(), *last);
    }
    for (auto const number : moves) {
        if (!is_known(number)) list_.numbers.insert(std::ranges::upper_bound(list_.numbers, number), number);
    }
    list_.next = Saved{signs_of(*open_to_read(own_)), mark_of(own_)};
    if (!is_enough) write_list(path_, list_, helper(kListEnding));
    return moves;
}

// Removes what is more than `keep`, and says what is left.
void NewFile::end_list() {
    SavedList left{{}, {*list_.next}, {}};
    for (auto const number : list_.numbers) {
        auto const file = older(path_, number);
        if (!base::identity_of(file)) continue;
        auto const saved = made_by_saves(file);
        if (!saved) continue; // a file of others has the number
        if (left.saved.size() < keep_) {
            left.numbers.push_back(number);
            left.saved.push_back(*saved);
        } else {
            base::remove_file(file);
        }
    }
    write_list(path_, left, helper(kListEnding));
}

void NewFile::publish() {
    THALWEG_ASSERT(!is_published_, "a file gets its name once");
    check_it_is_there();
    take_over_mode();
    auto const moves = begin_list();
    if (!moves.empty()) shift(moves);
    base::try_lock_file(lock_, own_, false); // shared with readers that lock what they open, as HDF5 does
    rename_file(own_, path_);
    is_published_ = true;
    base::sync_directory_of(path_);
    try {
        end_list();
    } catch (base::SystemError const& error) { // the checkpoint is there, and the list that publishing began is true
        problems_.push_back(fmt::format("the list of checkpoints of {} is not up to date ({})", path_, error.what()));
    }
}

} // namespace thalweg::checkpoint
