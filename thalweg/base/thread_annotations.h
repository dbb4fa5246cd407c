// What clang checks about mutexes (-Wthread-safety, in `make lint`): which members a mutex guards, which functions want
// it held. Other compilers see nothing of it.
#pragma once

#if defined(__clang__)
#define THALWEG_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define THALWEG_THREAD_ANNOTATION(attribute)
#endif

// Of a class that is a mutex, and of one that holds a mutex while it lives.
#define THALWEG_MUTEX THALWEG_THREAD_ANNOTATION(capability("mutex"))
#define THALWEG_LOCK THALWEG_THREAD_ANNOTATION(scoped_lockable)

// Of a member: read and written only while the mutex is held.
#define THALWEG_GUARDED_BY(mutex) THALWEG_THREAD_ANNOTATION(guarded_by(mutex))

// Of a function: the caller holds the mutex; it is taken; it is given back; it is taken where the result says so.
#define THALWEG_REQUIRES(...) THALWEG_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define THALWEG_ACQUIRES(...) THALWEG_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define THALWEG_RELEASES(...) THALWEG_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define THALWEG_TRY_ACQUIRES(...) THALWEG_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

// Of a function that cannot be checked; say why where it is used.
#define THALWEG_UNCHECKED_LOCKS THALWEG_THREAD_ANNOTATION(no_thread_safety_analysis)
