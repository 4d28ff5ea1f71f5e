#include "kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define TARGET "arch=armv8.2-a+dotprod+i8mm"
#define SET i8mm
#define VECTOR_BYTES 16
#define PRODUCTS NEON_TILES
#define HAS_TILES 0
#include "kernels.inc"
#endif
