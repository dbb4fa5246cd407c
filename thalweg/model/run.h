// A run as its journal begins and as its file ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "thalweg/model/page.h"

namespace thalweg::model {

// Known at creation; the head of the journal.
struct RunHead {
    std::string id;              // 32 hexadecimal digits, random
    std::uint64_t created_s = 0; // since 1970, UTC
    Schema schema;
    std::vector<std::vector<Column>> columns; // flatten(schema.tables[i])
    std::vector<TableLayout> layouts;         // of the same tables
    std::map<std::string, std::string> metadata;
    // The rows are in the order of the keys of their work units, which are committed in groups of so many consecutive
    // ones. 0: there is no such order.
    std::uint64_t keys_per_group = 0;
    // The settings that the run is written with: the knobs by name, as texts, and how bytes reach the file. Empty in
    // runs of older versions.
    std::map<std::string, std::string> knobs = {};
    std::string engine = {};
};

RunHead make_run_head(Schema schema, LayoutOptions const& options, std::map<std::string, std::string> metadata);

std::string to_json(RunHead const& head);
RunHead run_head_from_json(std::string_view json);

// Known at the end: what close and recover hand to a format.
struct RunFacts {
    std::vector<std::vector<Part>> tables;       // by table, then by producer
    std::map<std::string, std::string> metadata; // of the head, with what was added since
    std::uint64_t end_offset = 0;                // no claimed extent reaches beyond
    std::vector<std::byte> units; // the table of work units: bytes that no format looks into; may be empty
    // Another node may be completing the file, too, and put its metadata behind the end: so the file is cut last.
    bool is_cut_last = false;
    // Not empty: the run is open. A sentence for readers of the file as it is now, which must not take it for complete.
    std::string open_note = {};
};

// An object of another program's file that is not in the map, and why.
struct LeftOut {
    // Readers that stand behind this one decide by the reason, and not by the words of `why`.
    enum class Reason : std::uint8_t { other, tree /* a TTree */, group_name /* no group of ours can have its name */ };
    std::string path; // "/detector/waveform" in HDF5; the table and the field, "events/hits.x", in RNTuple
    std::string why;
    Reason reason = Reason::other;

    std::string str() const; // a sentence

    bool operator==(LeftOut const&) const = default;
};

// The page map of a file, or of a run that is still open: all that a reader needs to know of it.
struct RunMap {
    RunHead head;
    std::vector<TableMap> tables;
    std::map<std::string, std::string> metadata;
    bool closed = true;             // no: the file shows the rows up to interim metadata
    std::vector<LeftOut> left_out;  // of another program's file: the reader reports each of them
    std::vector<std::string> notes; // what is shown otherwise than it is stored
    std::vector<std::byte> units;   // as in RunFacts
    std::string units_fault;        // why they cannot be read, where that is so: everything else still can be
};

} // namespace thalweg::model
