// Types that ROOT reads and writes only where it has a dictionary of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#ifdef __ROOTCLING__
#pragma link C++ class std::map < std::int32_t, std::string> + ;
#endif
