#include "tests/simulator/series.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace thalweg::simulator {
namespace {

template <class Value> void move_behind(std::vector<Value>& to, std::vector<Value>& more) {
    std::move(more.begin(), more.end(), std::back_inserter(to));
}

} // namespace

std::string path_of_file(std::string const& first, std::size_t number) {
    if (number == 0) return first;
    auto const dot = first.rfind('.');
    return fmt::format("{}-{}{}", first.substr(0, dot), number + 1, first.substr(dot));
}

Found together(std::vector<Found> files) {
    Found all;
    for (auto& file : files) {
        all.tables.resize(std::max(all.tables.size(), file.tables.size()));
        for (std::size_t table = 0; table < file.tables.size(); ++table) {
            for (auto& [who, rows] : file.tables[table]) move_behind(all.tables[table][who], rows);
        }
        move_behind(all.units, file.units);
        move_behind(all.order, file.order);
        move_behind(all.cuts, file.cuts);
    }
    std::sort(all.units.begin(), all.units.end());
    return all;
}

void check_complete_files(std::vector<FilePromise> const& files, std::vector<Found> const& found, Blame const& blame) {
    for (std::size_t i = 0; i < std::min(files.size(), found.size()); ++i) {
        if (files[i].content && found[i] != *files[i].content)
            blame(fmt::format("{} was complete, and has other rows now", files[i].path));
    }
}

} // namespace thalweg::simulator
