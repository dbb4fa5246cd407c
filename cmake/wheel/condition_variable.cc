// Only in wheels: GCC 12 and newer ask libstdc++ for a std::condition_variable::wait that is noexcept, which older ones
// have not (GLIBCXX_3.4.30). The one in front of it has been there since 3.4.11 and does the same. The linker puts this
// function in the place of all calls (--wrap, see ThalwegWheel.cmake).
#include <condition_variable>
#include <mutex>

extern "C" {

__asm__(".symver thalweg_wait_of_libstdcxx,_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
void thalweg_wait_of_libstdcxx(std::condition_variable* self, std::unique_lock<std::mutex>* lock);

__attribute__((visibility("hidden"))) void
__wrap__ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE(std::condition_variable* self,
                                                                 std::unique_lock<std::mutex>* lock) {
    thalweg_wait_of_libstdcxx(self, lock);
}
}
