#include "thalweg/dataset/node_folder/finished_part.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace thalweg::dataset {

std::string FinishedPart::text() const {
    return nlohmann::json{{"journal_bytes", journal_bytes},
                          {"rows", tally.rows},
                          {"units", tally.units},
                          {"page_bytes", tally.page_bytes},
                          {"damaged_records", tally.damaged_records}}
        .dump();
}

std::optional<FinishedPart> FinishedPart::from(std::string const& text) {
    auto const json = nlohmann::json::parse(text, nullptr, false);
    auto const number = [&](char const* name) -> std::optional<std::uint64_t> {
        if (!json.is_object() || !json.contains(name) || !json[name].is_number_unsigned()) return std::nullopt;
        return json[name].get<std::uint64_t>();
    };
    auto const bytes = number("journal_bytes"), rows = number("rows"), units = number("units"),
               pages = number("page_bytes"), damaged = number("damaged_records");
    if (!bytes || !rows || !units || !pages || !damaged) return std::nullopt;
    return FinishedPart{*bytes, {*rows, *units, *pages, *damaged}};
}

bool FinishedPart::covers(FinishedPart const& said) const {
    return journal_bytes >= said.journal_bytes && tally.rows >= said.tally.rows && tally.units >= said.tally.units &&
           tally.page_bytes >= said.tally.page_bytes && tally.damaged_records <= said.tally.damaged_records;
}

std::string FinishedPart::in_words() const {
    auto const damage = tally.damaged_records == 0 ? "" : fmt::format(" ({} damaged records)", tally.damaged_records);
    return fmt::format("a journal of {} bytes{} with {} rows, {} parts of work units and pages of {} bytes",
                       journal_bytes, damage, tally.rows, tally.units, tally.page_bytes);
}

} // namespace thalweg::dataset
