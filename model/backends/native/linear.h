// Linear layers: packing, and the whole product with its threads.
#pragma once

#include <functional>

#include "kernels.h"

inline int rounded_up(int n, int step) { return (n + step - 1) / step * step; }

// The kernels that this machine runs, the fastest ones first.
const std::vector<const Kernels *> &usable_kernels();

// weight (outputs, inputs) and bias (outputs) -> packed.
Linear pack(const float *weight, const float *bias, int outputs, int inputs, bool is_quantised);

// Get a layer ready for `select_outputs`.
void keep_by_output(Linear &linear);

// `to` becomes the part of a layer that has some of its outputs, and keeps its memory.
void select_outputs(const Linear &from, const int32_t *outputs, int count, Linear &to);

// Where inputs are quantised.
struct Scratch {
    std::vector<uint8_t> codes;
    std::vector<float> scales;
    void make_room(int rows, int bytes);  // bytes a row
};

// x (rows, inputs) as the layer reads it; valid until the scratch is used again.
Inputs prepare(const Kernels &kernels, const Linear &linear, const float *x, int rows,
               Scratch &scratch);

// y =, += or *= activation(x W^T + b); x (rows, inputs), y (rows, outputs).
void apply(const Kernels &kernels, const Linear &linear, const float *x, int rows, Scratch &scratch,
           float *y, Activation activation = Activation::kNone, Into into = Into::kNothing);

// Call body(first, last, thread) for stretches of 0..count-1, on several threads if all `count` are
// worth more than a hand-over; `cost` is the multiplications of one. Within a loop that threads
// share already, on the one that comes to it.
void spread_over_threads(int count, double cost, const std::function<void(int, int, int)> &body);
