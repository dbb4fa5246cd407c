#include "thalweg/monitor/prometheus.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace thalweg::monitor {
namespace {

using Kind = trace::Sample::Kind;

TEST(Prometheus, AsItIsWritten) {
    EXPECT_EQ(prometheus_text({
                  {"thalweg_packets_total", "Packets in", Kind::counter, {{"group", "0"}}, 46'200'000},
                  {"thalweg_depth_seconds", "How long \\ the\nindex lasts", Kind::gauge, {}, 1.5},
                  {"thalweg_packets_total", "Packets in", Kind::counter, {{"group", "1"}, {"link", "a"}}, 0},
                  {"thalweg_up", "", Kind::gauge, {}, 1},
              }),
              "# HELP thalweg_packets_total Packets in\n"
              "# TYPE thalweg_packets_total counter\n"
              "thalweg_packets_total{group=\"0\"} 46200000\n"
              "thalweg_packets_total{group=\"1\",link=\"a\"} 0\n"
              "# HELP thalweg_depth_seconds How long \\\\ the\\nindex lasts\n"
              "# TYPE thalweg_depth_seconds gauge\n"
              "thalweg_depth_seconds 1.5\n"
              "# TYPE thalweg_up gauge\n"
              "thalweg_up 1\n");
    EXPECT_EQ(prometheus_text({}), "");
}

TEST(Prometheus, LabelsOfAnyText) {
    EXPECT_EQ(prometheus_text({{"a", "", Kind::gauge, {{"l", "C:\\x \"y\"\nz {}"}}, 1}}),
              "# TYPE a gauge\na{l=\"C:\\\\x \\\"y\\\"\\nz {}\"} 1\n");
}

TEST(Prometheus, AHistogramIsOneFamily) {
    EXPECT_EQ(prometheus_text({
                  {"a_seconds_bucket", "Time", Kind::histogram, {{"le", "0.1"}}, 1},
                  {"a_seconds_bucket", "Time", Kind::histogram, {{"le", "+Inf"}}, 2},
                  {"b_count", "", Kind::counter, {}, 5},
                  {"a_seconds_count", "Time", Kind::histogram, {}, 2},
                  {"a_seconds_sum", "Time", Kind::histogram, {}, 0.5},
              }),
              "# HELP a_seconds Time\n"
              "# TYPE a_seconds histogram\n"
              "a_seconds_bucket{le=\"0.1\"} 1\n"
              "a_seconds_bucket{le=\"+Inf\"} 2\n"
              "a_seconds_count 2\n"
              "a_seconds_sum 0.5\n"
              "# TYPE b_count counter\n"
              "b_count 5\n");
}

std::string written(double value) {
    auto const text = prometheus_text({{"a", "", Kind::gauge, {}, value}});
    return text.substr(text.rfind("a ") + 2);
}

TEST(Prometheus, NumbersComeBackAsTheyWere) {
    for (double const value : {0.1, -2.5, 1e-300, 1.7976931348623157e308, 999'999'999'999'999.0, 9007199254740993.0,
                               18446744073709551615.0}) {
        EXPECT_EQ(std::stod(written(value)), value);
    }
    EXPECT_EQ(written(123'456'789'012'345.0), "123456789012345\n");
    EXPECT_EQ(written(std::nan("")), "NaN\n");
    EXPECT_EQ(written(std::numeric_limits<double>::infinity()), "+Inf\n");
    EXPECT_EQ(written(-std::numeric_limits<double>::infinity()), "-Inf\n");
}

} // namespace
} // namespace thalweg::monitor
