#include <exception>
#include <thread>

#include "studies/record/driver/crew.h"

namespace thalweg::study {
namespace {

class ThreadCrew final : public Crew {
  public:
    explicit ThreadCrew(source::DigitizerOptions const& options) {
        auto const source = source::make_digitizer(options);
        for (std::size_t i = 0; i < source->streams().size(); ++i) {
            members_.push_back({source->streams()[i].name, source->open(i), 0, nullptr, {}});
        }
    }

    void start(dataset::Writer& writer) override {
        for (auto& member : members_) {
            member.thread = std::jthread([&member, &writer] {
                try {
                    auto producer = writer.producer(member.table);
                    member.raw_bytes = record(*member.reader, producer);
                    producer.finish();
                } catch (...) {
                    member.error = std::current_exception();
                }
            });
        }
    }

    Produced wait() override {
        Produced produced;
        for (auto& member : members_) {
            member.thread.join();
            if (member.error) std::rethrow_exception(member.error);
            produced.raw_bytes += member.raw_bytes;
        }
        return produced;
    }

  private:
    struct Member {
        std::string table;
        std::unique_ptr<source::StreamReader> reader;
        std::uint64_t raw_bytes;
        std::exception_ptr error;
        std::jthread thread;
    };

    std::vector<Member> members_;
};

} // namespace

std::unique_ptr<Crew> make_thread_crew(source::DigitizerOptions const& options) {
    return std::make_unique<ThreadCrew>(options);
}

} // namespace thalweg::study
