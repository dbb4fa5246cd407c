#include <algorithm>
#include <fmt/format.h>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/source/raw/byte_buffer.h"
#include "thalweg/source/raw/decoder.h"
#include "thalweg/source/raw/readers.h"
#include "thalweg/source/raw/remarks.h"
#include "thalweg/source/raw/stream_input.h"
#include "thalweg/source/wait.h"

namespace thalweg::source::raw {
namespace {

// As much as stays in the cache of one core, from the kernel's copy to the copy into the page buffers.
constexpr std::size_t kBufferBytes = 256 * base::kKiB;

class RowStream : public StreamReader {
  public:
    RowStream(Row const& row, InputAddress const& address, std::size_t batch_bytes)
        : text_(address.text), row_bytes_(shape_of(row).fixed_bytes), framer_(row), decoder_(row), input_(address),
          buffer_(kBufferBytes),
          batch_rows_(std::max<std::size_t>(1, batch_bytes / std::max<std::size_t>(1, row_bytes_))) {}

    bool next(Batch& batch, std::uint64_t deadline_ns) override {
        for (;;) {
            if (show(batch)) return true;
            if (ended()) return false;
            if (paused_) {
                sleep_until(deadline_ns);
                return false;
            }
            if (connection_ended_) {
                close_connection();
                continue;
            }
            if (!fill(deadline_ns)) return false;
        }
    }

    bool ended() const override { return input_ended_ && buffer_.size() == 0; }

    Counters counters() const override {
        auto const rows = rows_.get(), lost = decoder_.sequence() ? decoder_.sequence()->lost() : 0;
        Counters counters{.triggers = rows + lost, .lost = lost, .rows = rows};
        auto& named = counters.named;
        named = {{"cut_rows", framer_.cut_rows()},
                 {"garbage_bytes", framer_.garbage_bytes()},
                 {"left_over_bytes", left_over_.get()}};
        if (framer_.has_lengths()) named["bad_lengths"] = framer_.bad_lengths();
        if (decoder_.sequence()) named["out_of_order"] = decoder_.sequence()->out_of_order();
        if (input_.can_come_again()) {
            named["reconnects"] = input_.reconnects();
            named["refused_connections"] = input_.refused_connections();
        }
        named["reads"] = input_.reads();
        named["full_reads"] = input_.full_reads();
        return counters;
    }

    Remarks remarks() const override {
        RemarksOfInput remarks(text_);
        remarks.missing_if(left_over_.get(),
                           "it ended within a row: {} bytes are left over, and the rows before them are kept");
        remarks.missing_if(framer_.cut_rows() - cut_at_end_, "{} rows were cut and are left out");
        remarks.missing_if(framer_.bad_lengths(), "the length of {} rows cannot be true: they are left out");
        remarks.missing_if(framer_.garbage_bytes(),
                           rows_.get() > 0
                               ? "{} bytes between rows belong to no row and are left out"
                               : "no row was found in its {} bytes: look at the sync word and its byte order");
        if (decoder_.sequence()) remarks.of_sequence(*decoder_.sequence());
        remarks.note_if(input_.reconnects(), "it was connected again {} times");
        remarks.note_if(input_.refused_connections(), "{} connections were refused, because another one was open");
        if (input_.full_reads() > 0)
            remarks.note(fmt::format("its buffer was full at {} of {} reads: its sender had to wait for the recorder, "
                                     "and nothing was lost by that",
                                     input_.full_reads(), input_.reads()));
        if (!input_ended_)
            remarks.note_if(buffer_.size(),
                            "{} bytes of a row that had not ended were there when the recording stopped");
        if (!input_.problem().empty()) remarks.missing(input_.problem());
        return remarks.take();
    }

    void pause() override { paused_ = true; }
    void resume() override { paused_ = false; }

  private:
    // Shows the next rows of the buffer, if there are any.
    bool show(Batch& batch) {
        for (;;) {
            auto const bytes = buffer_.bytes();
            auto const found = framer_.find(bytes, connection_ended_, batch_rows_);
            if (found.bytes == 0) return false;
            buffer_.use(found.bytes);
            if (found.rows == 0) continue; // these bytes belong to no row
            Rows const rows{.base = bytes.data(),
                            .count = found.rows,
                            .stride = row_bytes_,
                            .frames = found.frames.empty() ? nullptr : found.frames.data()};
            batch = {.rows = found.rows, .columns = decoder_.decode(rows)};
            rows_.add(found.rows);
            return true;
        }
    }

    // Returns false if there is nothing to read.
    bool fill(std::uint64_t deadline_ns) {
        std::size_t count = 0;
        auto const state = input_.read(buffer_.room(), count, deadline_ns);
        buffer_.add(count);
        connection_ended_ = state == StreamInput::State::broken || state == StreamInput::State::ended;
        will_end_ = state == StreamInput::State::ended;
        return state != StreamInput::State::nothing;
    }

    // What is left in the buffer is the beginning of a row whose end will not come.
    void close_connection() {
        if (buffer_.size() > 0) framer_.count_cut_row();
        if (will_end_ && buffer_.size() > 0) cut_at_end_ = 1;
        if (will_end_) left_over_.set(buffer_.size());
        buffer_.clear();
        framer_.reset();
        if (decoder_.sequence()) decoder_.sequence()->begin_anew();
        connection_ended_ = false;
        input_ended_ = will_end_;
    }

    std::string text_;
    std::size_t row_bytes_;
    Framer framer_;
    Decoder decoder_;
    StreamInput input_;
    ByteBuffer buffer_;
    std::size_t batch_rows_;
    bool paused_ = false;
    bool connection_ended_ = false; // no more bytes belong to what is in the buffer
    bool will_end_ = false;         // and there will be no other connection
    bool input_ended_ = false;
    std::uint64_t cut_at_end_ = 0;
    base::SharedNumber rows_, left_over_;
};

} // namespace

std::unique_ptr<StreamReader> open_stream(Row const& row, InputAddress const& address, std::size_t batch_bytes) {
    return std::make_unique<RowStream>(row, address, batch_bytes);
}

} // namespace thalweg::source::raw
