#include "thalweg/format/hdf5/ours/added_objects.h"

#include <iterator>

#include "thalweg/base/error.h"
#include "thalweg/format/hdf5/object_links.h"

namespace thalweg::format::hdf5::ours {
namespace {

constexpr auto kOurs = "/thalweg";

class Walk {
  public:
    Walk(FileHandle const& file, std::set<std::string> const& known) : file_(file), known_(known) {}

    // `path` is "" for the root. Each group is entered once, whatever links to it.
    void enter(std::string const& path, ObjectId id) {
        if (!entered_.insert(id).second) return;
        Children children;
        try {
            children = children_of(file_, path, known_);
        } catch (base::DataError const& error) {
            return left_out.push_back({path, why_of(error.what(), path)});
        }
        left_out.insert(left_out.end(), std::move_iterator(children.left_out.begin()),
                        std::move_iterator(children.left_out.end()));
        for (auto const& child : children.found) {
            auto const child_path = path + "/" + child.name;
            if (child_path == kOurs) continue;
            if (child.is_group) {
                enter(child_path, child.id);
            } else {
                left_out.push_back({child_path, "another program has added it to the run"});
            }
        }
    }

    std::vector<model::LeftOut> left_out;

  private:
    FileHandle const& file_;
    std::set<std::string> const& known_;
    std::set<ObjectId> entered_;
};

} // namespace

std::vector<model::LeftOut> added_objects(FileHandle const& file, std::set<std::string> const& known) {
    Walk walk(file, known);
    try {
        walk.enter("", facts_of(file, "/").id);
    } catch (base::DataError const& error) { // the rows are still whole: they were found without the groups
        walk.left_out.push_back({"/", why_of(error.what(), "/")});
    }
    return std::move(walk.left_out);
}

} // namespace thalweg::format::hdf5::ours
