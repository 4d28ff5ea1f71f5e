#include "weights.h"

#include <stdexcept>

namespace {

const float *next_weight(NextWeight next, int rows, int columns) {
    const float *weight = next(rows, columns);
    if (!weight) throw std::runtime_error("a weight cannot be had");
    return weight;
}

Linear next_linear(const Shape &shape, NextWeight next, int outputs, int inputs) {
    const float *weight = next_weight(next, outputs, inputs);
    const float *bias = next_weight(next, outputs, 1);
    return pack(weight, bias, outputs, inputs, shape.is_quantised);
}

Norm next_norm(const Shape &shape, NextWeight next) {
    const float *gain = next_weight(next, shape.d_model, 1);
    Norm norm{{gain, gain + shape.d_model}, {}};
    if (shape.has_rms_norms) return norm;
    const float *bias = next_weight(next, shape.d_model, 1);
    norm.bias.assign(bias, bias + shape.d_model);
    return norm;
}

// For a norm that only some architectures have.
Norm next_norm_if(bool has_norm, const Shape &shape, NextWeight next) {
    return has_norm ? next_norm(shape, next) : Norm{};
}

FeedForward next_feed_forward(const Shape &shape, NextWeight next) {
    FeedForward found;
    found.norm = next_norm(shape, next);
    found.expand = next_linear(shape, next, shape.d_ff, shape.d_model);
    if (shape.is_gated) found.gate = next_linear(shape, next, shape.d_ff, shape.d_model);
    found.contract = next_linear(shape, next, shape.d_model, shape.d_ff);
    return found;
}

EncoderLayer next_encoder_layer(const Shape &shape, NextWeight next) {
    int d = shape.d_model, width = shape.attention_width();
    EncoderLayer layer;
    layer.attention_norm = next_norm(shape, next);
    layer.qkv = next_linear(shape, next, 3 * width, d);
    layer.out = next_linear(shape, next, d, width);
    layer.feed_forward = next_feed_forward(shape, next);
    return layer;
}

DecoderLayer next_decoder_layer(const Shape &shape, NextWeight next) {
    int d = shape.d_model, width = shape.attention_width();
    DecoderLayer layer;
    layer.attention_norm = next_norm(shape, next);
    if (shape.is_recurrent) {
        layer.gates = next_linear(shape, next, 2 * d, d);
    } else {
        layer.qkv = next_linear(shape, next, 3 * width, d);
        layer.out = next_linear(shape, next, d, width);
    }
    layer.memory_norm = next_norm(shape, next);
    layer.memory_query = next_linear(shape, next, width, d);
    layer.memory_kv = next_linear(shape, next, 2 * width, d);
    layer.memory_out = next_linear(shape, next, d, width);
    layer.feed_forward = next_feed_forward(shape, next);
    return layer;
}

}  // namespace

Weights::Weights(const Shape &shape_, const Tables &tables, NextWeight next)
    : shape(shape_),
      source{tables.source, tables.source_positions, tables.source_biases,
             next_norm_if(shape_.has_embedding_norm, shape_, next)},
      target{tables.target, tables.target_positions, tables.target_biases,
             next_norm_if(shape_.has_embedding_norm, shape_, next)} {
    for (int i = 0; i < shape.n_encoder_layers; i++)
        encoder.push_back(next_encoder_layer(shape, next));
    encoder_norm = next_norm_if(shape.is_pre_norm, shape, next);
    for (int i = 0; i < shape.n_decoder_layers; i++)
        decoder.push_back(next_decoder_layer(shape, next));
    decoder_norm = next_norm_if(shape.is_pre_norm, shape, next);
    output = next_linear(shape, next, shape.tgt_vocab_size, shape.d_model);
    if (shape.has_shortlist) keep_by_output(output);
}
