#include <array>

#include "thalweg/base/units.h"
#include "thalweg/tuning/knobs.h"

namespace thalweg::tuning {
namespace {

using base::kGiB;
using base::kKiB;
using base::kMiB;
using model::LayoutOptions;

constexpr double kMillisecond = 1e6;
constexpr double kHour = 3600e9;

// The member that is reached through all of these, one after the other.
template <auto... Members> auto& at(Tuning& tuning) { return (tuning.*....*Members); }

// One line a knob: docs/knobs.md is made from it, and so are the texts of `thalweg knobs`. Defaults stand in options.h.
constexpr std::array kKnobs{
    Knob{"wide_page_bytes", Kind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::wide_page_bytes>, 1, 2 * kGiB,
         "Raw size of a page of a column whose items have 1 KiB or more."},
    Knob{"narrow_page_bytes", Kind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::narrow_page_bytes>, 1,
         2 * kGiB, "Raw size of a page of every other column."},
    Knob{"table_page_bytes", Kind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::table_page_bytes>, 1,
         64 * kGiB, "The pages of one table, one page of each column, stay together below this raw size."},
    Knob{"block_bytes", Kind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::block_bytes>, 1, 64 * kGiB,
         "In HDF5, a damaged page costs the rows of a block of about this raw size."},
    Knob{"cluster_bytes", Kind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::cluster_bytes>, 0, 64 * kGiB,
         "In an RNTuple, raw size of the rows that a producer ends together as one cluster."},
    Knob{"wide_codec", Kind::codec, Reach::file, &at<&Tuning::layout, &LayoutOptions::wide_codec>, 0, 0,
         "Codec of columns whose items have 1 KiB or more."},
    Knob{"narrow_codec", Kind::codec, Reach::file, &at<&Tuning::layout, &LayoutOptions::narrow_codec>, 0, 0,
         "Codec of all other columns."},
    Knob{"engine", Kind::engine, Reach::writers, &at<&Tuning::write, &WriteOptions::engine>, 0, 0,
         "How bytes reach the file: auto takes the fastest way that the file system and the kernel offer."},
    Knob{"extent_bytes", Kind::size, Reach::writers, &at<&Tuning::write, &WriteOptions::extent_bytes>, 4 * kKiB, kGiB,
         "A producer gathers about this many encoded bytes before it writes them."},
    Knob{"queue_depth", Kind::count, Reach::writers, &at<&Tuning::write, &WriteOptions::queue_depth>, 1, 1024,
         "At most this many writes of one producer are on their way to the file at a time."},
    Knob{"threads", Kind::count, Reach::process, &at<&Tuning::write, &WriteOptions::seal_threads>, 0, 1024,
         "Threads that encode the pages of each producer: with 0 the thread that appends does it."},
    Knob{"memory_bytes", Kind::size, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::memory_bytes>, 4 * kKiB, 1024 * kGiB,
         "Memory of a process for pages that fill and pages that are being written, of all its producers and outputs; "
         "in "
         "an RNTuple pages grow as it allows."},
    Knob{"staging_bytes", Kind::size, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::page_ring_bytes>, 4 * kKiB, 1024ull * 1024 * kGiB,
         "In HDF5, what each producer may have of this at most."},
    Knob{"min_buffers", Kind::count, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::min_buffers>, 2, 4 * kGiB,
         "In HDF5, each column may have this many page buffers, even where they take more than staging_bytes."},
    Knob{"ring_size", Kind::power_of_two, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::ring_size>, 8, 1 << 20,
         "At most this many announced pages of one producer wait for the committer."},
    Knob{"flush_interval", Kind::duration, Reach::committer, &at<&Tuning::commit, &CommitOptions::flush_interval_ns>,
         kMillisecond, kHour, "Payload and journal are synced this often: a power cut costs that time and the sync's."},
    Knob{"interim_footer_share", Kind::share, Reach::committer,
         &at<&Tuning::commit, &CommitOptions::interim_footer_share>, 0, 100,
         "In an RNTuple, what may go to interim footers (which make the open file readable), as a share of the rest; "
         "0: there are none."},
    Knob{"allocate_ahead_bytes", Kind::size, Reach::committer,
         &at<&Tuning::commit, &CommitOptions::allocate_ahead_bytes>, kMiB, 1024 * kGiB,
         "The file is allocated this far ahead of what producers have claimed."},
    Knob{"rows_budget_bytes", Kind::size, Reach::committer, &at<&Tuning::commit, &CommitOptions::rows_budget_bytes>, 0,
         64 * kGiB, "At most this much of rows that are in no page yet goes to the journal in each flush interval."},
    Knob{"journal_units", Kind::flag, Reach::committer, &at<&Tuning::commit, &CommitOptions::journal_units>, 0, 0,
         "Whether these are also rows of committed work units, which then are durable like all others: without it once "
         "they are in pages."},
    Knob{"whole_file_checksum", Kind::flag, Reach::committer, &at<&Tuning::whole_file_checksum>, 0, 0,
         "Whether close computes the Adler-32 checksum of the whole file."},
    Knob{
        "memory_folder", Kind::folder, Reach::committer, &at<&Tuning::memory_folder>, 0, 0,
        "Folder of what /dev/shm has no room for: auto takes what THALWEG_MEMORY_FOLDER names, else that of the file."},
};

} // namespace

std::span<Knob const> knobs() { return kKnobs; }

} // namespace thalweg::tuning
