// What the kernel could not write it keeps in memory all the same, where every program reads it until it goes.
#pragma once

#include <string>

namespace thalweg::storage {

// Lets what is read of the file from now on be what is on the disk, and lets what is written there again be written:
// once the kernel has failed to write a block, ext4 writes into it no more in a way that a later mount would see. Pages
// that another program has mapped stay as they are, and so does a file of tmpfs. Returns what the disk refused, or
// nothing. Throws base::SystemError if the file cannot be opened, or the kernel keeps its pages.
std::string see_disk(std::string const& path);

} // namespace thalweg::storage
