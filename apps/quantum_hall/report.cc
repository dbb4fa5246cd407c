#include "report.h"

#include <cstdio>
#include <span>

#include <thalweg/dataset/writer.h>

#include "strips.h"

namespace quantum_hall {

namespace {

namespace dataset = thalweg::dataset;
namespace model = thalweg::model;

constexpr std::uint64_t kCloseTimeoutNs = 600'000'000'000;

model::Table declared(ResultTable const& table) {
    model::Table result{table.name, {}, "", {}};
    for (auto const& column : table.columns) {
        if (column.values.empty()) continue;
        model::Field field;
        field.name = column.name;
        result.fields.push_back(field);
    }
    return result;
}

void write(std::string const& path, std::string const& description, std::vector<ResultTable> const& tables) {
    model::Schema schema;
    for (auto const& table : tables) schema.tables.push_back(declared(table));
    schema.attributes.push_back({"quantum_hall", std::nullopt, {}, {}, {description}});
    auto const writer = dataset::Writer::create(path, schema, {.force = true});
    for (auto const& table : tables) {
        auto producer = writer->producer(table.name);
        std::vector<std::span<std::byte const>> columns;
        for (auto const& column : table.columns) {
            if (!column.values.empty()) columns.push_back(std::as_bytes(std::span(column.values)));
        }
        producer.append(columns.at(0).size() / sizeof(double), columns);
        producer.finish();
    }
    writer->close(kCloseTimeoutNs);
}

} // namespace

nlohmann::json described(Options const& options) {
    auto const& system = options.system;
    nlohmann::json what{
        {"program", options.program}, {"lattice", system.lattice.name},    {"size", {system.columns, system.rows}},
        {"sites", system.sites()},    {"flux_quanta", system.flux_quanta}, {"disorder", system.disorder},
        {"seed", system.seed},        {"half_width", system.half_width()}, {"vectors", options.trace.vectors(system)},
        {"ranks", Strips::ranks()}};
    static constexpr char const* traces[] = {"random", "all", "cell"};
    what["trace"] = traces[static_cast<int>(options.trace.kind)];
    if (!options.bloch) what["moment_count"] = options.moments;
    return what;
}

nlohmann::json parts(Eigen::MatrixXcd const& matrix) {
    nlohmann::json re = nlohmann::json::array(), im = nlohmann::json::array();
    for (Eigen::Index m = 0; m < matrix.rows(); ++m) {
        std::vector<double> row_re, row_im;
        for (Eigen::Index n = 0; n < matrix.cols(); ++n) {
            row_re.push_back(matrix(m, n).real());
            row_im.push_back(matrix(m, n).imag());
        }
        re.push_back(row_re), im.push_back(row_im);
    }
    return {{"re", re}, {"im", im}};
}

void report(Options const& options, nlohmann::json const& results, std::vector<ResultTable> const& tables) {
    if (Strips::rank() != 0) return;
    auto all = described(options);
    if (!options.out.empty() && !tables.empty()) write(options.out, all.dump(), tables);
    all["complete"] = true;
    all.update(results);
    std::puts(all.dump().c_str());
}

} // namespace quantum_hall
