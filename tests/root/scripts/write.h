// RNTuples as ROOT writes them: every type of field that it has, every encoding of columns, and schemas that grow.
#pragma once

#include <ROOT/RField.hxx>
#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleWriteOptions.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <ROOT/RVec.hxx>
#include <TFile.h>

#include <array>
#include <atomic>
#include <bitset>
#include <functional>
#include <tuple>

#include "classes.h"

namespace thalweg_test {

constexpr int kRows = 57;

inline std::string text(int row) { return std::array{"", "a", "µ é", "日本語"}[row % 4] + std::string(row % 9, 'x'); }

inline fixtures::Hit hit(int row) {
    return {row / 2.0f, text(row), std::vector<std::int16_t>(row % 4, static_cast<std::int16_t>(-row))};
}

inline fixtures::Bottom bottom(int row) {
    fixtures::Bottom all;
    static_cast<fixtures::Left&>(all).top = row;
    static_cast<fixtures::Right&>(all).top = -row;
    static_cast<fixtures::Left&>(all).id = 100 + row;
    static_cast<fixtures::Right&>(all).id = -100 - row;
    all.id = static_cast<std::uint8_t>(row);
    all.x = row / 4.0f;
    all.y = row / 7.0;
    all.label = text(row);
    return all;
}

// A model that fills itself: `add` declares a field and says what it holds in each row.
class Filled {
  public:
    Filled() : model_(ROOT::RNTupleModel::Create()) {}

    template <class T, class Fill> void add(std::string const& name, Fill fill) {
        auto const value = model_->MakeField<T>(name);
        fills_.push_back([value, fill](int row) { fill(*value, row); });
    }
    // Adds a field that was made by hand, for example with an encoding of its own.
    template <class T, class Fill> void add(std::unique_ptr<ROOT::RFieldBase> field, Fill fill) {
        auto const name = field->GetFieldName();
        model_->AddField(std::move(field));
        auto const value = model_->GetDefaultEntry().GetPtr<T>(name);
        fills_.push_back([value, fill](int row) { fill(*value, row); });
    }
    ROOT::RNTupleModel& model() { return *model_; }

    // A cluster ends behind every 20th row.
    void write(TFile& file, std::string const& name, ROOT::RNTupleWriteOptions const& options = {}) {
        auto const writer = ROOT::RNTupleWriter::Append(std::move(model_), name, file, options);
        for (int row = 0; row < kRows; ++row) {
            for (auto const& fill : fills_) fill(row);
            writer->Fill();
            if (row % 20 == 19) writer->CommitCluster();
        }
    }

  private:
    std::unique_ptr<ROOT::RNTupleModel> model_;
    std::vector<std::function<void(int)>> fills_;
};

template <class T> T number(int row) {
    if constexpr (std::is_same_v<T, bool>) {
        return row % 3 == 0;
    } else if constexpr (std::is_floating_point_v<T>) {
        T const special[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity(), T(-0.0)};
        return row % 6 == 5 ? special[row / 6 % 5] : T(row) / 3;
    } else {
        T const special[] = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), T(-1), T(1)};
        return row % 6 == 5 ? special[row / 6 % 4] : T(row * 0x01020304050607LL);
    }
}

template <class... T> void add_numbers(Filled& filled) {
    (filled.add<T>(std::string("n") + typeid(T).name(), [](T& x, int row) { x = number<T>(row); }), ...);
}

