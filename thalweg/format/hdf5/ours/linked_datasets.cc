#include "thalweg/format/hdf5/ours/linked_datasets.h"

#include "thalweg/format/hdf5/filters.h"
#include "thalweg/format/hdf5/object_creation.h"
#include "thalweg/format/hdf5/types.h"

namespace thalweg::format::hdf5::ours {
namespace {

using Extents = std::vector<hsize_t>;

Extents extents_of(std::uint64_t items, std::vector<std::uint64_t> const& shape) {
    Extents extents{items};
    extents.insert(extents.end(), shape.begin(), shape.end());
    return extents;
}

SpaceHandle simple_space(Extents const& extents, Extents const& limits) {
    return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), limits.data()),
            "a dataspace cannot be made"};
}

PropertyHandle creation_of(Dataset const& dataset) {
    auto creation = creation_properties(H5P_DATASET_CREATE);
    auto const chunk = extents_of(dataset.page_items, dataset.shape);
    check(H5Pset_chunk(creation.get(), static_cast<int>(chunk.size()), chunk.data()), "the chunks cannot be set");
    check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_INCR), "the allocation time cannot be set");
    check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "the fill time cannot be set");
    set_filters(creation.get(), dataset.codec, model::size_bytes(dataset.scalar));
    return creation;
}

DatasetHandle create_dataset(std::string const& path, model::Scalar scalar, hid_t space, hid_t creation,
                             FileHandle const& handle) {
    make_groups_above(handle, path);
    return {H5Dcreate2(handle.get(), path.c_str(), make_type(scalar).get(), space, link_properties(), creation,
                       H5P_DEFAULT),
            "the dataset " + path + " cannot be made"};
}

void link_pages(Dataset const& dataset, hid_t object, std::uint32_t raw_mask, ClaimingFile& file) {
    Extents chunk(dataset.shape.size() + 1, 0);
    auto const what = "a page of " + dataset.path + " cannot be linked"; // once: there may be a million pages
    for (auto const& page : dataset.pages) {
        if (page.stored_bytes > 0) {
            auto const mask = page.encoded ? 0 : raw_mask;
            file.arm({page.offset, page.stored_bytes});
            check(H5Dwrite_chunk(object, H5P_DEFAULT, mask, chunk.data(), page.stored_bytes, ClaimingFile::token()),
                  what);
            file.disarm();
        }
        chunk[0] += dataset.page_items;
    }
}

void add_mapping(hid_t creation, VirtualDataset const& dataset, Mapping const& mapping, hid_t target) {
    auto const source_extents = extents_of(mapping.source_items, dataset.shape);
    auto const source = simple_space(source_extents, source_extents);
    auto const count = extents_of(mapping.count, dataset.shape);
    Extents first(count.size(), 0);
    first[0] = mapping.first;
    check(H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr),
          "items of a part cannot be selected");
    first[0] = mapping.at;
    check(H5Sselect_hyperslab(target, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr),
          "items of a virtual dataset cannot be selected");
    check(H5Pset_virtual(creation, target, ".", mapping.source.c_str(), source.get()),
          "a part cannot be shown in " + dataset.path);
}

void link_virtual(VirtualDataset const& dataset, FileHandle const& handle) {
    auto const creation = creation_properties(H5P_DATASET_CREATE);
    auto const extents = extents_of(dataset.items, dataset.shape);
    auto const space = simple_space(extents, extents);
    for (auto const& mapping : dataset.mappings) add_mapping(creation.get(), dataset, mapping, space.get());
    check(H5Sselect_all(space.get()), "a virtual dataset cannot be selected");
    create_dataset(dataset.path, dataset.scalar, space.get(), creation.get(), handle);
}

} // namespace

void link_dataset(Dataset const& dataset, FileHandle const& handle, ClaimingFile& file) {
    auto const creation = creation_of(dataset);
    auto const extents = extents_of(dataset.items, dataset.shape);
    auto limits = extents;
    limits[0] = H5S_UNLIMITED; // a chunk may be larger than the dataset; and what is copied out of it can grow
    auto const space = simple_space(extents, limits);
    auto const object = create_dataset(dataset.path, dataset.scalar, space.get(), creation.get(), handle);
    link_pages(dataset, object.get(), all_filters_mask(creation.get()), file);
}

void link_datasets(FilePlan const& plan, FileHandle const& handle, ClaimingFile& file) {
    for (auto const& dataset : plan.datasets) link_dataset(dataset, handle, file);
    for (auto const& dataset : plan.virtual_datasets) link_virtual(dataset, handle);
}

} // namespace thalweg::format::hdf5::ours
