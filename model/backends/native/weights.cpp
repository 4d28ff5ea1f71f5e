#include "weights.h"

#include <algorithm>
#include <stdexcept>

namespace {

const float *next_weight(NextWeight next, int rows, int columns) {
    const float *weight = next(rows, columns);
    if (!weight) throw std::runtime_error("a weight cannot be had");
    return weight;
}

// Where weights come from, and where they lie once they are packed.
struct Supply {
    Arena &arena;
    NextWeight next;  // null: they lie there
};

Linear next_linear(const Shape &shape, Supply from, int outputs, int inputs,
                   bool is_selectable = false) {
    Linear linear = lay_out(from.arena, outputs, inputs, shape.is_quantised, is_selectable);
    if (!from.next) return linear;
    const float *weight = next_weight(from.next, outputs, inputs);
    const float *bias = next_weight(from.next, outputs, 1);
    pack(weight, bias, linear);
    return linear;
}

float *next_vector(const Shape &shape, Supply from) {
    float *vector = from.arena.take<float>(shape.d_model);
    if (from.next) std::copy_n(next_weight(from.next, shape.d_model, 1), shape.d_model, vector);
    return vector;
}

Norm next_norm(const Shape &shape, Supply from) {
    Norm norm;
    norm.gain = next_vector(shape, from);
    if (!shape.has_rms_norms) norm.bias = next_vector(shape, from);
    return norm;
}

// For a norm that only some architectures have.
Norm next_norm_if(bool has_norm, const Shape &shape, Supply from) {
    return has_norm ? next_norm(shape, from) : Norm{};
}

FeedForward next_feed_forward(const Shape &shape, Supply from) {
    FeedForward found;
    found.norm = next_norm(shape, from);
    found.expand = next_linear(shape, from, shape.d_ff, shape.d_model);
    if (shape.is_gated) found.gate = next_linear(shape, from, shape.d_ff, shape.d_model);
    found.contract = next_linear(shape, from, shape.d_model, shape.d_ff);
    return found;
}

EncoderLayer next_encoder_layer(const Shape &shape, Supply from) {
    int d = shape.d_model, width = shape.attention_width();
    EncoderLayer layer;
    layer.attention_norm = next_norm(shape, from);
    layer.qkv = next_linear(shape, from, 3 * width, d);
    layer.out = next_linear(shape, from, d, width);
    layer.feed_forward = next_feed_forward(shape, from);
    return layer;
}

DecoderLayer next_decoder_layer(const Shape &shape, Supply from) {
    int d = shape.d_model, width = shape.attention_width();
    DecoderLayer layer;
    layer.attention_norm = next_norm(shape, from);
    if (shape.is_recurrent) {
        layer.gates = next_linear(shape, from, 2 * d, d);
    } else {
        layer.qkv = next_linear(shape, from, 3 * width, d);
        layer.out = next_linear(shape, from, d, width);
    }
    layer.memory_norm = next_norm(shape, from);
    layer.memory_query = next_linear(shape, from, width, d);
    layer.memory_kv = next_linear(shape, from, 2 * width, d);
    layer.memory_out = next_linear(shape, from, d, width);
    layer.feed_forward = next_feed_forward(shape, from);
    return layer;
}

}  // namespace

Weights::Weights(const Shape &shape_, const Tables &tables, Arena &arena, NextWeight next)
    : shape(shape_),
      source{tables.source, tables.source_positions, tables.source_biases,
             next_norm_if(shape_.has_embedding_norm, shape_, {arena, next})},
      target{tables.target, tables.target_positions, tables.target_biases,
             next_norm_if(shape_.has_embedding_norm, shape_, {arena, next})} {
    Supply from{arena, next};
    for (int i = 0; i < shape.n_encoder_layers; i++)
        encoder.push_back(next_encoder_layer(shape, from));
    encoder_norm = next_norm_if(shape.is_pre_norm, shape, from);
    for (int i = 0; i < shape.n_decoder_layers; i++)
        decoder.push_back(next_decoder_layer(shape, from));
    decoder_norm = next_norm_if(shape.is_pre_norm, shape, from);
    output = next_linear(shape, from, shape.tgt_vocab_size, shape.d_model, shape.has_shortlist);
}

size_t packed_bytes(const Shape &shape) {
    Arena counted;
    Weights(shape, {}, counted, nullptr);
    return counted.used();
}
