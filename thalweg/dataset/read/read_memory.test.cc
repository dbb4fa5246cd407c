// What readers have for scratch, measured as the kernel counts it.
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thalweg/base/parallel.h"
#include "thalweg/base/scratch_budget.h"
#include "thalweg/base/units.h"
#include "thalweg/dataset/complete/recover.h"
#include "thalweg/dataset/read/reader.h"
#include "thalweg/dataset/read/verify.h"
#include "thalweg/dataset/testing.h"

namespace thalweg::dataset {
namespace {

using namespace testing;

constexpr std::uint64_t kPageBytes = 4 * base::kMiB;
constexpr std::uint64_t kPages = 24;
constexpr std::uint64_t kRows = kPages * kPageBytes / 8;
constexpr unsigned kThreads = 12;
constexpr std::uint64_t kBudget = 10 * base::kMiB;
constexpr std::uint64_t kOther = 12 * base::kMiB; // stacks, heaps, page maps, what each thread keeps for small pages

// Does not shrink.
std::uint64_t number_at(std::uint64_t row) {
    auto word = (row + 1) * 0x9e3779b97f4a7c15;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    return word ^ word >> 31;
}

// The most anonymous memory that the work takes beside what was there before, in a process of its own; 0 where it
// fails.
std::uint64_t peak_bytes(std::function<bool()> const& work) {
    int ends[2];
    if (::pipe(ends) != 0) return 0;
    auto const child = ::fork();
    if (child == 0) {
        auto const value = [](std::string const& name) {
            std::ifstream status("/proc/self/status");
            for (std::string word; status >> word;) {
                std::uint64_t kib = 0;
                if (word == name && status >> kib) return kib * base::kKiB;
            }
            return std::uint64_t{0};
        };
        std::ofstream("/proc/self/clear_refs") << 5; // the peak begins anew
        auto const before = value("VmRSS:");
        auto const done = work();
        std::uint64_t const peak = done ? value("VmHWM:") - before + 1 : 0;
        static_cast<void>(!::write(ends[1], &peak, sizeof peak));
        ::_exit(0);
    }
    std::uint64_t peak = 0;
    static_cast<void>(!::read(ends[0], &peak, sizeof peak));
    ::waitpid(child, nullptr, 0);
    ::close(ends[0]);
    ::close(ends[1]);
    return peak;
}

class ReadMemory : public ::testing::TestWithParam<std::tuple<char const*, char const*>> {
  protected:
    ReadMemory() : path_(directory_.file(std::get<0>(GetParam()))) {}
    ~ReadMemory() override { base::set_read_memory_bytes(before_); }

    void SetUp() override {
        if (kWhyNoFork) GTEST_SKIP() << "the memory of a sanitizer counts here, too";
    }

    void write(bool close) {
        CreateOptions options;
        options.layout.narrow_page_bytes = kPageBytes;
        options.layout.cluster_bytes = kPageBytes;
        options.layout.narrow_codec = std::get<1>(GetParam());
        model::Schema const schema{{{"t", {scalar("x", model::Scalar::uint64)}, ""}}};
        auto const writer = Writer::create(path_, schema, options);
        auto producer = writer->producer("t");
        std::vector<std::uint64_t> numbers(kRows / 8);
        for (std::uint64_t first = 0; first < kRows; first += numbers.size()) {
            for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = number_at(first + i);
            std::span<std::byte const> const columns[] = {std::as_bytes(std::span(numbers))};
            producer.append(numbers.size(), columns);
        }
        producer.finish();
        if (close)
            writer->close(kTimeoutNs);
        else
            writer->abandon();
    }

    Directory directory_;
    std::string path_;

  private:
    std::uint64_t before_ = base::read_memory_bytes();
};

TEST_P(ReadMemory, VerifyKeepsToIt) {
    write(true);
    auto const verified = [&] { return verify(path_, kThreads).faults == 0; };
    base::set_read_memory_bytes(kBudget);
    auto const with_some = peak_bytes(verified);
    EXPECT_GT(with_some, 0u);
    EXPECT_LE(with_some, kBudget + kOther);
}

TEST_P(ReadMemory, ReadKeepsToIt) {
    write(true);
    std::vector<std::uint64_t> numbers(kRows - 2, 1); // of the first and the last page a part
    auto const is_read = [&] {
        Reader::open(path_)->read(0, 0, {1, numbers.size()}, std::as_writable_bytes(std::span(numbers)),
                                  {.threads = kThreads});
        for (std::size_t i = 0; i < numbers.size(); i += 1013) {
            if (numbers[i] != number_at(i + 1)) return false;
        }
        return true;
    };
    base::set_read_memory_bytes(kBudget);
    auto const with_some = peak_bytes(is_read);
    EXPECT_GT(with_some, 0u);
    EXPECT_LE(with_some, kBudget + kOther) << "beside the result, which has its memory already";
}

TEST_P(ReadMemory, RecoverKeepsToIt) {
    write(false);
    base::set_read_memory_bytes(kBudget);
    auto const peak = peak_bytes([&] { return recover(path_).report.tables[0].rows == kRows; });
    EXPECT_GT(peak, 0u);
    EXPECT_LE(peak, kBudget + kOther);
}

INSTANTIATE_TEST_SUITE_P(Containers, ReadMemory,
                         ::testing::Combine(::testing::Values("run.h5", "run.root"),
                                            ::testing::Values("none", "zstd-1")));

} // namespace
} // namespace thalweg::dataset
