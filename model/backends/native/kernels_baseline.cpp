#include <cmath>
#include <cstdlib>
#include <cstring>

#include "kernels.h"

#define VECTOR_BYTES 16
#define HAS_BYTE_PRODUCTS 0
#define HAS_TILES 0

namespace baseline {
#include "kernels.inc"
}

const Kernels kernels_baseline = {
    "baseline",
    baseline::quantise,
    baseline::multiply,
    baseline::normalise,
    baseline::attend_rows,
    baseline::attend_columns,
    baseline::rank,
};