inline void write_types(char const* path) {
    TFile file(path, "RECREATE");
    {
        Filled t;
        add_numbers<bool, char, std::byte, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                    std::uint32_t, std::int64_t, std::uint64_t, float, double>(t);
        t.write(file, "numbers");
    }
    {
        Filled t;
        t.add<std::string>("text", [](auto& x, int row) { x = text(row); });
        t.add<std::vector<float>>("floats", [](auto& x, int row) { x.assign(row % 5, row / 3.0f); });
        t.add<std::vector<bool>>("bools", [](auto& x, int row) { x.assign(row % 5, row % 2 == 0); });
        t.add<std::vector<std::vector<std::string>>>(
            "texts", [](auto& x, int row) { x.assign(row % 3, std::vector<std::string>(row % 4, text(row))); });
        t.add<ROOT::RVec<double>>("rvec", [](auto& x, int row) { x.assign(row % 4, row / 7.0); });
        t.add<ROOT::RVec<bool>>("rvec_of_bools", [](auto& x, int row) { x.assign(row % 4, true); });
        t.add<std::array<std::int32_t, 3>>("array", [](auto& x, int row) { x = {row, -row, 7}; });
        t.add<std::array<std::array<bool, 2>, 3>>("arrays", [](auto& x, int row) { x[1][0] = row % 2; });
        t.add<std::array<std::vector<std::int32_t>, 2>>("array_of_lists",
                                                        [](auto& x, int row) { x[1].assign(row % 4, row); });
        t.add<std::pair<std::int32_t, std::string>>("pair", [](auto& x, int row) { x = {row, text(row)}; });
        t.add<std::tuple<float, std::vector<std::int64_t>, bool>>("tuple", [](auto& x, int row) {
            x = {row / 2.0f, std::vector<std::int64_t>(row % 3, -row), row % 2 == 0};
        });
        t.add<std::optional<double>>("optional",
                                     [](auto& x, int row) { x = row % 3 ? std::optional(row / 3.0) : std::nullopt; });
        t.add<std::optional<std::vector<std::string>>>("optional_list", [](auto& x, int row) {
            x.reset();
            if (row % 3) x = std::vector<std::string>(row % 4, text(row));
        });
        t.add<std::unique_ptr<std::int32_t>>(
            "pointer", [](auto& x, int row) { x = row % 3 ? std::make_unique<std::int32_t>(row) : nullptr; });
        t.add<std::vector<std::unique_ptr<float>>>("pointers", [](auto& x, int row) {
            x.clear();
            for (int i = 0; i < row % 4; ++i) x.push_back(i % 2 ? std::make_unique<float>(row / 2.0f) : nullptr);
        });
        t.add<std::variant<std::int32_t, std::string, std::vector<float>>>("variant", [](auto& x, int row) {
            if (row % 3 == 0) x = row;
            if (row % 3 == 1) x = text(row);
            if (row % 3 == 2) x = std::vector<float>(row % 4, row / 2.0f);
        });
        t.add<std::bitset<11>>("bits", [](auto& x, int row) { x = std::bitset<11>(row * 37); });
        t.add<std::atomic<std::int32_t>>("atomic", [](auto& x, int row) { x = row; });
        t.write(file, "library");
    }
    {
        Filled t;
        t.add<std::set<std::int32_t>>("set", [](auto& x, int row) { x = {row, -row, 3}; });
        t.add<std::multiset<std::int32_t>>("multiset", [](auto& x, int row) { x = {row, row, -3}; });
        t.add<std::unordered_set<std::int32_t>>("unordered_set", [](auto& x, int row) { x = {row}; });
        t.add<std::map<std::int32_t, std::string>>("map", [](auto& x, int row) { x = {{row, text(row)}, {-1, "b"}}; });
        t.add<std::multimap<std::int32_t, std::string>>("multimap", [](auto& x, int row) {
            x = {{row, text(row)}, {row, "b"}};
        });
        t.add<std::unordered_map<std::int32_t, std::string>>("unordered_map", [](auto& x, int row) {
            x = {{row, text(row)}};
        });
        t.add<std::map<std::int32_t, std::vector<float>>>("map_of_lists", [](auto& x, int row) {
            x = {{row, std::vector<float>(row % 3, 0.5f)}};
        });
        t.add<std::map<std::string, fixtures::Hit>>("map_of_hits", [](auto& x, int row) { x = {{"h", hit(row)}}; });
        t.write(file, "associative");
    }
    {
        Filled t;
        t.add<fixtures::Hit>("hit", [](auto& x, int row) { x = hit(row); });
        t.add<std::vector<fixtures::Hit>>("hits", [](auto& x, int row) { x.assign(row % 4, hit(row)); });
        t.add<fixtures::Bottom>("bottom", [](auto& x, int row) { x = bottom(row); });
        t.add<std::vector<fixtures::Bottom>>("bottoms", [](auto& x, int row) { x.assign(row % 3, bottom(row)); });
        t.add<fixtures::WithEnums>("enums", [](auto& x, int row) {
            x = {row % 2 ? fixtures::kBlue : fixtures::kGreen, row % 3 ? fixtures::Small::yes : fixtures::Small::no};
        });
        t.add<fixtures::Color>("color", [](auto& x, int row) { x = row % 2 ? fixtures::kBlue : fixtures::kGreen; });
        t.write(file, "classes");
    }
    {
        Filled t;
        t.add<fixtures::Empty>("empty", [](auto&, int) {});
        t.add<fixtures::HasEmpty>("has_empty", [](auto& x, int row) { x = {row, {}, -row}; });
        t.add<std::vector<fixtures::HasEmpty>>("have_empty", [](auto& x, int row) {
            x.assign(row % 3, {row, {}, -row});
        });
        t.add<fixtures::Chain>(ROOT::RFieldBase::Create("streamed", "fixtures::Chain").Unwrap(), [](auto& x, int row) {
            x = {row, {1, 2}};
        });
        t.add<fixtures::HasStreamed>("has_streamed", [](auto& x, int row) { x = {row, {row, {}}, -row}; });
        t.add<std::vector<fixtures::HasStreamed>>("have_streamed", [](auto& x, int row) {
            x.assign(row % 3, {row, {row, {}}, -row});
        });
        t.write(file, "left_out");
    }
}

} // namespace thalweg_test
