#include "thalweg/format/rntuple/container/tfile_streamers.h"

#include <array>
#include <string_view>

#include "thalweg/format/rntuple/container/tfile_records.h"

namespace thalweg::format::rntuple {
namespace {

// "TVirtualStreamerInfo::EReadWrite", with what ROOT on Linux calls these types.
struct MemberType {
    std::uint32_t code;
    std::uint32_t bytes;
    std::string_view name;
};
constexpr MemberType kUint16{12, 2, "unsigned short"};
constexpr MemberType kUint64{14, 8, "unsigned long"};

struct StreamerMember {
    std::string_view name;
    MemberType type;
};
// "Anchor Schema" of the RNTuple specification: class ROOT::RNTuple, version 2. ROOT computes the checksum from names
// and types.
constexpr std::uint32_t kAnchorVersion = 2;
constexpr std::uint32_t kAnchorChecksum = 0x28e6'32ec;
constexpr std::array kAnchorMembers{
    StreamerMember{"fVersionEpoch", kUint16}, StreamerMember{"fVersionMajor", kUint16},
    StreamerMember{"fVersionMinor", kUint16}, StreamerMember{"fVersionPatch", kUint16},
    StreamerMember{"fSeekHeader", kUint64},   StreamerMember{"fNBytesHeader", kUint64},
    StreamerMember{"fLenHeader", kUint64},    StreamerMember{"fSeekFooter", kUint64},
    StreamerMember{"fNBytesFooter", kUint64}, StreamerMember{"fLenFooter", kUint64},
    StreamerMember{"fMaxKeySize", kUint64},
};

class StreamerWriter {
  public:
    explicit StreamerWriter(std::size_t key_bytes) : key_bytes_(key_bytes) {}

    std::vector<std::byte> write() {
        counted(5, [&] { // TList
            put_object();
            put_string(to_, "");
            to_.put<std::uint32_t>(1);
            pointer("TStreamerInfo", [&] { put_info(); });
            put_string(to_, ""); // the list's option for it
        });
        return to_.release();
    }

  private:
    // A byte count, a version, and what they are of.
    template <class Body> void counted(std::uint16_t version, Body body) {
        auto const begin = begin_count();
        to_.put<std::uint16_t>(version);
        body();
        end_count(begin);
    }

    // An object behind a pointer: its class by name, for the first of its kind, else by the place of that name.
    template <class Body> void pointer(std::string_view class_name, Body body) {
        auto const begin = begin_count();
        to_.put<std::uint32_t>(0xffff'ffff);
        to_.put_text(class_name);
        to_.put<std::uint8_t>(0);
        body();
        end_count(begin);
    }
    template <class Body> void pointer(std::size_t tag_position, Body body) {
        auto const begin = begin_count();
        to_.put<std::uint32_t>(static_cast<std::uint32_t>(0x8000'0000 | (key_bytes_ + tag_position + 2)));
        body();
        end_count(begin);
    }

    std::size_t begin_count() {
        to_.put<std::uint32_t>(0);
        return to_.size();
    }
    void end_count(std::size_t begin) {
        to_.put_at<std::uint32_t>(begin - 4, static_cast<std::uint32_t>(0x4000'0000 | (to_.size() - begin)));
    }

    void put_object(std::uint32_t bits = 0) { // TObject: version, id, bits
        to_.put<std::uint16_t>(1);
        to_.put<std::uint32_t>(0);
        to_.put<std::uint32_t>(bits);
    }
    void put_named(std::string_view name, std::uint32_t bits = 0) {
        counted(1, [&] {
            put_object(bits);
            put_string(to_, name);
            put_string(to_, "");
        });
    }

    void put_info() {
        counted(9, [&] {
            put_named("ROOT::RNTuple", 1 << 16); // the bit says that it is complete
            to_.put<std::uint32_t>(kAnchorChecksum);
            to_.put<std::uint32_t>(kAnchorVersion);
            pointer("TObjArray", [&] { put_members(); });
        });
    }
    void put_members() {
        counted(3, [&] {
            put_object();
            put_string(to_, "");
            to_.put<std::uint32_t>(kAnchorMembers.size());
            to_.put<std::uint32_t>(0); // the lowest index
            auto const tag_position = to_.size() + 4;
            for (auto const& member : kAnchorMembers) {
                auto const put_it = [&] { put_member(member); };
                if (&member == kAnchorMembers.data())
                    pointer("TStreamerBasicType", put_it);
                else
                    pointer(tag_position, put_it);
            }
        });
    }
    void put_member(StreamerMember const& member) {
        counted(2, [&] {     // TStreamerBasicType, which adds nothing to
            counted(4, [&] { // TStreamerElement
                put_named(member.name);
                to_.put<std::uint32_t>(member.type.code);
                to_.put<std::uint32_t>(member.type.bytes);
                to_.put_zeros(4 + 4 + 5 * 4); // it is no array
                put_string(to_, member.type.name);
            });
        });
    }

    std::size_t key_bytes_;
    BigPutter to_;
};

} // namespace

std::vector<std::byte> streamer_info(std::size_t key_bytes) { return StreamerWriter(key_bytes).write(); }

} // namespace thalweg::format::rntuple
