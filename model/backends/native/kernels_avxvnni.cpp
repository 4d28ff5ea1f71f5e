#include "kernels.h"

#if defined(__x86_64__)
#include "intrinsics.h"

#define TARGET "arch=x86-64-v3,avxvnni"
#define SET avxvnni
#define VECTOR_BYTES 32
#define PRODUCTS BYTE_DOTS
#define HAS_TILES 0
#include "kernels.inc"
#endif
