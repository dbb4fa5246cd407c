#include "thalweg/readout/seal.h"

// Only the functions of SHA-256 are used: the newer interface needs all of OpenSSL, which wheels should not contain.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <cstring>
#include <openssl/sha.h>

#include "thalweg/base/random.h"

namespace thalweg::readout {

RangeSeal seal_of(RangeKey const& key) {
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
    ::SHA256_CTX context;
    ::SHA256_Init(&context);
    ::SHA256_Update(&context, key.data(), sizeof key);
    ::SHA256_Final(digest.data(), &context);
    RangeSeal seal;
    std::memcpy(seal.data(), digest.data(), sizeof seal);
    return seal;
}

RangeKey random_key() { return {base::random_word(), base::random_word()}; }

} // namespace thalweg::readout
