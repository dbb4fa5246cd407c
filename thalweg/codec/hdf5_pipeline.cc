#include "thalweg/codec/hdf5_pipeline.h"

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"
#include "thalweg/base/scratch.h"
#include "thalweg/codec/fletcher32.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace thalweg::codec {
namespace {

constexpr std::string_view kPrefix = "hdf5:";
constexpr std::string_view kChecksum = "fletcher32";
constexpr std::size_t kChecksumBytes = 4;

PipelineStage parse_stage(std::string_view text, std::size_t element_bytes) {
    if (text == kChecksum) return {true, {}, 0};
    auto const slash = text.find('/');
    if (slash != text.npos) {
        auto const digits = text.substr(slash + 1);
        auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), element_bytes);
        if (error != std::errc() || end != digits.data() + digits.size()) {
            base::fail_usage({fmt::format("no codec \"{}\"", text), "what follows the slash is no size"});
        }
    }
    return {false, Spec::parse(text.substr(0, slash)), element_bytes};
}

class Pipeline : public Codec {
  public:
    explicit Pipeline(std::vector<PipelineStage> stages) : stages_(std::move(stages)) {
        for (auto const& stage : stages_) {
            codecs_.push_back(stage.is_checksum ? nullptr : make_codec(stage.spec, stage.element_bytes));
        }
    }

    std::size_t bound_bytes(std::size_t) const override { return 0; }
    std::size_t encode(std::span<std::byte const>, std::span<std::byte>) override {
        base::fail_usage({"chunks of other programs' filters are only read"});
    }

    void decode(std::span<std::byte const> stored, std::span<std::byte> raw) override {
        std::size_t turn = 0;
        for (auto i = stages_.size(); i-- > 0;) {
            THALWEG_ASSERT(stages_[i].is_checksum == (codecs_[i] == nullptr), "a stage is a checksum or has a codec");
            if (stages_[i].is_checksum) {
                stored = check_fletcher32(stored);
                continue;
            }
            // Only a compression changes the size otherwise, and there is one at most.
            auto const size =
                stages_[i].spec.compression == Compression::none ? stored.size() : raw.size() + checksum_bytes(i);
            auto const out = i == 0 ? raw : std::span(scratch_[turn++ % 2].of(size), size);
            codecs_[i]->decode(stored, out);
            stored = out;
        }
        if (stored.data() == raw.data()) return;
        if (stored.size() != raw.size()) {
            base::fail_data({fmt::format("{} bytes are stored of a page of {}", stored.size(), raw.size())});
        }
        std::copy(stored.begin(), stored.end(), raw.begin());
    }

  private:
    // That of the stages in front of `stage`.
    std::size_t checksum_bytes(std::size_t stage) const {
        auto const end = stages_.begin() + static_cast<std::ptrdiff_t>(stage);
        auto const sums = std::count_if(stages_.begin(), end, [](auto const& each) { return each.is_checksum; });
        return kChecksumBytes * static_cast<std::size_t>(sums);
    }

    std::vector<PipelineStage> stages_;
    std::vector<std::unique_ptr<Codec>> codecs_; // none: a checksum
    base::Scratch scratch_[2];
};

} // namespace

std::string pipeline_name(std::vector<PipelineStage> const& stages, std::size_t element_bytes) {
    if (stages.empty()) return Spec{}.name();
    if (stages.size() == 1 && !stages[0].is_checksum && stages[0].element_bytes == element_bytes) {
        return stages[0].spec.name();
    }
    std::string name(kPrefix);
    for (auto const& stage : stages) {
        if (name.size() > kPrefix.size()) name += '|';
        name += stage.is_checksum ? std::string(kChecksum) : stage.spec.name();
        if (!stage.is_checksum && stage.element_bytes != element_bytes) name += fmt::format("/{}", stage.element_bytes);
    }
    return name;
}

bool is_hdf5_pipeline(std::string_view name) { return name.starts_with(kPrefix); }

std::unique_ptr<Codec> make_hdf5_pipeline(std::string_view name, std::size_t element_bytes) {
    std::vector<PipelineStage> stages;
    for (auto rest = name.substr(kPrefix.size());;) {
        auto const bar = rest.find('|');
        stages.push_back(parse_stage(rest.substr(0, bar), element_bytes));
        if (bar == rest.npos) break;
        rest.remove_prefix(bar + 1);
    }
    return std::make_unique<Pipeline>(std::move(stages));
}

} // namespace thalweg::codec
