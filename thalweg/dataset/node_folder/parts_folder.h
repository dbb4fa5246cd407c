// What the nodes of one run share beside its file: the folder `run.h5.parts`. Nodes agree by names that are created
// once, by the node that is first: there are no locks, which do not reach over nodes everywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "thalweg/dataset/journal/journal_preamble.h"

namespace thalweg::dataset {

// As users count nodes, from 1: "node 2".
std::string name_of_node(std::uint32_t node);

// Returns true if the list of its folder has this name. Only a list says that a name is missing: a machine may keep for
// a while that it did not find one, and is not asked for a name before the list has it.
bool is_listed(std::string const& path);

class PartsFolder {
  public:
    explicit PartsFolder(std::string const& data_path) : path_(data_path + ".parts") {}

    std::string const& path() const { return path_; }
    bool is_there() const;
    bool is_listed() const;

    // Returns the names in it; none if it is not there.
    using Names = std::set<std::string, std::less<>>;
    Names names() const;
    bool has(std::string const& name) const { return dataset::is_listed(path_ + "/" + name); }
    // Returns the name of a node's journal.
    static std::string journal_name(std::uint32_t node);
    bool has_journal(std::uint32_t node) const { return has(journal_name(node)); }
    // Throws base::UsageError if it is there.
    void make() const;

    std::string journal(std::uint32_t node) const;
    // A file that grows while this node lives.
    std::string beats(std::uint32_t node) const;
    // A file whose blocks are kept for the metadata that this node's rows will need.
    std::string room(std::uint32_t node) const;
    // A file whose blocks are kept for what this node announces, since each announcement needs some.
    std::string spare(std::uint32_t node) const;
    void keep_spare(std::uint32_t node) const;
    // Gives some of these blocks back to the disk. Returns false if there are none.
    bool give_up_spare(std::uint32_t node) const;
    std::vector<std::uint32_t> nodes_with_journal() const; // ascending
    std::vector<std::uint32_t> dead_nodes() const;         // that others have taken for dead, ascending

    // Keys of work units are taken in a folder of their own, which has to be made.
    std::string keys() const { return path_ + "/keys"; }

    // Returns false if a node has it already.
    bool take_region(std::uint32_t number) const;
    std::vector<std::uint32_t> regions() const; // that were taken, ascending

    // Creates a name that says all by itself. Returns false if it is there already. `make_room`: see `announce`.
    bool take(std::string const& name, std::function<bool()> const& make_room) const;
    // Creates a name with a text, which others see whole or not at all. Returns false if it is there already: that one
    // stays then. If the disk is full, `make_room` is called, and it is tried again as long as that returns true.
    bool announce(std::string const& name, std::string const& text, std::function<bool()> const& make_room = {}) const;
    std::optional<std::string> announced(std::string const& name) const { return announced(name, names()); }
    std::optional<std::string> announced(std::string const& name, Names const& names) const;

    // Removes, for a run that goes on, all that its nodes have announced. Their journals and the regions stay.
    void forget_announcements() const;

    void sync() const;
    // All that is in it, and then itself: the journal of the first node goes first, and without it there is no run.
    void remove() const;

  private:
    std::string path_;
};

// What nodes announce.
inline constexpr char const* kBegun = "begun";       // all nodes are there
inline constexpr char const* kFailure = "failure";   // the run cannot be completed by the nodes that write it: why
inline constexpr char const* kComplete = "complete"; // the file is: its tables, as JSON. Soon the folder is gone
inline constexpr char const* kRules = "rules";       // NodeRules, where they are not the usual ones
inline constexpr char const* kCompleting =
    "closing"; // the node that completes the file; no region is taken from then on
inline constexpr char const* kRecovering = "recovering"; // the run is being recovered, as all nodes are said to be down
inline constexpr char const* kResuming = "resuming";     // the first node resumes the run: which attempt it is
inline constexpr char const* kResumed = "resumed";       // that attempt's end: what each node has to know
std::string dead_name(std::uint32_t node);               // the others go on without it: why
std::string finished_name(std::uint32_t node);           // all that this node had is in its journal, and durable
std::string returned_name(std::uint32_t node);           // it is there again: in which attempt to resume the run

} // namespace thalweg::dataset
