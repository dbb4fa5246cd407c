#include "thalweg/source/digitizer.h"

#include <fmt/format.h>
#include <mutex>

#include "thalweg/base/error.h"
#include "thalweg/source/digitizer_options.h"
#include "thalweg/source/pulse_pool.h"
#include "thalweg/source/readers.h"

namespace thalweg::source {
namespace {

class Digitizer : public Source {
  public:
    explicit Digitizer(DigitizerOptions const& options) : options_(options) {
        for (std::uint32_t channel = 0; channel < options.channels; ++channel) {
            auto table = table_of_channel(options, channel);
            streams_.push_back({table.name, std::move(table)});
        }
    }

    std::vector<Stream> const& streams() const override { return streams_; }

    std::unique_ptr<StreamReader> open(std::size_t stream) override {
        if (stream >= streams_.size())
            base::fail_usage({fmt::format("no stream {}", stream), fmt::format("there are {}", streams_.size())});
        // Only readers need the pulses; a caller that asks only for the streams does not pay for them.
        if (options_.waveforms)
            std::call_once(pool_made_, [&] { pool_ = std::make_shared<PulsePool const>(options_); });
        auto const channel = static_cast<std::uint32_t>(stream);
        return options_.rate.is_max() ? make_free_reader(options_, channel, pool_)
                                      : make_clocked_reader(options_, channel, pool_);
    }

    std::map<std::string, std::string> metadata() const override { return describe(options_); }

  private:
    DigitizerOptions options_;
    std::vector<Stream> streams_;
    std::once_flag pool_made_;
    std::shared_ptr<PulsePool const> pool_;
};

} // namespace

std::unique_ptr<Source> make_digitizer(DigitizerOptions const& options) {
    validate(options);
    return std::make_unique<Digitizer>(options);
}

} // namespace thalweg::source
