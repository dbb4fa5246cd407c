// Annotations that clang checks (-Wthread-safety, in `make lint`): which members a mutex guards, which functions want
// it held. Other compilers see nothing of it.
#pragma once

#if defined(__clang__)
#define THALWEG_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define THALWEG_THREAD_ANNOTATION(attribute)
#endif

// Marks a class that is a mutex, and a class that holds a mutex while it lives.
#define THALWEG_MUTEX THALWEG_THREAD_ANNOTATION(capability("mutex"))
#define THALWEG_LOCK THALWEG_THREAD_ANNOTATION(scoped_lockable)

// Marks a member that is read and written only while the mutex is held.
#define THALWEG_GUARDED_BY(mutex) THALWEG_THREAD_ANNOTATION(guarded_by(mutex))

// Mark a function whose caller holds the mutex; that takes it; that gives it back; that takes it if the result says so.
#define THALWEG_REQUIRES(...) THALWEG_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define THALWEG_ACQUIRES(...) THALWEG_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define THALWEG_RELEASES(...) THALWEG_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define THALWEG_TRY_ACQUIRES(...) THALWEG_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

// Marks a function that cannot be checked. A comment beside it says why.
#define THALWEG_UNCHECKED_LOCKS THALWEG_THREAD_ANNOTATION(no_thread_safety_analysis)
