#include <fmt/format.h>

#include "thalweg/base/clock.h"
#include "thalweg/base/error.h"
#include "thalweg/base/units.h"
#include "thalweg/source/raw/decoder.h"
#include "thalweg/source/raw/readers.h"
#include "thalweg/source/raw/remarks.h"
#include "thalweg/source/raw/senders.h"
#include "thalweg/source/raw/udp_socket.h"
#include "thalweg/source/raw/wait_readable.h"

namespace thalweg::source::raw {
namespace {

// A datagram holds whole rows. One that does not is left out as a whole.
class RowDatagrams : public StreamReader {
  public:
    RowDatagrams(Row const& row, InputAddress const& address)
        : address_(address), has_sync_(shape_of(row).sync.has_value()), framer_(row), decoder_(row),
          senders_(address.peer), socket_(address) {}

    bool next(Batch& batch, std::uint64_t deadline_ns) override {
        for (;;) {
            auto const datagrams = socket_.receive();
            if (datagrams.empty()) {
                socket_.look_at_drops();
                on_board_bytes_ = 0;
                if (!wait_readable(socket_.descriptor(), deadline_ns)) return false;
                continue;
            }
            bool const counts = !paused_ || on_board_bytes_ > 0;
            frames_.clear();
            counts ? take(datagrams) : of_pauses_.add(datagrams.size());
            if (frames_.empty()) {
                if (base::monotonic_ns() >= deadline_ns) return false;
                continue;
            }
            Rows const rows{.base = socket_.memory(), .count = frames_.size(), .frames = frames_.data()};
            batch = {.rows = rows.count, .columns = decoder_.decode(rows)};
            rows_.add(rows.count);
            return true;
        }
    }

    bool ended() const override { return false; }

    Counters counters() const override {
        auto const* const sequence = decoder_.sequence();
        auto const lost = sequence ? sequence->lost() : socket_.dropped();
        Counters counters{.triggers = rows_.get() + lost, .lost = lost, .rows = rows_.get()};
        counters.named = {{"lost_by_kernel", socket_.dropped()},
                          {"bad_datagrams", bad_.get()},
                          {"paused_datagrams", of_pauses_.get()},
                          {"strangers", strangers_.get()},
                          {"other_senders", others_.get()}};
        if (sequence) counters.named["lost_by_sequence"] = sequence->lost();
        if (sequence) counters.named["out_of_order"] = sequence->out_of_order();
        return counters;
    }

    Remarks remarks() const override {
        RemarksOfInput remarks(address_.text);
        remarks.missing_if(socket_.dropped(), "the kernel dropped {} datagrams, because the receive buffer was full");
        if (decoder_.sequence()) remarks.of_sequence(*decoder_.sequence());
        remarks.missing_if(bad_.get(), "{} datagrams do not hold whole rows and are left out");
        remarks.note_if(strangers_.get(), "{} datagrams came from another sender than the peer and are left out");
        remarks.note_if(of_pauses_.get(), "{} datagrams came while the run was paused and are left out");
        if (others_.get() > 0)
            remarks.note(fmt::format("{} rows came from other senders than {}: ?peer={} refuses them", others_.get(),
                                     senders_.first(), senders_.first()));
        if (socket_.buffer_bytes() < address_.buffer_bytes)
            remarks.note(fmt::format("the kernel gave a receive buffer of {} instead of {}: `sysctl -w "
                                     "net.core.rmem_max={}` allows it",
                                     base::format_bytes(static_cast<double>(socket_.buffer_bytes())),
                                     base::format_bytes(static_cast<double>(address_.buffer_bytes)),
                                     address_.buffer_bytes));
        return remarks.take();
    }

    // What is in the receive buffer at this time still comes; later datagrams are received and left out, so that they
    // do not fill it.
    void pause() override {
        paused_ = true;
        on_board_bytes_ = static_cast<std::int64_t>(socket_.waiting_bytes());
    }
    void resume() override {
        paused_ = false;
        if (decoder_.sequence()) decoder_.sequence()->forget();
    }

  private:
    void take(std::span<Datagram const> datagrams) {
        for (auto const& datagram : datagrams) {
            on_board_bytes_ -= static_cast<std::int64_t>(datagram.size_bytes);
            auto const sender = senders_.of(*datagram.sender);
            if (sender == Senders::Sender::stranger) {
                strangers_.add(1);
                continue;
            }
            auto const before = frames_.size();
            if (add_rows(datagram)) {
                if (sender == Senders::Sender::other) others_.add(frames_.size() - before);
            } else {
                frames_.resize(before);
                bad_.add(1);
            }
        }
    }

    // Returns false if the datagram does not hold whole rows.
    bool add_rows(Datagram const& datagram) {
        std::span const bytes(socket_.memory() + datagram.offset, datagram.size_bytes);
        std::size_t at = 0, items = 0;
        while (at < bytes.size()) {
            auto const end = framer_.end_of(bytes, at, items);
            if (end > bytes.size() || (has_sync_ && !framer_.has_sync(bytes, at))) return false;
            frames_.push_back({datagram.offset + at, items});
            at = end;
        }
        return !bytes.empty();
    }

    InputAddress address_;
    bool has_sync_;
    Framer framer_;
    Decoder decoder_;
    Senders senders_;
    UdpSocket socket_;
    std::vector<Frame> frames_;
    bool paused_ = false;
    std::int64_t on_board_bytes_ = 0; // of a paused stream: what was in the receive buffer and did not come yet
    base::SharedNumber rows_, bad_, of_pauses_, strangers_, others_;
};

} // namespace

std::unique_ptr<StreamReader> open_datagrams(Row const& row, InputAddress const& address) {
    return std::make_unique<RowDatagrams>(row, address);
}

} // namespace thalweg::source::raw
