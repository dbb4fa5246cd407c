// The functions of the vendor's library libAqMD3.so that are used here, declared in our own words. The library is
// loaded at run time: nothing of it is needed to build this.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace thalweg::source::acqiris {

using Status = std::int32_t; // below 0: an error; above 0: a warning
using SessionId = std::uint32_t;
using Bool = std::uint16_t;

// The numbers of attributes count from three bases.
enum class Attribute : std::int32_t {
    simulate = 1'050'000 + 5,
    firmware = 1'050'000 + 510,
    model = 1'050'000 + 512,
    driver_version = 1'050'000 + 551,
    serial_number = 1'150'000 + 8,
    options = 1'150'000 + 23,
    stream_granularity_bytes = 1'150'000 + 94,
    data_emulation = 1'150'000 + 99,
    bits_per_sample = 1'150'000 + 105,
    streaming_mode = 1'150'000 + 120,
    time_reset_mode = 1'150'000 + 135,
    active_trigger_source = 1'250'000 + 1,
    is_idle = 1'250'000 + 5,
    acquired_records = 1'250'000 + 12,
    records_to_acquire = 1'250'000 + 13,
    record_samples = 1'250'000 + 14,
    sample_rate = 1'250'000 + 15,
    trigger_level = 1'250'000 + 19,
    trigger_slope = 1'250'000 + 21,
    board_temperature = 1'250'000 + 100,
};

constexpr Status status_of(std::uint32_t bits) { return static_cast<Status>(bits); }

constexpr Status kOverflow = status_of(0xBFFA400C);
constexpr Status kCalibrationRequired = status_of(0xBFFA4009);
constexpr Status kOptionRequired = status_of(0xBFFA400B);
constexpr Status kAdcOverrange = status_of(0xBFFA400D);
constexpr Status kIdle = status_of(0xBFFA4004);

// The name of a function without "AqMD3_", and its arguments.
#define THALWEG_AQMD3_FUNCTIONS(X)                                                                                     \
    X(InitWithOptions, (char const* resource, Bool query, Bool reset, char const* options, SessionId*))                \
    X(close, (SessionId))                                                                                              \
    X(error_message, (SessionId, Status, char* text))                                                                  \
    X(GetAttributeViBoolean, (SessionId, char const* capability, std::int32_t, Bool*))                                 \
    X(GetAttributeViInt32, (SessionId, char const* capability, std::int32_t, std::int32_t*))                           \
    X(GetAttributeViInt64, (SessionId, char const* capability, std::int32_t, std::int64_t*))                           \
    X(GetAttributeViReal64, (SessionId, char const* capability, std::int32_t, double*))                                \
    X(GetAttributeViString, (SessionId, char const* capability, std::int32_t, std::int32_t size, char*))               \
    X(SetAttributeViBoolean, (SessionId, char const* capability, std::int32_t, Bool))                                  \
    X(SetAttributeViInt32, (SessionId, char const* capability, std::int32_t, std::int32_t))                            \
    X(SetAttributeViInt64, (SessionId, char const* capability, std::int32_t, std::int64_t))                            \
    X(SetAttributeViReal64, (SessionId, char const* capability, std::int32_t, double))                                 \
    X(SetAttributeViString, (SessionId, char const* capability, std::int32_t, char const*))                            \
    X(ConfigureChannel, (SessionId, char const* channel, double range, double offset, std::int32_t coupling, Bool))    \
    X(ApplySetup, (SessionId))                                                                                         \
    X(SelfCalibrate, (SessionId))                                                                                      \
    X(InitiateAcquisition, (SessionId))                                                                                \
    X(Abort, (SessionId))                                                                                              \
    X(StreamFetchDataInt32, (SessionId, char const* stream, std::int64_t wanted, std::int64_t size, std::int32_t* to,  \
                             std::int64_t* available, std::int64_t* actual, std::int64_t* first))                      \
    X(QueryMinWaveformMemory, (SessionId, std::int32_t bits, std::int64_t records, std::int64_t offset,                \
                               std::int64_t samples, std::int64_t * size))                                             \
    X(FetchMultiRecordWaveformInt16,                                                                                   \
      (SessionId, char const* channel, std::int64_t first, std::int64_t records, std::int64_t offset,                  \
       std::int64_t samples, std::int64_t size, std::int16_t* to, std::int64_t* actual_records,                        \
       std::int64_t* actual_samples, std::int64_t* first_samples, double* initial_offset_s, double* seconds,           \
       double* fractions_s, double* step_s, double* scale, double* scale_offset))

// NOLINTBEGIN(bugprone-macro-parentheses): it makes declarations
struct Functions {
#define THALWEG_AQMD3_MEMBER(name, arguments) Status(*name) arguments = nullptr;
    THALWEG_AQMD3_FUNCTIONS(THALWEG_AQMD3_MEMBER)
#undef THALWEG_AQMD3_MEMBER
};
// NOLINTEND(bugprone-macro-parentheses)

// Loads the library, which stays loaded. Throws base::UsageError if it is not there, or lacks a function.
Functions load_driver(std::string const& library);

class DriverError : public std::runtime_error {
  public:
    DriverError(std::string const& what, Status status) : std::runtime_error(what), code(status) {}
    Status code;
};

// A card that is open. Its calls throw DriverError, and base::UsageError if an option of the card is missing.
class Instrument {
  public:
    Instrument(Functions const& functions, std::string const& resource, std::string const& options);
    Instrument(Instrument const&) = delete;
    Instrument& operator=(Instrument const&) = delete;
    ~Instrument();

    bool flag(Attribute attribute) const;
    std::int32_t int32(Attribute attribute) const;
    std::int64_t int64(Attribute attribute, char const* capability = "") const;
    double real(Attribute attribute) const;
    std::string text(Attribute attribute) const;
    void set_flag(Attribute attribute, bool value);
    void set_int32(Attribute attribute, std::int32_t value, std::string const& capability = "");
    void set_int64(Attribute attribute, std::int64_t value);
    void set_real(Attribute attribute, double value, std::string const& capability = "");
    void set_text(Attribute attribute, std::string const& value);

    // Calls a function of the library with this session, and checks what it returns.
    template <class... Parameters, class... Arguments>
    void call(char const* name, Status (*function)(SessionId, Parameters...), Arguments... arguments) const {
        check(name, function(session_, arguments...));
    }
    Functions const& functions() const { return functions_; }
    SessionId session() const { return session_; }
    void check(char const* name, Status status) const;

  private:
    Functions functions_;
    SessionId session_ = 0;
};

} // namespace thalweg::source::acqiris
