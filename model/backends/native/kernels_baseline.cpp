#include "kernels.h"

// What every processor of its kind has: SSE2 on x86-64, NEON on 64-bit Arm.
#if defined(__aarch64__)
#include <arm_neon.h>
#define SET neon
#define PRODUCTS NEON_PAIRS
#else
#if defined(__x86_64__)
#include "intrinsics.h"
#endif
#define SET baseline
#define PRODUCTS PORTABLE
#endif
#define VECTOR_BYTES 16
#define HAS_TILES 0
#include "kernels.inc"
