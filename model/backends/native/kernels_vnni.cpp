#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels.h"

#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v4,avx512vnni")
#include "intrinsics.h"

#define VECTOR_BYTES 64
#define HAS_BYTE_PRODUCTS 1
#define HAS_TILES 0

namespace vnni {
#include "kernels.inc"
}

const Kernels kernels_vnni = {
    "vnni",
    vnni::quantise,
    vnni::multiply,
    vnni::normalise,
    vnni::attend_rows,
    vnni::attend_columns,
    vnni::rank,
};
#endif
