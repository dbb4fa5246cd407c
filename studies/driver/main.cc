// study SUBCOMMAND --name value ...
#include "studies/driver/measurements.h"

int main(int count, char** words) {
    using namespace thalweg::study;
    Subcommands const subcommands{
        {"write", measure_write},          {"pages", measure_pages},        {"memory", measure_memory},
        {"source", measure_source},        {"encode", measure_encode},      {"read", measure_read},
        {"pulses", dump_pulses},           {"produce", produce_for_memory}, {"projection", measure_projection},
        {"nodes", measure_nodes},          {"claims", measure_claims},      {"names", measure_names},
        {"event-loop", measure_event_loop}};
    return run_subcommand(subcommands, {words, static_cast<std::size_t>(count)});
}
