// What people do with RNTuples in ROOT.
#pragma once

#include <ROOT/RNTupleModel.hxx>
#include <ROOT/RNTupleProcessor.hxx>
#include <ROOT/RNTupleReader.hxx>
#include <ROOT/RNTupleWriter.hxx>
#include <TFile.h>

#include <memory>
#include <string>
#include <vector>

namespace thalweg_test {

// Tables {x: double, xs: list of int32}: x is first / 7, (first + 1) / 7, ...; xs has the row's number (row % 3) times.
inline void write_flat(TDirectory& folder, int first, int rows) {
    auto model = ROOT::RNTupleModel::Create();
    auto const x = model->MakeField<double>("x");
    auto const xs = model->MakeField<std::vector<std::int32_t>>("xs");
    auto const writer = ROOT::RNTupleWriter::Append(std::move(model), "t", folder);
    for (int row = first; row < first + rows; ++row) {
        *x = row / 7.0;
        xs->assign(row % 3, row);
        writer->Fill();
    }
}

inline void write_flat_file(char const* path, int first, int rows) {
    TFile file(path, "RECREATE");
    write_flat(file, first, rows);
}

inline void write_flat_in_folder(char const* path, int first, int rows) {
    TFile file(path, "RECREATE");
    write_flat(*file.mkdir("ch0"), first, rows);
}

// {x, number of xs, their sum} of each row of a chain.
inline std::vector<std::vector<double>> rows_of_chain(std::vector<std::string> const& paths) {
    std::vector<ROOT::Experimental::RNTupleOpenSpec> tables;
    for (auto const& path : paths) tables.emplace_back("t", path);
    auto const chain = ROOT::Experimental::RNTupleProcessor::CreateChain(tables);
    auto x = chain->RequestField<double>("x");
    auto xs = chain->RequestField<std::vector<std::int32_t>>("xs");
    std::vector<std::vector<double>> rows;
    for ([[maybe_unused]] auto const index : *chain) {
        double sum = 0;
        for (auto const each : *xs) sum += each;
        rows.push_back({*x, static_cast<double>(xs->size()), sum});
    }
    return rows;
}

// Views of single columns, all of them, in the order of the file: nothing is put together row by row.
inline double sum_of_view(char const* path, char const* table, char const* field) {
    auto const reader = ROOT::RNTupleReader::Open(table, path);
    auto view = reader->GetView<double>(field);
    double sum = 0;
    for (auto const row : reader->GetEntryRange()) sum += view(row);
    return sum;
}

} // namespace thalweg_test
