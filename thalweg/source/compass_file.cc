#include <charconv>
#include <cmath>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

#include "thalweg/base/error.h"
#include "thalweg/base/file_descriptor.h"
#include "thalweg/source/compass.h"

namespace thalweg::source {
namespace {

std::vector<std::byte> read_all(std::string const& path) {
    auto const file = base::open_file(path, O_RDONLY);
    std::vector<std::byte> bytes(std::size_t{1} << 20);
    for (std::size_t size = 0;;) {
        if (size == bytes.size()) bytes.resize(2 * size);
        auto const got = ::read(file.get(), bytes.data() + size, bytes.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) base::fail_system({fmt::format("cannot read {}", path)}, errno);
        size += static_cast<std::size_t>(got);
        if (got > 0) continue;
        bytes.resize(size);
        return bytes;
    }
}

// Finds <sampleTime>2000</sampleTime> (ps) in every <board>; boards are numbered in their order. Nothing else is needed
// of an XML file that holds a thousand other things. If it is not found, it stays unknown.
std::vector<double> sample_periods_ns(std::string_view xml) {
    constexpr std::string_view kBoard = "<board>", kTag = "<sampleTime>";
    std::vector<double> periods;
    for (auto at = xml.find(kBoard); at != xml.npos;) {
        auto const end = xml.find(kBoard, at + kBoard.size());
        auto const board = xml.substr(at, end == xml.npos ? xml.npos : end - at);
        double period_ps = NAN;
        if (auto const tag = board.find(kTag); tag != board.npos)
            std::from_chars(board.data() + tag + kTag.size(), board.data() + board.size(), period_ps);
        periods.push_back(period_ps > 0 ? period_ps / 1000 : NAN);
        at = end;
    }
    return periods;
}

std::vector<double> periods_beside(std::filesystem::path const& file) {
    auto same_name = file;
    same_name.replace_extension(".xml");
    for (auto const& path : {same_name, file.parent_path() / "compass.xml", file.parent_path() / "settings.xml"}) {
        if (!std::filesystem::is_regular_file(path)) continue;
        auto const bytes = read_all(path);
        return sample_periods_ns({reinterpret_cast<char const*>(bytes.data()), bytes.size()});
    }
    return {};
}

} // namespace

CompassRows read_compass(std::string const& path, CompassOptions const& options) {
    auto const bytes = read_all(path);
    return parse_compass(bytes, path, options, periods_beside(path));
}

} // namespace thalweg::source
