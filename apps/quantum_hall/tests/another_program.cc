// Another program that saves checkpoints, too. Usage: another-program FILE
#include <thalweg/checkpoint/save.h>

namespace checkpoint = thalweg::checkpoint;

int main(int, char** argv) {
    double const value = 1;
    checkpoint::Array array{"weather", thalweg::model::Scalar::float64, {1}, {{{{0}, {1}}, &value}}};
    auto const alone = checkpoint::alone();
    checkpoint::save(argv[1], {array}, *alone);
}
