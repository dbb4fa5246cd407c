#include "thalweg/format/hdf5/object_links.h"

#include <cstring>
#include <exception>
#include <fmt/format.h>

#include "thalweg/base/error.h"

namespace thalweg::format::hdf5 {
namespace {

#if H5_VERSION_GE(1, 12, 0)
using ObjectInfo = H5O_info1_t;
#else
using ObjectInfo = H5O_info_t;
#endif

// libhdf5 would give the other file the address space of this one.
herr_t refuse_other_file(char const*, char const*, char const*, char const*, unsigned*, hid_t, void*) { return -1; }

// Throws base::DataError with what libhdf5 says.
ObjectId id_of(hid_t object, std::string const& path) {
    ObjectInfo info;
    check(H5Oget_info2(object, &info, H5O_INFO_BASIC), path + " cannot be read");
    return {info.fileno, info.addr};
}

class LinkFollower {
  public:
    LinkFollower(std::string const& path, std::set<std::string> const& known) : path_(path), known_(known) {
        access_ = {H5Pcreate(H5P_LINK_ACCESS), "no property list can be made"};
        check(H5Pset_elink_cb(access_.get(), refuse_other_file, nullptr), "no property list can be made");
    }

    static herr_t take(hid_t group, char const* name, H5L_info_t const* link, void* self) {
        auto& follower = *static_cast<LinkFollower*>(self);
        try {
            follower.take(group, std::string(name), *link);
            return 0;
        } catch (...) { // which must not go through libhdf5
            follower.failure_ = std::current_exception();
            return -1;
        }
    }

    Children result(herr_t iterated, std::string const& what) {
        if (failure_) std::rethrow_exception(failure_);
        check(iterated, what);
        return std::move(children_);
    }

  private:
    void take(hid_t group, std::string const& name, H5L_info_t const& link) {
        auto const path = path_ + "/" + name;
        if (known_.contains(path)) return;
        if (link.type == H5L_TYPE_HARD || link.type == H5L_TYPE_SOFT) {
            try {
                return follow(group, name, path, link.type == H5L_TYPE_SOFT);
            } catch (base::DataError const& error) {
                auto why = why_of(error.what(), path);
                if (link.type == H5L_TYPE_SOFT) {
                    why = fmt::format("it is a link to {}, which is not there, or in another file",
                                      target(group, name, link));
                }
                return children_.left_out.push_back({path, std::move(why)});
            }
        }
        if (link.type != H5L_TYPE_EXTERNAL) {
            return children_.left_out.push_back({path, "it is a link of a kind that only its own program knows"});
        }
        auto const value = target(group, name, link);
        unsigned flags = 0;
        char const* file = nullptr;
        char const* object = nullptr;
        check(H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &object), path + " cannot be read");
        children_.left_out.push_back({path, fmt::format("it is {} of the file {}: open that file", object, file)});
    }

    void follow(hid_t group, std::string const& name, std::string const& path, bool is_soft) {
        ObjectHandle const object(H5Oopen(group, name.c_str(), access_.get()), path + " cannot be read");
        auto const type = H5Iget_type(object.get());
        if (type != H5I_GROUP && type != H5I_DATASET) return;
        children_.found.push_back({name, type == H5I_GROUP, is_soft, id_of(object.get(), path)});
    }

    std::string target(hid_t group, std::string const& name, H5L_info_t const& link) const {
        std::string value(link.u.val_size, '\0');
        check(H5Lget_val(group, name.c_str(), value.data(), value.size(), H5P_DEFAULT), path_ + " cannot be read");
        if (link.type == H5L_TYPE_SOFT) value.resize(std::strlen(value.c_str())); // its end is counted
        return value;
    }

    std::string const& path_;
    std::set<std::string> const& known_;
    PropertyHandle access_;
    Children children_;
    std::exception_ptr failure_;
};

} // namespace

Children children_of(FileHandle const& file, std::string const& path, std::set<std::string> const& known) {
    auto const what = (path.empty() ? "/" : path) + " cannot be read";
    GroupHandle const group(H5Gopen2(file.get(), path.empty() ? "/" : path.c_str(), H5P_DEFAULT), what);
    LinkFollower follower(path, known);
    return follower.result(H5Literate(group.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, LinkFollower::take, &follower),
                           what);
}

ObjectFacts facts_of(FileHandle const& file, std::string const& path) {
    ObjectInfo info;
    check(H5Oget_info_by_name2(file.get(), path.c_str(), &info, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS, H5P_DEFAULT),
          path + " cannot be read");
    return {
        {info.fileno, info.addr}, info.type == H5O_TYPE_GROUP, info.num_attrs, info.type == H5O_TYPE_NAMED_DATATYPE};
}

std::string why_of(std::string message, std::string const& path) {
    auto const said = path + " cannot be read (";
    auto const at = message.find(said);
    if (at == std::string::npos) return message;
    message.erase(0, at + said.size());
    if (message.ends_with(')')) message.pop_back();
    return message;
}

} // namespace thalweg::format::hdf5
