#include "thalweg/dataset/complete/snapshot.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/image.h"
#include "thalweg/dataset/run/format_for.h"
#include "thalweg/dataset/run/run_place.h"

namespace thalweg::dataset {
namespace {

void check_out(std::string const& path, std::string const& out, SnapshotOptions const& options) {
    if (&format_for(path) != &format_for(out)) {
        base::fail_usage({fmt::format("cannot write a snapshot of {} to {}", path, out),
                          "a snapshot is of the same container", "let both names end alike, and convert it then"});
    }
    auto const there = base::identity_of(out);
    if (!there) return;
    if (there == base::identity_of(path))
        base::fail_usage({"cannot write a snapshot of " + path + " to itself", "", "choose another name"});
    if (!places_of_run(out).empty())
        base::fail_usage({"cannot write to " + out, "a run is there, open or unfinished", "choose another name"});
    if (!options.force)
        base::fail_usage({"cannot create " + out, "it exists already", "choose another name, or say --force"});
}

} // namespace

SnapshotResult snapshot(std::string const& path, std::string const& out, SnapshotOptions const& options) {
    check_out(path, out, options);
    auto image = image_of_unfinished(path, {.joins_clusters = true, .what = "take a snapshot of"});
    if (!image) {
        base::fail_usage({"cannot take a snapshot of " + path,
                          "it has no journal: it is complete, or was never Thalweg's", "copy it as any other file"});
    }
    SnapshotResult result;
    storage::UnpublishedFile made(out);
    // The open file, not its name, which may be that of another file by now.
    auto const& file = *image->file;
    result.copied = made.copy_from(file.file(), file.file_bytes_in_front(), options.while_copying);
    file.write_changes_to(made);
    made.sync();
    made.publish(options.force);
    result.file_bytes = file.size();
    result.report = std::move(image->report);
    result.path = out;
    result.units_left_out = image->units_left_out;
    result.is_written = image->is_written;
    return result;
}

} // namespace thalweg::dataset
