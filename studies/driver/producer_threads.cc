#include <exception>
#include <thread>

#include "studies/driver/producers.h"

namespace thalweg::study {
namespace {

class ProducerThreads final : public Producers {
  public:
    explicit ProducerThreads(Material const& material) {
        for (std::size_t i = 0; i < material.tables.size(); ++i) {
            members_.push_back({material.tables[i], material.prepare(i), {}, nullptr, {}});
        }
    }

    void start(dataset::Writer& writer) override {
        for (auto& member : members_) {
            member.thread = std::jthread([&member, &writer] {
                try {
                    member.produced = produce(writer.producer(member.table), member.rows);
                } catch (...) {
                    member.error = std::current_exception();
                }
            });
        }
    }

    Produced wait() override {
        Produced all;
        for (auto& member : members_) {
            member.thread.join();
            if (member.error) std::rethrow_exception(member.error);
            all += member.produced;
        }
        return all;
    }

  private:
    struct Member {
        std::string table;
        Rows rows;
        Produced produced;
        std::exception_ptr error;
        std::jthread thread;
    };

    std::vector<Member> members_;
};

} // namespace

std::unique_ptr<Producers> make_producer_threads(Material const& material) {
    return std::make_unique<ProducerThreads>(material);
}

} // namespace thalweg::study
