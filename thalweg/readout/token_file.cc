#include "thalweg/readout/token_file.h"

#include <fstream>

namespace thalweg::readout {

std::string token_in(std::string const& path) {
    std::ifstream file(path);
    std::string token;
    if (std::getline(file, token) && token.ends_with('\r')) token.pop_back();
    return token;
}

} // namespace thalweg::readout
