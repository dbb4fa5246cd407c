// RNTuples whose schema grew while they were written, fields that are others seen anew, and all encodings of columns.
#pragma once

#include "write.h"

namespace thalweg_test {

// Fields come late: behind whole clusters (rows 0 to 14), and within one (from row 35 on).
inline void write_growth(char const* path) {
    TFile file(path, "RECREATE");
    auto model = ROOT::RNTupleModel::Create();
    auto const early = model->MakeField<std::int32_t>("early");
    auto const writer = ROOT::RNTupleWriter::Append(std::move(model), "t", file);
    std::vector<std::function<void(int)>> fills{[early](int row) { *early = row; }};
    int row = 0;
    auto const fill = [&](int until) {
        for (; row < until; ++row) {
            for (auto const& each : fills) each(row);
            writer->Fill();
        }
    };
    fill(10);
    writer->CommitCluster();
    fill(15);
    writer->CommitCluster();
    {
        auto const updater = writer->CreateModelUpdater();
        updater->BeginUpdate();
        auto const number = updater->MakeField<float>("number");
        auto const array = updater->MakeField<std::array<std::int16_t, 3>>("array");
        auto const list = updater->MakeField<std::vector<std::int64_t>>("list");
        auto const words = updater->MakeField<std::string>("text");
        auto const hits = updater->MakeField<std::vector<fixtures::Hit>>("hits");
        auto const one_hit = updater->MakeField<fixtures::Hit>("hit");
        auto const optional = updater->MakeField<std::optional<double>>("optional");
        auto const variant = updater->MakeField<std::variant<std::int32_t, std::string, std::vector<float>>>("variant");
        updater->CommitUpdate();
        fills.push_back([=](int i) {
            *number = i / 3.0f;
            *array = {static_cast<std::int16_t>(i), 2, -3};
            list->assign(i % 4, i);
            *words = text(i);
            hits->assign(i % 3, hit(i));
            *one_hit = hit(i);
            optional->reset();
            if (i % 2) *optional = i / 7.0;
            if (i % 2) *variant = text(i);
            if (i % 2 == 0) *variant = i;
        });
    }
    fill(35);
    {
        auto const updater = writer->CreateModelUpdater();
        updater->BeginUpdate();
        auto const last = updater->MakeField<std::vector<std::string>>("last");
        auto const flag = updater->MakeField<bool>("flag");
        updater->CommitUpdate();
        fills.push_back([=](int i) {
            last->assign(i % 3, text(i));
            *flag = i % 3 == 0;
        });
    }
    fill(kRows);
}

inline void write_projected(char const* path) {
    TFile file(path, "RECREATE");
    Filled t;
    t.add<std::vector<fixtures::Hit>>("hits", [](auto& x, int row) { x.assign(row % 4, hit(row)); });
    t.add<double>("x", [](auto& x, int row) { x = row / 7.0; });
    auto const project = [&](std::string const& name, std::string const& type,
                             std::map<std::string, std::string> const& sources) {
        auto field = ROOT::RFieldBase::Create(name, type).Unwrap();
        t.model().AddProjectedField(std::move(field), [=](std::string const& inner) { return sources.at(inner); });
    };
    project("energies", "std::vector<float>", {{"energies", "hits"}, {"energies._0", "hits._0.energy"}});
    project("labels", "ROOT::VecOps::RVec<std::string>", {{"labels", "hits"}, {"labels._0", "hits._0.label"}});
    project("count", "ROOT::RNTupleCardinality<std::uint32_t>", {{"count", "hits"}});
    project("y", "double", {{"y", "x"}});
    t.write(file, "t");
}

// A field of each form in which ROOT stores a type: a column type each, and one for the characters of a string.
template <class T, class Fill> void add_encoded(Filled& filled, std::string const& name, Fill fill) {
    using Column = ROOT::ENTupleColumnType;
    for (int code = 0; code < static_cast<int>(Column::kMax); ++code) {
        auto const column = static_cast<Column>(code);
        if (column == Column::kReal32Trunc || column == Column::kReal32Quant)
            continue; // they need more than their name
        auto field = std::make_unique<ROOT::RField<T>>(name + "_" + std::to_string(code));
        try {
            if constexpr (std::is_same_v<T, std::string>) {
                field->SetColumnRepresentatives({{column, Column::kChar}});
            } else {
                field->SetColumnRepresentatives({{column}});
            }
        } catch (ROOT::RException const&) {
            continue; // it does not fit the type
        }
        filled.template add<T>(std::move(field), fill);
    }
}

template <class... T> void add_all_encoded(Filled& filled) {
    (add_encoded<T>(filled, std::string("n") + typeid(T).name(), [](T& x, int row) { x = number<T>(row); }), ...);
}

inline void write_encodings(char const* path) {
    TFile file(path, "RECREATE");
    for (int const compression : {0, 101, 207, 404, 505}) {
        Filled t;
        add_all_encoded<bool, char, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                        std::int64_t, std::uint64_t, float, double>(t);
        add_encoded<std::string>(t, "text", [](auto& x, int row) { x = text(row); });
        add_encoded<std::vector<double>>(t, "list", [](auto& x, int row) { x.assign(row % 5, row / 3.0); });
        for (std::size_t const bits : {10, 17, 31}) {
            auto field = std::make_unique<ROOT::RField<float>>("truncated_" + std::to_string(bits));
            field->SetTruncated(bits);
            t.add<float>(std::move(field), [](float& x, int row) { x = number<float>(row); });
        }
        for (std::size_t const bits : {1, 12, 32}) {
            auto field = std::make_unique<ROOT::RField<float>>("quantized_" + std::to_string(bits));
            field->SetQuantized(bits, {-3, 40});
            t.add<float>(std::move(field), [](float& x, int row) { x = row / 3.0f - 2; });
        }
        auto half = std::make_unique<ROOT::RField<double>>("double32");
        half->SetDouble32();
        t.add<double>(std::move(half), [](double& x, int row) { x = row / 3.0; });
        ROOT::RNTupleWriteOptions options;
        options.SetCompression(compression);
        t.write(file, "compressed" + std::to_string(compression), options);
    }
}

} // namespace thalweg_test
