#include "thalweg/model/attributes.h"

#include <fmt/format.h>

#include "thalweg/base/error.h"
#include "thalweg/base/utf8.h"

namespace thalweg::model {
namespace {

constexpr auto kTooLarge = "it has more than 1 MiB, which is data: give it a table";

} // namespace

std::uint64_t Attribute::count() const { return scalar ? values.size() / size_bytes(*scalar) : texts.size(); }

std::string why_it_cannot_be_kept(Attribute const& attribute) {
    if (attribute.name.empty()) return "its name is empty";
    if (!base::is_whole_text(attribute.name)) return "its name is no UTF-8, or holds a NUL character";
    std::uint64_t count = 1;
    for (auto const extent : attribute.shape) {
        if (extent > kMaxAttributeBytes || count > kMaxAttributeBytes) return kTooLarge;
        count *= extent;
    }
    auto bytes = attribute.values.size();
    for (auto const& text : attribute.texts) {
        if (!base::is_whole_text(text)) return "a text is no UTF-8, or holds a NUL character";
        bytes += text.size();
    }
    auto const fits = attribute.scalar ? attribute.texts.empty() && bytes == count * size_bytes(*attribute.scalar)
                                       : attribute.values.empty() && attribute.texts.size() == count;
    if (!fits) return "its values do not fit its shape";
    if (bytes > kMaxAttributeBytes) return kTooLarge;
    return "";
}

void check_attributes(std::string const& where, Attributes const& attributes) {
    for (std::size_t i = 0; i < attributes.size(); ++i) {
        auto why = why_it_cannot_be_kept(attributes[i]);
        if (why.empty() && i > 0 && attributes[i - 1].name >= attributes[i].name)
            why = "names repeat, or do not ascend";
        if (why.empty()) continue;
        auto const name = base::readable(attributes[i].name);
        base::fail_usage({fmt::format("the attribute '{}' of {} cannot be stored", name, where), why});
    }
}

} // namespace thalweg::model
