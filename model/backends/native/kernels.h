// The arithmetic of a network on the CPU, compiled once for each instruction set.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

constexpr int kLanes = 16;      // outputs in one panel of a packed matrix
constexpr int kDepthStep = 64;  // quantised inputs are padded to a multiple of this
constexpr int kQueriesAtOnce = 4;  // of those that attend to the same keys
constexpr int kRowStep = 32;    // rows of quantised inputs are padded to a multiple of this

enum class Activation { kRelu, kGelu, kSilu, kGeluTanh, kNone };

// y = x W^T + b, with W (outputs, inputs) packed in panels of 16 outputs.
// float32: values[panel][input][16]. int8: codes[panel][input / 4][16][4] and one scale an output;
// where activations are stored as code + 128, `offset` takes 128 times the sum of an output's codes
// away again. Scale, offset and bias are padded to whole panels. `by_output` has the codes once more
// (outputs, depth), if outputs are to be selected. The numbers lie in an Arena (`linear.h`).
struct Linear {
    int inputs = 0, outputs = 0, panels = 0, depth = 0;
    bool is_quantised = false;
    float *values = nullptr;
    int8_t *codes = nullptr, *by_output = nullptr;
    float *scale = nullptr, *bias = nullptr;
    int32_t *offset = nullptr;
};

// Rows of activations as a linear layer reads them: float32, or bytes (`products.inc`) and one scale
// a row, so that a row's result never depends on its neighbours.
struct Inputs {
    const float *values;
    size_t stride;
    const uint8_t *codes;
    const float *scales;
};

// How results join what is there.
enum class Into { kNothing, kSum, kProduct };

// What multiply does with its results; `first` is the output that values[0] belongs to.
struct Output {
    float *values;
    size_t stride;
    int first;
    Activation activation;
    Into into;
};

// Row i of a matrix that may lie scattered: at base + index[i] * row_stride + i * stride, or with a
// null index at base + i * stride.
struct Rows {
    const float *base;
    size_t stride, row_stride;
    const int32_t *index;
};

// Keys stored by column, (all heads, stride), stride a multiple of kLanes.
struct Columns {
    const float *base;
    size_t stride;
    int length;
};

// Queries that attend to the same keys, one row each, and where what they find goes.
struct Queries {
    const float *base;
    size_t stride;
    float *contexts;
    size_t context_stride;
    int count;
};

struct Heads {
    int count, size;
    float scale;          // of the scores
    const float *biases;  // of a key at the query's position, for each head `stride` apart; or null
    size_t stride;
};

// The highest logits of a stretch of the vocabulary, best first, and what its softmax needs.
struct Ranking {
    float maximum, sum;  // sum of exp(logit - maximum)
    float *logits;
    int32_t *tokens;
};

struct Kernels {
    const char *name;
    int bytes_an_input;  // of codes
    // Rows [first, last) of x (rows, width) to codes (rows, depth * bytes_an_input) and scales (rows).
    void (*quantise)(const float *x, size_t width, int depth, int first, int last, uint8_t *codes,
                     float *scales);
    // All rows of x times the panels [first, last).
    void (*multiply)(const Linear &linear, const Inputs &x, int rows, int first, int last,
                     const Output &y);
    // Layer normalisation of one row; without mean and bias if `bias` is null.
    void (*normalise)(const float *x, int width, const float *gain, const float *bias, float *y);
    // One step of an SSRU. gates (2 width): inputs, and the logits of how much of `state` stays; the
    // state before is `before`, or 0 if that is null. Its positive part, or NaN, is added to
    // `sum`.
    void (*recur)(const float *gates, const float *before, int width, float *state, float *sum);
    // Attention of one query, all heads, to the `length` keys and values up to its own position.
    // `scores` has room for heads * (length + kLanes) numbers.
    void (*attend_rows)(const float *query, int length, const Rows &keys, const Rows &values,
                        const Heads &heads, float *scores, float *context);
    // Attention of queries, the i-th at position i, all heads, to all keys. `scores` has room for
    // kQueriesAtOnce * (length + kLanes) numbers.
    void (*attend_columns)(const Queries &queries, const Columns &keys, const Rows &values,
                           const Heads &heads, float *scores);
    // The `count` highest of logits[0..width), whose first is `first_token`; those not above
    // `floor` may be left out.
    void (*rank)(const float *logits, int width, int first_token, int count, float floor,
                 Ranking &best);
};

#if defined(__x86_64__)
extern const Kernels kernels_sse4, kernels_avx2, kernels_avxvnni, kernels_avx512, kernels_vnni,
    kernels_amx;
#endif
#if defined(__aarch64__)
extern const Kernels kernels_neon, kernels_dotprod, kernels_i8mm;
#else
extern const Kernels kernels_baseline;
#endif
