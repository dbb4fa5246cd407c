#include "thalweg/checkpoint/candidates.h"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <optional>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/checkpoint/place.h"
#include "thalweg/checkpoint/saved_list.h"

namespace thalweg::checkpoint {
namespace {

// Adds a file that is there. `list`: if it is given, a file that no save has made is passed over.
void add(Candidates& found, std::string const& file, SavedList const* list) {
    std::optional<std::string> id;
    try {
        auto const storage = storage::open_file_storage(file, storage::OpenMode::read_only);
        if (list != nullptr && !find_saved(*list, *storage)) {
            found.others.push_back(fmt::format("no save to this path has made {}", file));
            return;
        }
        id = id_of(*storage);
    } catch (base::SystemError const& error) {
        if (error.code == ENOENT) return; // it is gone by now
        if (error.code != EIO) throw;     // a device that fails is told of when the file is read
    }
    found.files.push_back(file);
    found.ids.push_back(id.value_or(""));
}

void add_from_list(Candidates& found, std::string const& path, SavedList const& list) {
    auto const is_there = !found.files.empty();
    for (auto const number : list.numbers) {
        if (base::identity_of(older(path, number))) add(found, older(path, number), &list);
    }
    if (found.files.empty() || list.saved.empty()) return;
    if (!is_there) {
        found.problems.insert(found.problems.begin(), path + " is not there");
        return;
    }
    auto const has = [&](std::string const& id) { return std::ranges::count(found.ids, id) > 0; };
    auto const& newest = list.saved.front().signs.id;
    auto const is_damaged = found.ids.front().empty(); // then it may be the newest
    if (is_damaged || has(newest) || (list.next && has(list.next->signs.id))) return;
    found.problems.insert(found.problems.begin(),
                          fmt::format("the checkpoint that was saved to {} last, {}, is not there", path, newest));
}

// Files that were moved without their list.
std::vector<std::string> numbered(std::string const& path) {
    std::vector<std::string> files;
    for (std::uint64_t number = 1; base::identity_of(older(path, number)); ++number)
        files.push_back(older(path, number));
    return files;
}

[[noreturn]] void fail_missing(std::string const& path, std::string const& damage) {
    auto const others = numbered(path);
    if (!damage.empty() && !others.empty()) base::fail_data({"there is no " + path, damage});
    base::fail_system({"there is no " + path, others.empty() ? "" : "no list has " + others.front(),
                       others.empty() ? "name a file that was saved" : "restore it by its own name"},
                      ENOENT);
}

} // namespace

Candidates find_candidates(std::string const& path) {
    Candidates found;
    auto const target = behind_links(path);
    if (base::identity_of(target)) add(found, path, nullptr);
    std::optional<SavedList> list;
    std::string damage;
    try {
        list = read_list(target);
    } catch (base::DataError const& error) {
        damage = error.what();
    } catch (base::SystemError const& error) { // a list that cannot be read makes no checkpoint unreadable
        if (found.files.empty()) throw;
        damage = error.what();
    }
    if (list) {
        add_from_list(found, target, *list);
    } else if (!found.files.empty()) {
        for (auto const& file : numbered(target)) add(found, file, nullptr);
        if (!damage.empty()) found.problems.push_back(damage);
    }
    if (found.files.empty()) fail_missing(path, damage);
    return found;
}

} // namespace thalweg::checkpoint
