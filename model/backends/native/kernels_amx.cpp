#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels.h"

#if defined(__x86_64__)
#pragma GCC target("arch=x86-64-v4,avx512vnni,amx-tile,amx-int8")
#include "intrinsics.h"

#define VECTOR_BYTES 64
#define HAS_BYTE_PRODUCTS 1
#define HAS_TILES 1

namespace amx {
#include "kernels.inc"
}

const Kernels kernels_amx = {
    "amx",
    amx::quantise,
    amx::multiply,
    amx::normalise,
    amx::attend_rows,
    amx::attend_columns,
    amx::rank,
};
#endif
