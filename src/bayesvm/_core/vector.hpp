// Vector code that is the same for all machines.
#pragma once

// Let the loader choose the widest vector unit of the machine; sanitizers cannot see through that choice.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&                       \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BAYESVM_VECTOR __attribute__((target_clones("avx512f", "avx2,fma", "default")))
#else
#define BAYESVM_VECTOR
#endif

// A loop that several such functions share: part of each of them, so that it is compiled for its vector unit.
#if defined(__GNUC__)
#define BAYESVM_INLINE __attribute__((always_inline)) inline
#else
#define BAYESVM_INLINE inline
#endif
