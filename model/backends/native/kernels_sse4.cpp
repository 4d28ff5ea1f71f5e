#include "kernels.h"

#if defined(__x86_64__)
#include "intrinsics.h"

#define TARGET "arch=x86-64-v2"
#define SET sse4
#define VECTOR_BYTES 16
#define PRODUCTS BYTE_PAIRS
#define HAS_TILES 0
#include "kernels.inc"
#endif
