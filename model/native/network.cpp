#include "network.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "parallel.h"

namespace {

constexpr int kBlockPanels = 32;  // of the vocabulary, ranked while they are in the cache

constexpr float kNever = -std::numeric_limits<float>::infinity();

size_t widest(const Shape &shape) { return std::max(3 * shape.d_model, shape.d_ff); }

float log_sum(const std::vector<Ranking> &blocks) {
    float peak = kNever, sum = 0;
    for (const Ranking &block : blocks) peak = std::max(peak, block.sum ? block.maximum : kNever);
    for (const Ranking &block : blocks)
        if (block.sum) sum += block.sum * std::exp(block.maximum - peak);
    return peak + std::log(sum);
}

// The best of one row's blocks, best first; of equals the lower token. NaN if a score was one.
void merge(std::vector<Ranking> &blocks, int count, float *log_probs, int64_t *tokens) {
    float normaliser = log_sum(blocks);
    for (int i = 0; i < count; i++) {
        Ranking *winner = &blocks[0];
        for (Ranking &block : blocks)
            if (*block.logits > *winner->logits) winner = &block;
        log_probs[i] = *winner->logits - normaliser;
        tokens[i] = *winner->tokens;
        if (*winner->logits > kNever) winner->logits++, winner->tokens++;
    }
}

Store make_store(size_t count) {
    constexpr size_t kLine = 64;
    size_t bytes = (count * sizeof(float) + kLine - 1) / kLine * kLine;
    float *memory = static_cast<float *>(std::aligned_alloc(kLine, bytes));
    if (!memory) throw std::bad_alloc();
    return Store(memory);
}

// Keys of `width` dimensions by column, so that 16 of them are scored at once.
void turn_keys(const float *keys, size_t stride, int length, int width, float *out) {
    size_t columns = rounded_up(length, kLanes);
    for (int start = 0; start < length; start += kLanes) {
        int end = std::min(start + kLanes, length);
        for (int j = 0; j < width; j++)
            for (int i = start; i < end; i++) out[j * columns + i] = keys[i * stride + j];
    }
}

// Call body(i, first, last, thread) for stretches of the heads of all `rows`; `cost` is one row's.
void spread_heads(int rows, int heads, double cost,
                  const std::function<void(int, int, int, int)> &body) {
    spread_over_threads(rows * heads, cost / heads, [&](int first, int last, int thread) {
        for (int end; first < last; first = end) {
            int row = first / heads;
            end = std::min(last, (row + 1) * heads);
            body(row, first - row * heads, end - row * heads, thread);
        }
    });
}

}  // namespace

Network::Network(const Shape &shape, const Tables &tables, NextWeight next)
    : shape_(shape),
      kernels_(*usable_kernels()[shape.kernels]),
      source_{tables.source, tables.source_positions, next_norm(next)},
      target_{tables.target, tables.target_positions, next_norm(next)},
      slopes_(tables.slopes),
      scratch_(shape.max_batch_tokens, std::max(shape.d_model, shape.d_ff)) {
    int d = shape.d_model;
    for (int i = 0; i < shape.n_encoder_layers; i++) encoder_.push_back(next_encoder_layer(next));
    encoder_norm_ = next_norm(next);
    for (int i = 0; i < shape.n_decoder_layers; i++) decoder_.push_back(next_decoder_layer(next));
    decoder_norm_ = next_norm(next);
    output_ = next_linear(next, shape.tgt_vocab_size, d);

    size_t tokens = shape.max_batch_tokens, layers = shape.n_decoder_layers;
    x_.resize(tokens * d);
    normed_.resize(tokens * d);
    context_.resize(tokens * d);
    wide_.resize(tokens * widest(shape));
    history_ = make_store(layers * shape.max_rows * shape.max_target_tokens * 2 * d);
    source_columns_ = rounded_up(shape.max_source_tokens, kLanes);
    memory_keys_ = make_store(layers * shape.max_slots * source_columns_ * d);
    memory_values_ = make_store(layers * shape.max_slots * shape.max_source_tokens * d);
    ancestors_.resize(static_cast<size_t>(shape.max_rows) * shape.max_target_tokens);
    old_ancestors_.resize(ancestors_.size());
    memory_lengths_.resize(shape.max_slots);
}

EncoderLayer Network::next_encoder_layer(NextWeight next) {
    int d = shape_.d_model;
    EncoderLayer layer;
    layer.attention_norm = next_norm(next);
    layer.qkv = next_linear(next, 3 * d, d);
    layer.out = next_linear(next, d, d);
    layer.feed_forward_norm = next_norm(next);
    layer.expand = next_linear(next, shape_.d_ff, d);
    layer.contract = next_linear(next, d, shape_.d_ff);
    return layer;
}

