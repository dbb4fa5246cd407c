// The streamer info of a file: how the members of its classes lie in their keys. Ours has one class, the anchor's.
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::format::rntuple {

// The object of the key "StreamerInfo", a TList of TStreamerInfo. `key_bytes` is the size of that key's head, because
// references inside count from it.
std::vector<std::byte> streamer_info(std::size_t key_bytes);

} // namespace thalweg::format::rntuple
