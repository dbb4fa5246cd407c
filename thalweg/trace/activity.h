// What Thalweg does that no call shows, for a tracer that is loaded into its process (docs/tracing.md): `thalweg trace`
// writes it beside the calls. Without one, each of these is a look at one pointer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace thalweg::trace {

enum class Activity : std::uint8_t {
    encode_page,     // size: raw bytes; result: stored ones; detail: its column
    decode_page,     // size: stored bytes; result: raw ones
    claim_extent,    // result: where it lies
    wait_for_space,  // within a claim, for the committer
    wait_for_memory, // of a producer, for page buffers
    wait_for_writes, // for one that is under way to end
    write_in_flight, // from its submission until its end is noticed; detail: the engine
    sync_data,
    sync_journal,
    write_journal, // a step of the committer that has journaled something
    write_interim_footer,
    complete_file,
};
inline constexpr std::size_t kActivities = 12;

namespace detail {

struct Tracer {
    void (*begin)(void* room, unsigned activity, std::uint32_t file, std::int64_t size);
    void (*end)(void const* room, std::int64_t size, std::int64_t result, unsigned detail);
    void (*cancel)(void const* room);
    std::uint64_t (*now)();
    void (*note)(unsigned activity, std::uint32_t file, std::uint64_t start, std::int64_t offset, std::int64_t size,
                 int error, unsigned detail);
    std::uint32_t (*file)(char const* path);
    unsigned numbers[kActivities];
};
// Found when this library is loaded, and never changed: null if no tracer is loaded.
extern Tracer const* const kTracer;

} // namespace detail

inline bool is_traced() { return detail::kTracer != nullptr; }

// Reports its own lifetime. What ends by an exception has no result. `path`: null if the file is not known.
class Traced {
  public:
    Traced(Activity activity, char const* path, std::uint64_t size_bytes) {
        if (is_traced()) begin(activity, path, size_bytes);
    }
    Traced(Traced const&) = delete;
    Traced& operator=(Traced const&) = delete;
    ~Traced() {
        if (is_under_way_) end();
    }

    void set_size(std::uint64_t size_bytes) { size_ = static_cast<std::int64_t>(size_bytes); }
    void set_result(std::uint64_t result) { result_ = static_cast<std::int64_t>(result); }
    void set_detail(std::size_t detail) { detail_ = static_cast<unsigned>(detail); }
    // It was nothing worth a record.
    void cancel();

  private:
    void begin(Activity activity, char const* path, std::uint64_t size_bytes);
    void end();

    alignas(8) std::byte room_[64]; // the tracer's
    bool is_under_way_ = false;
    unsigned detail_ = 0;
    std::int64_t size_ = -1;
    std::int64_t result_ = -1;
};

// For activities that overlap: the time at which one begins (0 if no tracer is loaded), and the report that it has
// ended.
inline std::uint64_t trace_clock() { return is_traced() ? detail::kTracer->now() : 0; }
void trace_write(char const* path, std::uint64_t begin, std::uint64_t offset, std::uint64_t size_bytes, int error,
                 unsigned engine);

} // namespace thalweg::trace