DecoderLayer Network::next_decoder_layer(NextWeight next) {
    int d = shape_.d_model;
    DecoderLayer layer;
    layer.attention_norm = next_norm(next);
    layer.qkv = next_linear(next, 3 * d, d);
    layer.out = next_linear(next, d, d);
    layer.memory_norm = next_norm(next);
    layer.memory_query = next_linear(next, d, d);
    memory_kv_.push_back(next_linear(next, 2 * d, d));
    layer.memory_out = next_linear(next, d, d);
    layer.feed_forward_norm = next_norm(next);
    layer.expand = next_linear(next, shape_.d_ff, d);
    layer.contract = next_linear(next, d, shape_.d_ff);
    return layer;
}

Linear Network::next_linear(NextWeight next, int outputs, int inputs) {
    const float *weight = next(), *bias = next();
    if (!weight) throw std::bad_alloc();
    return pack(weight, bias, outputs, inputs, shape_.is_quantised);
}

// No gain: there is no such norm.
Norm Network::next_norm(NextWeight next) {
    const float *gain = next(), *bias = next();
    if (!gain) return {};
    return {{gain, gain + shape_.d_model}, {bias, bias + shape_.d_model}};
}

void Network::normalise(const Norm &norm, const float *x, int rows, float *y) {
    size_t d = shape_.d_model;
    spread_over_threads(rows, 8.0 * d, [&](int first, int last, int) {
        for (int i = first; i < last; i++)
            kernels_.normalise(x + i * d, static_cast<int>(d), norm.gain.data(), norm.bias.data(),
                               y + i * d);
    });
}

// What a sublayer reads, and what is done with its sum: pre-norm or post-norm.
const float *Network::enter(const Norm &norm, int rows) {
    if (!shape_.is_pre_norm) return x_.data();
    normalise(norm, x_.data(), rows, normed_.data());
    return normed_.data();
}

void Network::leave(const Norm &norm, int rows) {
    if (!shape_.is_pre_norm) normalise(norm, x_.data(), rows, x_.data());
}

void Network::embed(const Embedding &embedding, int count, const int64_t *ids,
                    const int64_t *positions) {
    size_t d = shape_.d_model;
    for (int i = 0; i < count; i++) {
        const float *token = embedding.tokens + ids[i] * d;
        const float *place = embedding.positions ? embedding.positions + positions[i] * d : nullptr;
        float *out = &x_[i * d];
        for (size_t j = 0; j < d; j++)
            out[j] = token[j] * shape_.embedding_scale + (place ? place[j] : 0.0f);
    }
    if (!embedding.norm.gain.empty()) normalise(embedding.norm, x_.data(), count, x_.data());
}

void Network::feed_forward(const Norm &norm, const Linear &expand, const Linear &contract,
                           int rows) {
    const float *in = enter(norm, rows);
    Activation activation = static_cast<Activation>(shape_.activation);
    apply(kernels_, expand, in, rows, scratch_, wide_.data(), activation, false);
    apply(kernels_, contract, wide_.data(), rows, scratch_, x_.data(), Activation::kNone, true);
    leave(norm, rows);
}

Heads Network::some_heads(int first, int last, const float *slopes) const {
    return {last - first, shape_.d_model / shape_.n_heads, slopes ? slopes + first : nullptr};
}

// One thread's room for the scores of what a kernel takes at once.
float *Network::scores(int thread, int length) {
    std::vector<float> &room = scores_[thread];
    size_t count = std::max(shape_.n_heads, kQueriesAtOnce);
    room.resize(std::max(room.size(), count * (length + kLanes)));
    return room.data();
}

void Network::attend_to_sentence(int sentences, const int32_t *lengths) {
    size_t d = shape_.d_model, stride = 3 * d;
    std::vector<int> starts(sentences, 0);
    for (int i = 1; i < sentences; i++) starts[i] = starts[i - 1] + lengths[i - 1];
    double cost = 2.0 * d * lengths[0] * lengths[0];
    spread_heads(sentences, shape_.n_heads, cost, [&](int s, int first, int last, int thread) {
        Heads heads = some_heads(first, last, slopes_);
        size_t width = heads.count * heads.size, offset = first * heads.size;
        const float *queries = &wide_[starts[s] * stride + offset];
        size_t columns = rounded_up(lengths[s], kLanes);
        std::vector<float> &keys = blocks_[thread];
        keys.resize(std::max(keys.size(), width * columns));
        turn_keys(queries + d, stride, lengths[s], width, keys.data());
        kernels_.attend_columns(
            Queries{queries, stride, &context_[starts[s] * d + offset], d, nullptr, lengths[s]},
            Columns{keys.data(), columns, lengths[s]}, Rows{queries + 2 * d, stride, 0, nullptr},
            heads, scores(thread, lengths[s]));
    });
}

