#include "kernels.h"

#if defined(__x86_64__)
#include "intrinsics.h"

#define TARGET "arch=x86-64-v3"
#define SET avx2
#define VECTOR_BYTES 32
#define PRODUCTS BYTE_PAIRS
#define HAS_TILES 0
#include "kernels.inc"
#endif
