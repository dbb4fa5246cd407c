#include "thalweg/dataset/merge/merge.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/dataset/merge/merged_text.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/run_place.h"
#include "thalweg/format/rntuple/format.h"
#include "thalweg/storage/steady_file.h"
#include "thalweg/storage/unpublished_file.h"

namespace thalweg::dataset {
namespace {

using format::rntuple::MergeInput;

[[noreturn]] void refuse(std::string const& path, std::string const& why, std::string const& suggestion) {
    base::fail_usage({path + " cannot be merged", why, suggestion});
}

void check_container(std::string const& path, format::Format const& format) {
    if (&format == &format::rntuple::rntuple_format()) return;
    refuse(path, "only clusters of RNTuples can be copied as they are: chunks of one HDF5 dataset all have one size",
           "convert it to .root first, or read several files one after the other");
}

void check_out(std::vector<std::string> const& inputs, std::string const& out, MergeOptions const& options) {
    check_container(out, format_for(out));
    auto const there = base::identity_of(out);
    if (!there) return;
    for (auto const& input : inputs) {
        if (there == base::identity_of(input)) refuse(input, "the result would be that file", "choose another name");
    }
    if (!places_of_run(out).empty())
        base::fail_usage({"cannot write to " + out, "a run is there, open or unfinished", "choose another name"});
    if (!options.force)
        base::fail_usage({"cannot create " + out, "it exists already", "choose another name, or say --force"});
}

// Files of one identity, or of one run, would count their rows twice.
class Originals {
  public:
    void add(std::string const& path, std::optional<std::string> const& run_id) {
        auto const identity = base::identity_of(path);
        for (auto const& each : seen_) {
            if (each.identity == identity) refuse(path, "it is the same file as " + each.path, "name it once");
            if (run_id && each.run_id == run_id)
                refuse(path, fmt::format("it is a copy of {}: both are run {}", each.path, *run_id),
                       "name one of them");
        }
        seen_.push_back({path, identity, run_id});
    }

  private:
    struct Seen {
        std::string path;
        std::optional<base::FileIdentity> identity;
        std::optional<std::string> run_id;
    };
    std::vector<Seen> seen_;
};

MergeInput checked_input(std::string const& path) {
    if (!base::identity_of(path)) refuse(path, "there is no such file", "name files that are there");
    check_container(path, format_of(storage::SteadyFile(path)));
    auto input = format::rntuple::read_input(path);
    if (!places_of_run(path).empty() || (input.content.text && !input.content.text->closed))
        refuse(path, "it is still being written, or was left behind by a crash",
               "wait for its end, recover it, or take a snapshot of it");
    return input;
}

} // namespace

MergeResult merge(std::vector<std::string> const& inputs, std::string const& out, MergeOptions const& options) {
    if (inputs.empty()) base::fail_usage({"nothing can be merged", "no file is named", "name the files to be merged"});
    check_out(inputs, out, options);
    Originals originals;
    std::vector<MergeInput> read;
    for (auto const& path : inputs) {
        read.push_back(checked_input(path));
        auto const& content = read.back().content;
        originals.add(path, is_own(content) ? std::optional(content.text->head.id) : std::nullopt);
    }
    check_alike(read);

    MergeResult result;
    result.path = out;
    std::optional<MergeInput> beside;
    if (!options.beside.empty()) beside = checked_input(options.beside);
    auto const text = merged_text(read, beside, options.metadata, result);
    storage::UnpublishedFile made(out);
    auto const merged = format::rntuple::merge(read, beside, made, text, options.while_copying);
    for (auto const& table : merged.tables)
        result.tables.push_back({table.name, table.rows, table.clusters, table.pages});
    result.copied_bytes = merged.copied_bytes;
    result.file_bytes = merged.file_bytes;
    made.publish(options.force);
    return result;
}

} // namespace thalweg::dataset
