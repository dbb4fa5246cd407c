#include "studies/driver/producers.h"

#include "thalweg/dataset/run/staging.h"

namespace thalweg::study {

Produced& Produced::operator+=(Produced const& other) {
    raw_bytes += other.raw_bytes;
    cpu_s += other.cpu_s;
    encode_s += other.encode_s;
    wait_s += other.wait_s;
    return *this;
}

Produced produce(dataset::Producer producer, Rows const& rows) {
    Produced produced;
    produced.raw_bytes = rows(producer);
    producer.finish();
    auto const seconds = [&](dataset::Count count) {
        return static_cast<double>(producer.staging().count(count).load()) * 1e-9;
    };
    produced.encode_s = seconds(dataset::Count::encode_ns);
    produced.wait_s = seconds(dataset::Count::append_wait_ns);
    return produced;
}

} // namespace thalweg::study
