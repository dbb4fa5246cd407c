// readout_study SUBCOMMAND --name value ...
#include "studies/readout/driver/measurements.h"

int main(int count, char** words) {
    using namespace thalweg::study;
    Subcommands const subcommands{{"hand-off", measure_hand_off},
                                  {"flatten", measure_flatten},
                                  {"decode", measure_decode},
                                  {"build", measure_build},
                                  {"serve", measure_serve},
                                  {"card", measure_card},
                                  {"live", measure_live},
                                  {"full-events", measure_full_events},
                                  {"handlers", measure_farm_handlers},
                                  {"collectors", measure_farm_collectors}};
    return run_subcommand(subcommands, {words, static_cast<std::size_t>(count)});
}
