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

// One line a knob. docs/knobs.md and the texts of `thalweg knobs` are made from it. Defaults stand in options.h.
constexpr std::array kKnobs{
    Knob{"wide_page_bytes", KnobKind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::wide_page_bytes>, 1,
         2 * kGiB, "Raw size of the pages of columns whose items have 1 KiB or more."},
    Knob{"narrow_page_bytes", KnobKind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::narrow_page_bytes>, 1,
         2 * kGiB, "Raw size of the pages of all other columns."},
    Knob{"table_page_bytes", KnobKind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::table_page_bytes>, 1,
         64 * kGiB, "Largest raw size of one page of each column of a table, all together."},
    Knob{"block_bytes", KnobKind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::block_bytes>, 1, 64 * kGiB,
         "HDF5 only: raw size of a block of rows. A damaged page costs the rows of its block."},
    Knob{"cluster_bytes", KnobKind::size, Reach::file, &at<&Tuning::layout, &LayoutOptions::cluster_bytes>, 0,
         64 * kGiB, "RNTuple only: raw size of the rows that a producer writes as one cluster."},
    Knob{"wide_codec", KnobKind::codec, Reach::file, &at<&Tuning::layout, &LayoutOptions::wide_codec>, 0, 0,
         "Codec of columns whose items have 1 KiB or more."},
    Knob{"narrow_codec", KnobKind::codec, Reach::file, &at<&Tuning::layout, &LayoutOptions::narrow_codec>, 0, 0,
         "Codec of all other columns."},
    Knob{"engine", KnobKind::engine, Reach::writers, &at<&Tuning::write, &WriteOptions::engine>, 0, 0,
         "How bytes reach the file. auto takes the fastest way that the file system and the kernel offer."},
    Knob{"extent_bytes", KnobKind::size, Reach::writers, &at<&Tuning::write, &WriteOptions::extent_bytes>, 4 * kKiB,
         kGiB, "Number of encoded bytes that a producer gathers before it writes them."},
    Knob{"queue_depth", KnobKind::count, Reach::writers, &at<&Tuning::write, &WriteOptions::queue_depth>, 1, 1024,
         "Largest number of writes of one producer that are in flight at a time."},
    Knob{"threads", KnobKind::count, Reach::process, &at<&Tuning::write, &WriteOptions::seal_threads>, 0, 1024,
         "Number of threads that encode the pages of each producer. With 0, the thread that appends encodes them."},
    Knob{
        "memory_bytes", KnobKind::size, Reach::writers,
        &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::memory_bytes>, 4 * kKiB, 1024 * kGiB,
        "Memory of one process for pages that fill and pages that are being written, of all its producers and outputs. "
        "In an RNTuple, pages grow with it."},
    Knob{"staging_bytes", KnobKind::size, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::page_ring_bytes>, 4 * kKiB, 1024ull * 1024 * kGiB,
         "HDF5 only: the largest part of memory_bytes that one producer may use."},
    Knob{"min_buffers", KnobKind::count, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::min_buffers>, 2, 4 * kGiB,
         "HDF5 only: number of page buffers that each column may have, even if they take more than staging_bytes."},
    Knob{"unbuffered_bytes", KnobKind::size, Reach::writers, &at<&Tuning::write, &WriteOptions::unbuffered_bytes>, 0,
         1024 * kGiB,
         "HDF5 only: if so many bytes of the rows of one append are in whole pages, these are encoded from the "
         "caller's memory, without a copy in page buffers, and append waits until they are in the file. With 0, never. "
         "It does not apply to work units, lists, and producers with threads."},
    Knob{"ring_size", KnobKind::power_of_two, Reach::writers,
         &at<&Tuning::write, &WriteOptions::staging, &StagingOptions::ring_size>, 8, 1 << 20,
         "Largest number of announced pages of one producer that wait for the committer."},
    Knob{"flush_interval", KnobKind::duration, Reach::committer,
         &at<&Tuning::commit, &CommitOptions::flush_interval_ns>, kMillisecond, kHour,
         "Time between two syncs of payload and journal. A power cut costs at most the rows of this time and of the "
         "sync."},
    Knob{
        "interim_footer_share", KnobKind::share, Reach::committer,
        &at<&Tuning::commit, &CommitOptions::interim_footer_share>, 0, 100,
        "Largest size of all interim metadata, which make the open file readable for other programs, as a share of the "
        "rest of the file; and of HDF5 files the share of one CPU that may be spent on them. If the last ones are old, "
        "a run counts as one of 1.6 GiB at least. With 0, there are none."},
    Knob{"allocate_ahead_bytes", KnobKind::size, Reach::committer,
         &at<&Tuning::commit, &CommitOptions::allocate_ahead_bytes>, kMiB, 1024 * kGiB,
         "Number of bytes that the file is allocated ahead of what producers have claimed."},
    Knob{"rows_budget_bytes", KnobKind::size, Reach::committer, &at<&Tuning::commit, &CommitOptions::rows_budget_bytes>,
         0, 64 * kGiB, "Largest size of the rows without a page that go to the journal in each flush interval."},
    Knob{"journal_units", KnobKind::flag, Reach::committer, &at<&Tuning::commit, &CommitOptions::journal_units>, 0, 0,
         "Also journal rows of committed work units. They are then durable, and seen by readers, within "
         "flush_interval; otherwise once their pages are written."},
    Knob{"whole_file_checksum", KnobKind::flag, Reach::committer, &at<&Tuning::whole_file_checksum>, 0, 0,
         "Compute the Adler-32 checksum of the whole file when it is closed."},
    Knob{"memory_folder", KnobKind::folder, Reach::committer, &at<&Tuning::memory_folder>, 0, 0,
         "Folder of shared memory that /dev/shm has no room for. auto takes the folder that THALWEG_MEMORY_FOLDER "
         "names, "
         "or that of the file."},
};

} // namespace

std::span<Knob const> knobs() { return kKnobs; }

} // namespace thalweg::tuning
