#include "thalweg/format/hdf5/object_creation.h"

#include "thalweg/format/hdf5/library_lock.h"

namespace thalweg::format::hdf5 {

PropertyHandle creation_properties(hid_t kind) {
    PropertyHandle creation(H5Pcreate(kind), "the properties of an object cannot be made");
    check(H5Pset_obj_track_times(creation.get(), false), "the times of an object cannot be left out");
    return creation;
}

hid_t link_properties() {
    static PropertyHandle const links = [] {
        PropertyHandle made(H5Pcreate(H5P_LINK_CREATE), "the properties of a link cannot be made");
        check(H5Pset_char_encoding(made.get(), H5T_CSET_UTF8), "names cannot be UTF-8");
        return made;
    }();
    return links.get();
}

GroupHandle make_group(FileHandle const& handle, std::string const& path) {
    static auto const creation = creation_properties(H5P_GROUP_CREATE);
    return {H5Gcreate2(handle.get(), path.c_str(), link_properties(), creation.get(), H5P_DEFAULT),
            "the group " + path + " cannot be made"};
}

void make_groups_above(FileHandle const& handle, std::string const& path) {
    for (auto end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
        auto const group = path.substr(0, end);
        auto const found = H5Lexists(handle.get(), group.c_str(), H5P_DEFAULT);
        check(found, "whether there is a group " + group + " cannot be found out");
        if (found == 0) make_group(handle, group);
    }
}

} // namespace thalweg::format::hdf5
