#include "thalweg/readout/seal.h"

#include <cstring>
#include <openssl/sha.h>

#include "thalweg/base/random.h"

namespace thalweg::readout {

Seal seal_of(Key const& key) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
    ::SHA256(reinterpret_cast<unsigned char const*>(key.data()), sizeof key, digest.data());
    Seal seal;
    std::memcpy(seal.data(), digest.data(), sizeof seal);
    return seal;
}

Key random_key() { return {base::random_word(), base::random_word()}; }

} // namespace thalweg::readout
