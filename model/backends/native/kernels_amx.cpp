#include "kernels.h"

#if defined(__x86_64__)
#include "intrinsics.h"

#define TARGET "arch=x86-64-v4,avx512vnni,amx-tile,amx-int8"
#define SET amx
#define VECTOR_BYTES 64
#define PRODUCTS BYTE_DOTS
#define HAS_TILES 1
#include "kernels.inc"
#endif
