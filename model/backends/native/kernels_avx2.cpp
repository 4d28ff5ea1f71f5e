#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels.h"

#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v3")
#include "intrinsics.h"

#define VECTOR_BYTES 32
#define HAS_BYTE_PRODUCTS 0
#define HAS_TILES 0

namespace avx2 {
#include "kernels.inc"
}

const Kernels kernels_avx2 = {
    "avx2",
    avx2::quantise,
    avx2::multiply,
    avx2::normalise,
    avx2::attend_rows,
    avx2::attend_columns,
    avx2::rank,
};
#endif
