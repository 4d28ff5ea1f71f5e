// What api.cpp gives to Python.
#pragma once

#include <cstdint>
#include <memory>

#include "decode.h"
#include "network.h"
#include "search.h"
#include "weights.h"

using Held = std::shared_ptr<const Weights>;

extern "C" {
int32_t dragoman_kernels(int32_t index, const char **name);
int32_t dragoman_packed_bytes(const Shape *, int64_t *bytes);
int32_t dragoman_pack(const Shape *, const Tables *, NextWeight, void *memory, int64_t bytes,
                      Held **packed);
int32_t dragoman_let_go(Held *);
int32_t dragoman_new(const Held *, const Room *, Network **network);
int32_t dragoman_delete(Network *);
int32_t dragoman_use_threads(Network *, int32_t threads);
int32_t dragoman_encode(Network *, int32_t sentences, const int64_t *ids, const int32_t *lengths,
                        const int32_t *slots, float *memory);
int32_t dragoman_shorten(Network *, int32_t sentences, const int32_t *tokens,
                         const int32_t *lengths, const int32_t *slots);
int32_t dragoman_step(Network *, int32_t rows, const int64_t *tokens, const int64_t *positions,
                      const int32_t *row, const int32_t *slot, const int32_t *order);
int32_t dragoman_attention(Network *, int32_t rows, const int64_t *tokens, const int64_t *positions,
                           const int32_t *row, const int32_t *slot, const int32_t *order,
                           int32_t num_heads, const int32_t *heads, float *values, int32_t stride);
int32_t dragoman_decode(Network *, const SearchState *, const StepTable *, int32_t count,
                        int32_t length, const DecodeRecord *record);
int32_t dragoman_logits(Network *, float *logits);
int32_t dragoman_rank(Network *, int32_t count, float *log_probs, int64_t *tokens);
int32_t dragoman_reorder(Network *, int32_t rows, const int32_t *row, const int64_t *sources,
                         int32_t length);
int32_t dragoman_stable_lengths(const SearchState *, const int64_t *members, int32_t slots,
                                int64_t *lengths);
int32_t dragoman_linear(int32_t kernels, int32_t activation, int32_t is_quantised, int32_t rows,
                        int32_t inputs, int32_t outputs, const float *weight, const float *bias,
                        const float *x, float *y);
int32_t dragoman_time_linear(int32_t kernels, int32_t is_quantised, int32_t rows, int32_t inputs,
                             int32_t outputs);
}
