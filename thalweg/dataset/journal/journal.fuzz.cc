// Whatever the bytes: the rows of a run, or a DataError. The first byte chooses: the bytes as a journal, or as the
// payloads of records with sound checksums behind a sound head. Build with -DTHALWEG_FUZZ=ON and clang.
#include <algorithm>

#include "thalweg/base/error.h"
#include "thalweg/dataset/complete/complete.h"
#include "thalweg/dataset/read/live_map.h"
#include "thalweg/format/hdf5/files/format.h"

namespace {

using namespace thalweg;
using namespace thalweg::dataset;

model::Field field(std::string name, model::Kind kind, std::vector<model::Field> members = {}) {
    return {std::move(name), kind, model::Scalar::uint16, {}, std::move(members), "", ""};
}

model::RunHead const& head() {
    static auto const head = [] {
        auto element = field("", model::Kind::list, {field("", model::Kind::scalar)});
        model::Schema const schema{
            {{"t", {field("a", model::Kind::scalar), field("b", model::Kind::list, {element})}, ""}}};
        return model::make_run_head(schema, {512, 64, 1 << 20, 128, "none", "lz4"}, {});
    }();
    return head;
}

// Each record: a byte for its type, one for the length of its payload in words, the payload.
void append_records(JournalWriter& journal, std::span<std::byte const> bytes) {
    while (bytes.size() >= 2) {
        auto const type = static_cast<RecordType>(std::to_integer<unsigned>(bytes[0]) % 12);
        auto const size = std::min<std::size_t>(std::to_integer<std::size_t>(bytes[1]) * 4, bytes.size() - 2);
        journal.append(type, bytes.subspan(2, size));
        bytes = bytes.subspan(2 + size);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    if (size == 0) return 0;
    auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
    std::shared_ptr<storage::Storage> const journal = storage::make_memory_storage("fuzz.h5.journal");
    auto const file = storage::make_memory_storage("fuzz.h5");
    format::hdf5::files::hdf5_format().begin(*file, head());
    file->resize(16384);
    if (data[0] % 4 == 0) {
        journal->write(0, bytes);
    } else {
        auto writer = JournalWriter::begin(journal, model::to_json(head()));
        writer.append(RecordType::producer, ProducerRecord{0, 0, 1, 0});
        append_records(writer, bytes);
    }
    for (auto const state : {RunState::open, RunState::ended, RunState::copied}) {
        try {
            auto const gathered = gather(journal, *file, state);
            live_map(gathered, *file, *gathered.rows);
        } catch (base::DataError const&) {
        }
    }
    if (data[0] % 16 > 2) return 0; // completing takes many times as long
    try {
        complete_run(*file, journal, format::hdf5::files::hdf5_format(),
                     {.state = data[0] % 2 == 0 ? RunState::ended : RunState::closing});
    } catch (base::DataError const&) {
    }
    return 0;
}
