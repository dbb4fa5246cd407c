#include "thalweg/trace/sample.h"

#include <gtest/gtest.h>
#include <map>

#include "thalweg/trace/trace.h"

namespace thalweg::trace {
namespace {

TEST(Sample, OfEveryCounterAndTimer) {
    counter("sample.sent_bytes").add(7);
    timer("sample.sync").calls.add(2);
    timer("sample.sync").wall_ns.add(1'500'000'000);
    std::map<std::string, double> values;
    for (auto const& sample : samples()) {
        EXPECT_EQ(sample.kind, Sample::Kind::counter);
        values[sample.name] = sample.value;
    }
    EXPECT_EQ(values.at("thalweg_sample_sent_bytes_total"), 7);
    EXPECT_EQ(values.at("thalweg_sample_sync_calls_total"), 2);
    EXPECT_DOUBLE_EQ(values.at("thalweg_sample_sync_wall_seconds_total"), 1.5);
    EXPECT_EQ(values.at("thalweg_sample_sync_cpu_seconds_total"), 0);
}

} // namespace
} // namespace thalweg::trace
