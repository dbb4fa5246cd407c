// Whatever the bytes: a request, a refusal, or a wish for more; and a decision stays when more bytes come. Build with
// -DTHALWEG_FUZZ=ON and clang.
#include "thalweg/monitor/http_request.h"

#include <cstdint>
#include <cstdlib>

// The first byte says where the bytes are cut, the second the limit.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    using thalweg::monitor::parse_request;
    if (size < 2) return 0;
    std::string_view const whole(reinterpret_cast<char const*>(data) + 2, size - 2);
    std::size_t const limit_bytes = 8 + 4u * data[1];
    auto const early = parse_request(whole.substr(0, whole.size() * data[0] / 255), limit_bytes);
    auto const late = parse_request(whole, limit_bytes);
    if (late.request && late.request->body.size() + late.request->path.size() > limit_bytes) std::abort();
    if ((late.status == 200) != late.request.has_value()) std::abort();
    if (early.status == 0) return 0;
    if (early.status != late.status || early.why != late.why) std::abort();
    if (early.request && early.request->body != late.request->body) std::abort();
    return 0;
}
