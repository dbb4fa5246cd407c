#include "thalweg/dataset/read/row_order.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "thalweg/base/assert.h"
#include "thalweg/dataset/complete/journal_facts.h"

namespace thalweg::dataset {
namespace {

constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();

TableOrder order_in_table(model::RunHead const& head, std::size_t table, std::vector<model::Part> const& parts,
                          auto const& source_of) {
    TableOrder order;
    auto const add = [&](std::size_t part, std::uint64_t first_row, std::uint64_t rows) {
        RowSource source = source_of(parts[part].producer);
        source.first_row = first_row;
        source.rows = rows;
        order.push_back(source);
    };
    auto const& layout = head.layouts[table];
    if (layout.cluster_bytes > 0) {
        for (auto const& [part, cluster] : model::order_of_clusters(parts)) add(part, cluster.first_row, cluster.rows);
    } else {
        for (auto const& segment : model::order_of_rows(layout, head.columns[table], parts))
            add(segment.part, segment.first_row, segment.rows);
    }
    return order;
}

bool has_rows(RowOrder const& order, std::vector<std::uint64_t> const& rows) {
    return std::ranges::equal(order, rows, {}, [](TableOrder const& each) { return total(each); });
}

// Reads what the main journals say about a run that is over, without the rows themselves.
class EndedRun {
  public:
    // Returns false if that does not tell which rows count.
    bool read(JournalFiles const& files) {
        auto const which = node_of(files.required_start()->preamble);
        JournalFacts facts(files.main->path());
        facts.keeps_pages = false;
        read_journal({files.main}, [&](JournalRecord const& record) { return facts.read(record); });
        bool const is_ordered = facts.head->keys_per_group > 0;
        if (is_ordered || (which.nodes > 1 && !facts.units.empty())) return false;
        parts_.resize(facts.head->schema.tables.size());
        for (auto const& [number, producer] : facts.producers) {
            if (!producer.finish || producer.kept) return false;
            auto const counted = producer.of_units ? counted_rows(facts.units, number) : all_rows(producer);
            sources_.push_back({which.node, number});
            auto& part = parts_[producer.table].emplace_back();
            part.producer = static_cast<std::uint32_t>(sources_.size() - 1);
            part.rows = counted;
            add_clusters(producer, counted, which, part);
        }
        head_ = std::move(facts.head);
        return true;
    }

    RowOrder order() const {
        THALWEG_ASSERT(head_, "an order is asked for when the journals were read");
        RowOrder order;
        for (std::size_t table = 0; table < parts_.size(); ++table) {
            order.push_back(order_in_table(*head_, table, parts_[table],
                                           [&](std::uint32_t producer) { return sources_[producer]; }));
        }
        return order;
    }

  private:
    static Ranges all_rows(ProducerFacts const& producer) {
        if (producer.finish->rows == 0) return {};
        return {{0, producer.finish->rows}};
    }

    static Ranges counted_rows(std::vector<UnitFacts> const& units, std::uint32_t number) {
        std::map<std::uint64_t, std::uint64_t> rows; // by first row
        for (auto const& unit : units) {
            if (unit.parts_wanted == 0 || unit.parts.size() < unit.parts_wanted) continue;
            for (auto const& part : unit.parts) {
                if (part.producer == number) rows[part.first_row] += part.rows;
            }
        }
        Ranges counted;
        for (auto const& [first, count] : rows) append_range(counted, first, count);
        return counted;
    }

    // Those that have ended, and one of what is left behind them.
    static void add_clusters(ProducerFacts const& producer, Ranges const& counted, NodeOfRun const& which,
                             model::Part& part) {
        std::uint64_t row = 0;
        for (auto const& [first, ended] : producer.ended) {
            if (first != row || !contains(counted, first, ended.rows)) break;
            part.clusters.push_back({first, ended.rows, ended.order * which.nodes + which.node, true});
            row += ended.rows;
        }
        auto const rest = intersect(counted, {{row, kLast - row}});
        if (!rest.empty()) part.clusters.push_back({row, rest.front().count, kLast, false});
    }

    std::optional<model::RunHead> head_;
    std::vector<RowSource> sources_; // by the number of a part
    std::vector<std::vector<model::Part>> parts_;
};

} // namespace

std::uint64_t total(TableOrder const& order) {
    return std::accumulate(order.begin(), order.end(), std::uint64_t{0},
                           [](std::uint64_t sum, RowSource const& each) { return sum + each.rows; });
}

RowOrder order_of(Gathered const& gathered) {
    auto const& nodes = gathered.report.nodes;
    auto const source_of = [&](std::uint32_t producer) {
        RowSource source{0, producer};
        for (auto const& node : nodes) {
            if (node.has_journal && node.first_producer <= producer)
                source = {node.node, producer - node.first_producer};
        }
        return source;
    };
    RowOrder order;
    for (std::size_t table = 0; table < gathered.facts.tables.size(); ++table)
        order.push_back(order_in_table(gathered.head, table, gathered.facts.tables[table], source_of));
    return order;
}

RowOrder order_when_closed(Journals const& journals, storage::Storage const& file,
                           std::vector<std::uint64_t> const& rows) {
    EndedRun ending;
    if (std::ranges::all_of(journals, [&](auto const& each) { return ending.read(each); })) {
        if (auto order = ending.order(); has_rows(order, rows)) return order;
    }
    auto order = order_of(gather(journals, file, RunState::closing));
    return has_rows(order, rows) ? order : RowOrder{};
}

} // namespace thalweg::dataset