float *Network::memory_keys(int layer, int slot) {
    size_t place = static_cast<size_t>(layer) * shape_.max_slots + slot;
    return &memory_keys_[place * source_columns_ * shape_.d_model];
}

float *Network::memory_values(int layer, int slot) {
    size_t place = static_cast<size_t>(layer) * shape_.max_slots + slot;
    return &memory_values_[place * shape_.max_source_tokens * shape_.d_model];
}

void Network::keep_memory(int layer, int sentences, const int32_t *lengths, const int32_t *slots) {
    size_t d = shape_.d_model;
    const float *in = wide_.data();
    for (int s = 0; s < sentences; s++) {
        turn_keys(in, 2 * d, lengths[s], d, memory_keys(layer, slots[s]));
        float *values = memory_values(layer, slots[s]);
        for (int i = 0; i < lengths[s]; i++)
            std::copy_n(in + i * 2 * d + d, d, values + i * d);
        in += lengths[s] * 2 * d;
        memory_lengths_[slots[s]] = lengths[s];
    }
}

void Network::encode(int sentences, const int64_t *ids, const int32_t *lengths,
                     const int32_t *slots, float *memory) {
    scores_.resize(parallel_threads());
    blocks_.resize(parallel_threads());
    std::vector<int64_t> positions;
    for (int i = 0; i < sentences; i++)
        for (int j = 0; j < lengths[i]; j++) positions.push_back(j);
    int rows = static_cast<int>(positions.size());
    embed(source_, rows, ids, positions.data());
    for (const EncoderLayer &layer : encoder_) {
        const float *in = enter(layer.attention_norm, rows);
        apply(kernels_, layer.qkv, in, rows, scratch_, wide_.data(), Activation::kNone, false);
        attend_to_sentence(sentences, lengths);
        apply(kernels_, layer.out, context_.data(), rows, scratch_, x_.data(), Activation::kNone,
              true);
        leave(layer.attention_norm, rows);
        feed_forward(layer.feed_forward_norm, layer.expand, layer.contract, rows);
    }
    if (!encoder_norm_.gain.empty()) normalise(encoder_norm_, x_.data(), rows, x_.data());
    for (size_t layer = 0; layer < decoder_.size(); layer++) {
        apply(kernels_, memory_kv_[layer], x_.data(), rows, scratch_, wide_.data(),
              Activation::kNone, false);
        keep_memory(static_cast<int>(layer), sentences, lengths, slots);
    }
    if (memory) std::copy_n(x_.data(), static_cast<size_t>(rows) * shape_.d_model, memory);
}

void Network::attend_to_history(int layer, int rows, const int64_t *positions, const int32_t *row,
                                const int32_t *order) {
    size_t d = shape_.d_model, stride = 2 * d, room = shape_.max_target_tokens * stride;
    float *store = &history_[layer * shape_.max_rows * room];
    for (int i = 0; i < rows; i++) {
        std::memcpy(store + row[i] * room + positions[i] * stride, &wide_[i * 3 * d + d],
                    stride * sizeof *store);
        ancestors_[static_cast<size_t>(row[i]) * shape_.max_target_tokens + positions[i]] = row[i];
    }
    double cost = 2.0 * d * (positions[order[0]] + 1);
    spread_heads(rows, shape_.n_heads, cost, [&](int place, int first, int last, int thread) {
        int i = order[place], length = static_cast<int>(positions[i]) + 1;
        const int32_t *ancestors =
            &ancestors_[static_cast<size_t>(row[i]) * shape_.max_target_tokens];
        Heads heads = some_heads(first, last, slopes_);
        size_t offset = first * heads.size;
        Rows keys{store + offset, stride, room, ancestors};
        Rows values{store + d + offset, stride, room, ancestors};
        kernels_.attend_rows(&wide_[i * 3 * d + offset], length, keys, values, heads,
                             scores(thread, length), &context_[i * d + offset]);
    });
}

// The hypotheses of a sentence attend together: `order` has them one after the other.
void Network::attend_to_memory(int layer, int rows, const int32_t *slot, const int32_t *order) {
    size_t d = shape_.d_model;
    std::vector<int> starts;
    for (int i = 0; i < rows; i++)
        if (i == 0 || slot[order[i]] != slot[order[i - 1]]) starts.push_back(i);
    int sentences = static_cast<int>(starts.size());
    starts.push_back(rows);
    double cost = 2.0 * d * memory_lengths_[slot[order[0]]] * rows / sentences;
    spread_heads(sentences, shape_.n_heads, cost, [&](int s, int first, int last, int thread) {
        const int32_t *own = order + starts[s];
        int place = slot[*own], length = memory_lengths_[place];
        Heads heads = some_heads(first, last, nullptr);
        size_t offset = first * heads.size, columns = rounded_up(length, kLanes);
        kernels_.attend_columns(
            Queries{&wide_[offset], d, &context_[offset], d, own, starts[s + 1] - starts[s]},
            Columns{memory_keys(layer, place) + offset * columns, columns, length},
            Rows{memory_values(layer, place) + offset, d, 0, nullptr}, heads,
            scores(thread, length));
    });
}

