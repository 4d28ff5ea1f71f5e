#include "kernels.h"

#if defined(__x86_64__)
#include "intrinsics.h"

#define TARGET "arch=x86-64-v4,avx512vnni"
#define SET vnni
#define VECTOR_BYTES 64
#define PRODUCTS BYTE_DOTS
#define HAS_TILES 0
#include "kernels.inc"
#endif
