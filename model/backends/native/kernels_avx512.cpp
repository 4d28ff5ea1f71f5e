#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels.h"

#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v4")
#include "intrinsics.h"

#define VECTOR_BYTES 64
#define HAS_BYTE_PRODUCTS 0
#define HAS_TILES 0

namespace avx512 {
#include "kernels.inc"
}

const Kernels kernels_avx512 = {
    "avx512",
    avx512::quantise,
    avx512::multiply,
    avx512::normalise,
    avx512::attend_rows,
    avx512::attend_columns,
    avx512::rank,
};
#endif
