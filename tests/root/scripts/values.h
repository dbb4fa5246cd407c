// Any value that ROOT has read from an RNTuple, as JSON. It is taken apart by ROOT's own fields, so what is written is,
// to the last bit, what a program that reads with ROOT has in memory.
#pragma once

#include <ROOT/REntry.hxx>
#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleReader.hxx>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace thalweg_test {

using Value = ROOT::RFieldBase::RValue;

inline void write_text(std::ostream& out, std::string const& text) {
    out << '"';
    for (unsigned char const character : text) {
        if (character == '"' || character == '\\') {
            out << '\\' << character;
        } else if (character < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", character);
            out << escaped;
        } else {
            out << character;
        }
    }
    out << '"';
}

template <class Number> void write_number(std::ostream& out, Number value) {
    if constexpr (std::is_same_v<Number, bool>) {
        out << (value ? "true" : "false");
    } else if constexpr (std::is_integral_v<Number>) {
        out << +value;
    } else if (std::isfinite(value)) {
        char text[40];
        std::snprintf(text, sizeof text, "%.17e", static_cast<double>(value)); // 17 digits tell any two doubles apart
        out << text;
    } else { // as Python's json has them
        out << (std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    }
}

template <class Number> bool write_if(std::ostream& out, Value const& value, char const* type) {
    if (value.GetField().GetTypeName() != type) return false;
    write_number(out, value.GetRef<Number>());
    return true;
}

// Numbers and strings; false where it is something else.
inline bool write_leaf(std::ostream& out, Value const& value) {
    if (value.GetField().GetTypeName() == "std::string") {
        write_text(out, value.GetRef<std::string>());
        return true;
    }
    using Count = ROOT::RNTupleCardinality<std::uint32_t>;
    if (value.GetField().GetTypeName() == "ROOT::RNTupleCardinality<std::uint32_t>") {
        write_number(out, static_cast<std::uint32_t>(value.GetRef<Count>()));
        return true;
    }
    if (value.GetField().GetTypeName() == "std::byte") {
        write_number(out, static_cast<int>(value.GetRef<std::byte>()));
        return true;
    }
    return write_if<bool>(out, value, "bool") || write_if<char>(out, value, "char") ||
           write_if<std::int8_t>(out, value, "std::int8_t") || write_if<std::uint8_t>(out, value, "std::uint8_t") ||
           write_if<std::int16_t>(out, value, "std::int16_t") || write_if<std::uint16_t>(out, value, "std::uint16_t") ||
           write_if<std::int32_t>(out, value, "std::int32_t") || write_if<std::uint32_t>(out, value, "std::uint32_t") ||
           write_if<std::int64_t>(out, value, "std::int64_t") || write_if<std::uint64_t>(out, value, "std::uint64_t") ||
           write_if<float>(out, value, "float") || write_if<double>(out, value, "double");
}

// The one that our fixtures have; ROOT does not take them apart.
inline void write_variant(std::ostream& out, Value const& value) {
    auto const& variant = value.GetRef<std::variant<std::int32_t, std::string, std::vector<float>>>();
    if (variant.index() > 2) { // in rows that are older than the field
        out << "null";
        return;
    }
    if (auto const* const number = std::get_if<0>(&variant)) return write_number(out, *number);
    if (auto const* const text = std::get_if<1>(&variant)) return write_text(out, *text);
    char const* separator = "";
    out << '[';
    for (auto const each : std::get<2>(variant)) {
        out << separator;
        write_number(out, each);
        separator = ",";
    }
    out << ']';
}

inline bool is_a(Value const& value, std::string_view name) {
    return value.GetField().GetTypeName().compare(0, name.size(), name) == 0;
}

inline void write_bits(std::ostream& out, Value const& value) {
    auto const* const words =
        static_cast<unsigned long const*>(value.GetPtr<void>().get()); // as libstdc++ has a std::bitset
    auto const count = dynamic_cast<ROOT::RBitsetField const&>(value.GetField()).GetN();
    for (std::size_t i = 0; i < count; ++i) {
        out << (i == 0 ? '[' : ',') << (words[i / 64] >> i % 64 & 1 ? "true" : "false");
    }
    out << ']';
}

inline void write_value(std::ostream& out, Value const& value) {
    if (write_leaf(out, value)) return;
    if (is_a(value, "std::bitset<")) return write_bits(out, value);
    if (is_a(value, "std::variant<")) return write_variant(out, value);
    auto const& field = value.GetField();
    if (field.GetStructure() == ROOT::ENTupleStructure::kStreamer) return write_text(out, "streamed");
    auto const parts = field.SplitValue(value);
    bool const record = field.GetStructure() == ROOT::ENTupleStructure::kRecord;
    bool const optional = is_a(value, "std::optional<") || is_a(value, "std::unique_ptr<");
    bool const plain = field.GetStructure() == ROOT::ENTupleStructure::kPlain && field.GetNRepetitions() == 0;
    if (!record && field.GetConstSubfields().empty()) {
        throw std::runtime_error("values of type " + field.GetTypeName() + " cannot be written here");
    }
    if (optional && parts.empty()) {
        out << "null";
    } else if (optional || plain) { // enums and atomics have their number inside
        write_value(out, parts.at(0));
    } else {
        char const* separator = "";
        out << (record ? '{' : '[');
        for (auto const& part : parts) {
            out << separator;
            if (record) {
                write_text(out, part.GetField().GetFieldName());
                out << ':';
            }
            write_value(out, part);
            separator = ",";
        }
        out << (record ? '}' : ']');
    }
}

// {"rows": n, "types": {field: name}, "fields": {field: [values of every `step`th row]}}
inline std::string values_of(std::string const& file, std::string const& table, std::uint64_t step) {
    ROOT::RNTupleDescriptor::RCreateModelOptions options;
    options.SetEmulateUnknownTypes(true);
    auto const reader = ROOT::RNTupleReader::Open(options, table, file);
    auto const entry = reader->GetModel().CreateEntry();
    std::map<std::string, std::ostringstream> fields;
    std::ostringstream types;
    for (auto const& value : *entry) {
        types << (types.str().empty() ? "" : ",");
        write_text(types, value.GetField().GetFieldName());
        types << ':';
        write_text(types, value.GetField().GetTypeName());
        fields[value.GetField().GetFieldName()];
    }
    for (auto row = 0ULL; row < reader->GetNEntries(); row += step) {
        reader->LoadEntry(row, *entry);
        for (auto const& value : *entry) {
            auto& out = fields[value.GetField().GetFieldName()];
            out << (row == 0 ? "" : ",");
            write_value(out, value);
        }
    }
    std::ostringstream all;
    all << "{\"rows\":" << reader->GetNEntries() << ",\"types\":{" << types.str() << "},\"fields\":{";
    char const* separator = "";
    for (auto const& [name, values] : fields) {
        all << separator;
        write_text(all, name);
        all << ":[" << values.str() << ']';
        separator = ",";
    }
    all << "}}";
    return all.str();
}

} // namespace thalweg_test
