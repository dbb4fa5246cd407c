// Which tables there are in files that Thalweg did not write.
#pragma once

#include <utility>

#include "thalweg/format/hdf5/others/field_finder.h"

namespace thalweg::format::hdf5::others {

struct FoundTable {
    std::string name;
    bool is_path = false; // the name is that of a group or dataset: invented ones give way to it
    std::vector<FoundField> fields;
    std::string description = {};
};

// Walks through a file. A group with datasets is a table, and so is a list among groups.
class TableFinder {
  public:
    TableFinder(ReadingFile& file, FileHandle const& handle, std::string root_name)
        : finder_(file, handle), handle_(handle), root_name_(std::move(root_name)) {}

    std::vector<FoundTable> find();
    std::vector<model::LeftOut>& left_out() { return finder_.left_out; }
    std::vector<std::string>& notes() { return finder_.notes; }

  private:
    void explore(std::string const& path, Child const& group, std::size_t depth);
    void explore_children(std::string const& path, std::size_t depth);
    bool is_list_at(std::string const& path) const;
    bool is_lh5_table(std::string const& path) const;
    void add_tables(FoundTable table, std::string const& path);

    FieldFinder finder_;
    FileHandle const& handle_;
    std::string root_name_;
    std::vector<FoundTable> tables_;
    std::map<ObjectId, std::string> explored_;
    std::vector<std::pair<std::string, Child>>
        linked_; // groups that soft links lead to: where else they are comes first
};

} // namespace thalweg::format::hdf5::others
