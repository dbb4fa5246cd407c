#include "thalweg/source/raw/raw.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/source/raw/input_address.h"
#include "thalweg/source/raw/readers.h"
#include "thalweg/source/raw/senders.h"
#include "thalweg/transport/address.h"

namespace thalweg::source::raw {
namespace {

// What is no address is refused before there is a file.
void check_place(InputAddress const& address) {
    auto const kind = address.kind;
    if (kind == InputAddress::Kind::tcp || kind == InputAddress::Kind::listen || kind == InputAddress::Kind::udp)
        transport::parse_address(address.place);
    Senders const of_peer(address.peer);
}

class RawSource : public Source {
  public:
    explicit RawSource(RawOptions options) : options_(std::move(options)) {
        for (auto const& stream : options_.streams) {
            inputs_.push_back(parse_input(stream.input));
            check_place(inputs_.back());
            if (!stream.shown.empty()) inputs_.back().text = stream.shown;
            shape_of(stream.row); // throws if it is wrong
            streams_.push_back({stream.row.table, table_of(stream.row)});
        }
        model::validate(schema());
    }

    std::vector<Stream> const& streams() const override { return streams_; }

    std::unique_ptr<StreamReader> open(std::size_t stream) override {
        if (stream >= streams_.size())
            base::fail_usage({fmt::format("no stream {}", stream), fmt::format("there are {}", streams_.size())});
        auto const& row = options_.streams[stream].row;
        return inputs_[stream].kind == InputAddress::Kind::udp
                   ? open_datagrams(row, inputs_[stream])
                   : open_stream(row, inputs_[stream], options_.batch_bytes);
    }

    std::map<std::string, std::string> metadata() const override {
        auto metadata = options_.metadata;
        metadata.insert({{"source", "raw"}, {"clock_domain", "that of the input"}});
        for (auto const& stream : options_.streams)
            metadata.insert(
                {options_.streams.size() == 1 ? "input" : fmt::format("input of {}", stream.row.table), stream.input});
        return metadata;
    }

  private:
    RawOptions options_;
    std::vector<InputAddress> inputs_;
    std::vector<Stream> streams_;
};

} // namespace

std::unique_ptr<Source> make_raw(RawOptions options) { return std::make_unique<RawSource>(std::move(options)); }

} // namespace thalweg::source::raw
