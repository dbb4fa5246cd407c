#include "thalweg/source/correlation.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

#include "thalweg/base/assert.h"
#include "thalweg/base/error.h"

namespace thalweg::source {
namespace {

constexpr double kTableHalfLives = 25;
constexpr double kMostSteps = 1 << 20;
constexpr double kStepPhase = 0.02; // of the fastest line: linear interpolation is then right to 5e-5
constexpr std::uint32_t kMostDetectors = 64;
constexpr std::size_t kDelaysOfMean = 512;

double dot(Direction const& a, Direction const& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Direction cross(Direction const& a, Direction const& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

Direction sum_of(Direction const& a, double of_a, Direction const& b, double of_b, Direction const& c, double of_c) {
    return {of_a * a[0] + of_b * b[0] + of_c * c[0], of_a * a[1] + of_b * b[1] + of_c * c[1],
            of_a * a[2] + of_b * b[2] + of_c * c[2]};
}

bool is_zero(Direction const& direction) { return dot(direction, direction) == 0; }

// The formula of Rodrigues.
Direction turned(Direction const& direction, Direction const& axis, double angle) {
    auto const along = dot(axis, direction) * (1 - std::cos(angle));
    return sum_of(direction, std::cos(angle), cross(axis, direction), std::sin(angle), axis, along);
}

double legendre2(double cosine) { return 1.5 * cosine * cosine - 0.5; }

double legendre4(double cosine) {
    auto const square = cosine * cosine;
    return (35 * square * square - 30 * square + 3) / 8;
}

void require_physics(bool condition, std::string const& problem, std::string const& why) {
    if (!condition) base::fail_usage({"digitizer: " + problem, why});
}

bool is_unit(Direction const& direction) { return std::abs(dot(direction, direction) - 1) < 1e-9; }

} // namespace

Perturbation::Perturbation(FieldSite const& site, double length_ns) : site_(site) {
    double fastest = 0;
    for (auto const& line : site.lines) fastest = std::max(fastest, line.omega_per_ns * (1 + site.delta));
    if (fastest == 0) return;
    step_ns_ = std::max(kStepPhase / fastest, length_ns / kMostSteps);
    table_.resize(static_cast<std::size_t>(length_ns / step_ns_) + 2);
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = sum(static_cast<double>(i) * step_ns_);
}

Perturbation::Factors Perturbation::sum(double time_ns) const {
    Factors factors{0, 0};
    for (auto const& line : site_.lines) {
        auto const spread = site_.delta * line.omega_per_ns * time_ns;
        auto const value =
            std::cos(line.omega_per_ns * time_ns) * std::exp(site_.is_gauss ? -0.5 * spread * spread : -spread);
        factors.g2 += line.weight2 * value;
        factors.g4 += line.weight4 * value;
    }
    return factors;
}

Perturbation::Factors Perturbation::at(double time_ns) const {
    if (site_.lines.empty()) return {};
    auto const place = step_ns_ > 0 ? time_ns / step_ns_ : 0;
    if (table_.empty() || place >= static_cast<double>(table_.size() - 1)) return sum(time_ns);
    auto const index = static_cast<std::size_t>(place);
    auto const share = place - static_cast<double>(index);
    auto const& [g2, g4] = table_[index];
    return {g2 + share * (table_[index + 1].g2 - g2), g4 + share * (table_[index + 1].g4 - g4)};
}

Correlation::Correlation(Physics const& physics, double half_life_ns)
    : physics_(physics), bound_(1 + std::abs(physics.a22) + std::abs(physics.a44)),
      cosine_(std::cos(physics.half_angle_rad)) {
    for (auto const& detector : physics_.detectors) {
        auto const& axis = detector.place;
        auto across = cross(axis, std::abs(axis[2]) < 0.5 ? Direction{0, 0, 1} : Direction{1, 0, 0});
        auto const length = std::sqrt(dot(across, across));
        for (auto& part : across) part /= length;
        cones_.push_back({axis, across, cross(axis, across)});
    }
    if (physics_.sites.empty()) physics_.sites.push_back({});
    for (auto const& site : physics_.sites) perturbations_.emplace_back(site, kTableHalfLives * half_life_ns);
    mean_ = mean_of_pairs(half_life_ns);
}

double Correlation::value(std::size_t site, Direction const& first, Direction const& second, double delay_ns) const {
    auto const& field = physics_.sites[site];
    auto const [g2, g4] = perturbations_[site].at(delay_ns);
    // In a field along an axis the pattern turns with the nuclei: the first gamma counts as if it were turned with it.
    auto const from = is_zero(field.axis) ? first : turned(first, field.axis, field.larmor_per_ns * delay_ns);
    auto const cosine = dot(from, second);
    return 1 + physics_.a22 * g2 * legendre2(cosine) + physics_.a44 * g4 * legendre4(cosine);
}

bool Correlation::accepts(Random& random, std::uint32_t first, std::uint32_t second, double delay_ns) const {
    if (cones_.empty()) return true;
    auto const site = draw_site(random);
    auto const from = draw(random, cones_[first]);
    auto const to = draw(random, cones_[second]);
    auto const probability = value(site, from, to, delay_ns) / bound_;
    THALWEG_ASSERT(probability <= 1, "a probability is 1 at most");
    return random.uniform() <= probability;
}

Direction Correlation::draw(Random& random, Cone const& cone) const {
    if (cosine_ == 1) return cone.axis;
    auto const along = 1 - random.uniform() * (1 - cosine_);
    auto const beside = std::sqrt(std::max(0.0, 1 - along * along));
    auto const angle = 2 * std::numbers::pi * random.uniform();
    return sum_of(cone.axis, along, cone.across, beside * std::cos(angle), cone.upright, beside * std::sin(angle));
}

std::size_t Correlation::draw_site(Random& random) const {
    if (physics_.sites.size() == 1) return 0;
    auto rest = random.uniform();
    for (std::size_t site = 0; site + 1 < physics_.sites.size(); ++site) {
        rest -= physics_.sites[site].fraction;
        if (rest <= 0) return site;
    }
    return physics_.sites.size() - 1;
}

double Correlation::mean_of_pairs(double half_life_ns) const {
    if (cones_.size() < 2) return 1;
    double sum = 0;
    for (std::size_t i = 0; i < kDelaysOfMean; ++i) {
        auto const delay_ns = -std::log2((static_cast<double>(i) + 0.5) / kDelaysOfMean) * half_life_ns;
        for (std::size_t site = 0; site < physics_.sites.size(); ++site)
            for (auto const& first : cones_)
                for (auto const& second : cones_)
                    if (&first != &second)
                        sum += physics_.sites[site].fraction * value(site, first.axis, second.axis, delay_ns);
    }
    return sum / static_cast<double>(kDelaysOfMean * cones_.size() * (cones_.size() - 1));
}

void validate(Physics const& physics, std::uint32_t channels) {
    if (physics.detectors.empty()) return;
    require_physics(channels <= kMostDetectors, fmt::format("{} channels", channels),
                    fmt::format("{} detectors at most can have places", kMostDetectors));
    require_physics(physics.detectors.size() == channels,
                    fmt::format("{} detectors have places", physics.detectors.size()),
                    fmt::format("there are {} channels", channels));
    for (auto const& each : physics.detectors) {
        require_physics(is_unit(each.place), "the place of a detector", "it is no unit vector");
        require_physics(each.gain > 0 && each.efficiency > 0 && each.efficiency <= 1,
                        fmt::format("gain {} and efficiency {}", each.gain, each.efficiency),
                        "a gain is positive, and an efficiency between 0 and 1");
        require_physics(each.time_resolution_ps.value_or(0) >= 0 && each.energy_resolution.value_or(0) >= 0,
                        "the resolution of a detector", "it is negative");
    }
    require_physics(physics.half_angle_rad >= 0 && physics.half_angle_rad < std::numbers::pi / 2,
                    fmt::format("half angle {} rad", physics.half_angle_rad), "0 to 90 degrees are possible");
    // At 180 degrees W is smallest or largest, and between them P_2 is -1/2 and P_4 is -3/7 at least.
    require_physics(1 + physics.a22 + physics.a44 >= 0 && std::abs(physics.a22) + std::abs(physics.a44) <= 1,
                    fmt::format("A22 = {}, A44 = {}", physics.a22, physics.a44), "W must not be negative");
    double fractions = 0;
    for (auto const& site : physics.sites) {
        require_physics(site.fraction >= 0 && site.delta >= 0, "a site", "its fraction or its delta is negative");
        require_physics(is_zero(site.axis) || (is_unit(site.axis) && site.lines.empty()), "the axis of a field",
                        "it is no unit vector, or the site has lines, too");
        fractions += site.fraction;
    }
    require_physics(physics.sites.empty() || std::abs(fractions - 1) < 1e-6,
                    fmt::format("fractions of sites with the sum {}", fractions), "the sum must be 1");
}

} // namespace thalweg::source