void Network::step(int rows, const int64_t *tokens, const int64_t *positions, const int32_t *row,
                   const int32_t *slot, const int32_t *order) {
    scores_.resize(parallel_threads());
    embed(target_, rows, tokens, positions);
    for (size_t i = 0; i < decoder_.size(); i++) {
        const DecoderLayer &layer = decoder_[i];
        const float *in = enter(layer.attention_norm, rows);
        apply(kernels_, layer.qkv, in, rows, scratch_, wide_.data(), Activation::kNone, false);
        attend_to_history(static_cast<int>(i), rows, positions, row, order);
        apply(kernels_, layer.out, context_.data(), rows, scratch_, x_.data(), Activation::kNone,
              true);
        leave(layer.attention_norm, rows);
        in = enter(layer.memory_norm, rows);
        apply(kernels_, layer.memory_query, in, rows, scratch_, wide_.data(), Activation::kNone,
              false);
        attend_to_memory(static_cast<int>(i), rows, slot, order);
        apply(kernels_, layer.memory_out, context_.data(), rows, scratch_, x_.data(),
              Activation::kNone, true);
        leave(layer.memory_norm, rows);
        feed_forward(layer.feed_forward_norm, layer.expand, layer.contract, rows);
    }
    if (!decoder_norm_.gain.empty()) normalise(decoder_norm_, x_.data(), rows, x_.data());
    stepped_rows_ = rows;
}

void Network::logits(float *out) {
    apply(kernels_, output_, x_.data(), stepped_rows_, scratch_, out, Activation::kNone, false);
}

// Score one block of the vocabulary for all rows. What a thread has seen of a row bounds from below
// what can still be among its best.
void Network::rank_block(int block, int thread, int count, const Inputs &inputs,
                         std::vector<Ranking> &best) {
    constexpr int kWidth = kBlockPanels * kLanes;
    int rows = stepped_rows_, start = block * kWidth;
    int first = block * kBlockPanels, last = std::min(first + kBlockPanels, output_.panels);
    std::vector<float> &room = blocks_[thread], &floors = floors_[thread];
    room.resize(std::max(room.size(), static_cast<size_t>(rows) * kWidth));
    Output output{room.data(), kWidth, start, Activation::kNone, false};
    kernels_.multiply(output_, inputs, rows, first, last, output);
    for (int i = 0; i < rows; i++) {
        Ranking &ranking = best[static_cast<size_t>(block) * rows + i];
        kernels_.rank(&room[static_cast<size_t>(i) * kWidth],
                      std::min(kWidth, output_.outputs - start), start, count, floors[i], ranking);
        floors[i] = std::max(floors[i], std::nextafter(ranking.logits[count - 1], kNever));
    }
}

void Network::rank(int count, float *log_probs, int64_t *tokens) {
    int rows = stepped_rows_, blocks = (output_.panels + kBlockPanels - 1) / kBlockPanels;
    Inputs inputs = prepare(kernels_, output_, x_.data(), rows, scratch_);
    blocks_.resize(parallel_threads());
    floors_.assign(parallel_threads(), std::vector<float>(rows, kNever));
    std::vector<Ranking> best(static_cast<size_t>(blocks) * rows);
    std::vector<float> logits(best.size() * count);
    std::vector<int32_t> ids(logits.size());
    for (size_t i = 0; i < best.size(); i++) best[i] = {0, 0, &logits[i * count], &ids[i * count]};
    parallel_for(blocks, [&](int block, int thread) {
        rank_block(block, thread, count, inputs, best);
    });
    spread_over_threads(rows, 20.0 * blocks * count, [&](int first, int last, int) {
        std::vector<Ranking> of_row(blocks);
        for (int i = first; i < last; i++) {
            for (int b = 0; b < blocks; b++) of_row[b] = best[static_cast<size_t>(b) * rows + i];
            merge(of_row, count, log_probs + i * count, tokens + i * count);
        }
    });
}

void Network::reorder(int rows, const int32_t *row, const int64_t *sources, int length) {
    size_t room = shape_.max_target_tokens;
    for (int i = 0; i < rows; i++)
        if (sources[i] != i)
            std::copy_n(&ancestors_[row[sources[i]] * room], length, &old_ancestors_[i * room]);
    for (int i = 0; i < rows; i++)
        if (sources[i] != i)
            std::copy_n(&old_ancestors_[i * room], length, &ancestors_[row[i] * room]);
}
