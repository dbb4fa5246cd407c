// Datasets and groups as fields of a table.
#pragma once

#include <map>
#include <set>

#include "thalweg/base/assert.h"
#include "thalweg/format/hdf5/object_links.h"
#include "thalweg/format/hdf5/others/found_field.h"
#include "thalweg/format/hdf5/reading_file.h"

namespace thalweg::format::hdf5::others {

class FieldFinder {
  public:
    FieldFinder(ReadingFile& file, FileHandle const& handle) : file_(file), handle_(handle) {}

    // Returns the fields that these children of the group `path` are. A child that cannot be read is left out, and the
    // others stay. `depth`: how deep the group is.
    std::vector<FoundField> fields(std::string const& path, std::vector<Child> const& children, std::size_t depth);

    // Follows the group's links; what they lead to that cannot be found is left out.
    std::vector<Child> children(std::string const& path);
    std::optional<std::string> attribute(std::string const& path, std::string const& name) const;
    void leave_out(std::string const& path, std::string why) { left_out.push_back({path, std::move(why)}); }

    // A group that is being looked at, for as long as this lives: a link inside it may lead back to it.
    class Entered {
      public:
        Entered(FieldFinder& finder, ObjectId id) : finder_(finder), id_(id) { finder_.entered_.insert(id); }
        Entered(Entered const&) = delete;
        Entered& operator=(Entered const&) = delete;
        ~Entered() {
            auto const found = finder_.entered_.find(id_);
            THALWEG_ASSERT(found != finder_.entered_.end(), "a group that is left was entered");
            finder_.entered_.erase(found);
        }

      private:
        FieldFinder& finder_;
        ObjectId id_;
    };
    // Whether the child leads back to a group that is being looked at; then a note says so.
    bool leads_back(std::string const& path, Child const& child);

    std::vector<model::LeftOut> left_out;
    std::vector<std::string> notes; // of what is found under several names
    std::vector<FoundField> apart;  // what lies within a list and is not one item an element

  private:
    std::optional<FoundField> field(std::string const& path, Child const& child, std::size_t depth);
    std::optional<FoundField> group(std::string const& path, Child const& child, std::size_t depth);
    FoundField dataset(std::string const& path);
    void make_list(FoundField& group);

    ReadingFile& file_;
    FileHandle const& handle_;
    std::multiset<ObjectId> entered_;
    std::map<ObjectId, std::string> seen_; // where a dataset or group was found first
    std::size_t repeats_ = 0;
};

bool is_list(std::vector<Child> const& children);

} // namespace thalweg::format::hdf5::others
