// Types that ROOT reads and writes only where it has a dictionary of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

namespace fixtures {

struct Hit {
    float energy = 0;
    std::string label;
    std::vector<std::int16_t> samples;
};

struct Empty {};

// Both bases have a member `id`, and the class itself, too; `top` is there twice.
struct Top {
    std::int32_t top = 0;
};
struct Left : Top {
    std::int32_t id = 0;
    float x = 0;
};
struct Right : Top {
    std::int64_t id = 0;
    double y = 0;
};
struct Bottom : Left, Right {
    std::uint8_t id = 0;
    std::string label;
};

struct HasEmpty {
    std::int32_t before = 0;
    Empty nothing;
    std::int32_t after = 0;
};

enum Color { kRed = 0, kGreen = 1, kBlue = 7 };
enum class Small : std::int8_t { no = -1, yes = 1 };

struct WithEnums {
    Color color = kRed;
    Small small = Small::no;
};

// What ROOT stores by its streamers: it points to another of its kind.
struct Chain {
    std::int32_t number = 0;
    std::vector<std::int32_t> more;
};
struct HasStreamed {
    std::int32_t before = 0;
    Chain chain;
    std::int32_t after = 0;
};

} // namespace fixtures

#ifdef __ROOTCLING__
#pragma link C++ class std::map < std::int32_t, std::string> + ;
#pragma link C++ class std::unordered_map < std::int32_t, std::string> + ;
#pragma link C++ class std::multimap < std::int32_t, std::string> + ;
#pragma link C++ class std::map < std::int32_t, std::vector < float>> + ;
#pragma link C++ class std::multiset < std::int32_t> + ;
#pragma link C++ class std::unordered_set < std::int32_t> + ;
#pragma link C++ class std::map < std::string, fixtures::Hit> + ;
#pragma link C++ class fixtures::Hit + ;
#pragma link C++ class fixtures::Empty + ;
#pragma link C++ class fixtures::Top + ;
#pragma link C++ class fixtures::Left + ;
#pragma link C++ class fixtures::Right + ;
#pragma link C++ class fixtures::Bottom + ;
#pragma link C++ class fixtures::HasEmpty + ;
#pragma link C++ enum fixtures::Color;
#pragma link C++ enum fixtures::Small;
#pragma link C++ class fixtures::WithEnums + ;
#pragma link C++ options = rntupleStreamerMode(true) class fixtures::Chain + ;
#pragma link C++ class fixtures::HasStreamed + ;
#pragma link C++ class std::vector < fixtures::Hit> + ;
#pragma link C++ class std::vector < fixtures::Bottom> + ;
#pragma link C++ class std::vector < fixtures::HasEmpty> + ;
#pragma link C++ class std::vector < fixtures::HasStreamed> + ;
#endif
