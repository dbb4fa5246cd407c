// A device that a source in a shared library has opened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thalweg/source.h"
#include "thalweg/source/plug_in/library.h"

namespace thalweg::source::plug_in {

// The value of a setting; without a text it is not given.
struct Value {
    std::optional<std::string> text;
    std::int64_t integer = 0;
    double real = 0;
};

// How a call went: `code` is one of thalweg/source.h, and `text` says why it is below 0.
struct Outcome {
    int code = 0;
    std::string text;
};

struct Counted {
    std::uint32_t table = 0;
    std::string name;
    std::uint64_t value = 0;
};

// Calls come from one thread, except next(), which has a thread for each lane.
class Device {
  public:
    // `values` has one value for each setting of the library, which must live longer.
    Device(Library const& library, std::vector<Value> values);
    Device(Device const&) = delete;
    Device& operator=(Device const&) = delete;
    ~Device(); // closes it

    Outcome open();
    Outcome describe(std::string& json);
    Outcome start(std::optional<std::int64_t>& card);
    Outcome stop();
    bool can_pause() const { return source_.pause != nullptr; }
    Outcome pause();
    bool can_count() const { return source_.counters != nullptr; }
    Outcome counters(std::vector<Counted>& counted);
    void close();

    // Returns THALWEG_ROWS, THALWEG_NOTHING or a code below 0, whose text is said by reason().
    int next(std::uint32_t lane, std::uint64_t timeout_ns, thalweg_batch& batch);
    // Returns why the last call of this thread returned this code below 0.
    std::string reason(int code) const;
    std::string name() const { return source_.name; }

  private:
    template <class Call> Outcome called(char const* name, Call const& call);
    Outcome outcome_of(int code, char const* call) const;
    static void forget_reason();

    thalweg_source const& source_;
    thalweg_host host_{};
    std::vector<Value> values_;
    std::vector<thalweg_value> given_;
    std::vector<thalweg_value const*> places_;
    void* device_ = nullptr;
    bool is_open_ = false;
};

} // namespace thalweg::source::plug_in
