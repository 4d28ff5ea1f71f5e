// A Transformer's weights, packed once and then only read: by any number of networks, and of
// processes that share the memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "linear.h"

// What model.network.config.ModelConfig says, as far as arithmetic is concerned.
struct Shape {
    int32_t d_model, n_heads, d_ff, n_encoder_layers, n_decoder_layers;
    int32_t src_vocab_size, tgt_vocab_size, is_pre_norm, has_embedding_norm;
    int32_t activation, is_quantised, max_positions, has_half_tables;
    int32_t head_size, is_attention_scaled, is_gated, has_rms_norms;
    int32_t is_recurrent;  // an SSRU takes the place of the decoder's self-attention
    int32_t has_shortlist;  // sentences may be translated to some of the target tokens only
    float embedding_scale;
    int32_t kernels;  // which of usable_kernels

    int attention_width() const { return n_heads * head_size; }
};

// Matrices that are read where they lie: tokens (V, D), positions (P, D), and what self-attention
// adds to its scores (H, 2 P - 1), by the position of the key less that of the query, from 1 - P on.
// Null for no such positions or biases. Those of tokens have float16 numbers if the shape says so,
// all others float32.
struct Tables {
    const void *source;
    const float *source_positions;
    const void *target;
    const float *target_positions, *source_biases, *target_biases;
};

// The next weight (rows, columns), a vector in one column, in the order that Weights' constructor
// packs them; null if it cannot be had. It lies there until the next but one is asked for.
using NextWeight = const float *(*)(int32_t rows, int32_t columns);

// A finite float16 as float32: its exponent moves to where it counts for 2^112 less.
inline float widened(uint16_t half) {
    uint32_t bits = (half & 0x8000u) << 16 | (half & 0x7fffu) << 13;
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number * 0x1p112f;
}

// A norm without bias takes no mean either: it divides by the root mean square.
struct Norm {
    float *gain = nullptr, *bias = nullptr;
    explicit operator bool() const { return gain; }  // whether there is such a norm
};

struct Embedding {
    const void *tokens;  // of Tables
    const float *positions, *biases;
    Norm norm;
};

struct FeedForward {
    Norm norm;
    Linear expand, gate, contract;  // without outputs if there is no gate
};

struct EncoderLayer {
    Norm attention_norm;
    Linear qkv, out;
    FeedForward feed_forward;
};

// `gates` (input and forget) is there instead of `qkv` and `out` where the shape is recurrent.
struct DecoderLayer {
    Norm attention_norm, memory_norm;
    Linear qkv, out, gates, memory_query, memory_kv, memory_out;
    FeedForward feed_forward;
};

struct Weights {
    // Weights that lie in the arena, where all numbers are 0 before. With `next` null they are packed
    // there already, or only counted. Throws std::runtime_error if a weight cannot be had.
    Weights(const Shape &shape, const Tables &tables, Arena &arena, NextWeight next);

    Shape shape;
    Embedding source, target;
    std::vector<EncoderLayer> encoder;
    std::vector<DecoderLayer> decoder;
    Norm encoder_norm, decoder_norm;
    Linear output;
};

// The bytes of an arena for the weights of this shape.
size_t packed_bytes(const Shape &shape);
