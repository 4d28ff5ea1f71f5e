#include "network.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <new>
#include <utility>

namespace {

// Of a row: the last one and the one before, which other rows may go on from in the same step.
constexpr size_t kStatesKept = 2;

// Of what the layers write to a row of `wide`, where an SSRU has two gates.
size_t widest(const Shape &shape) {
    int gates = shape.is_recurrent ? 2 * shape.d_model : 0;
    return std::max({3 * shape.attention_width(), shape.d_ff, gates});
}

// Room for so many numbers in each dimension.
Store make_store(std::initializer_list<size_t> sizes) {
    constexpr size_t kLine = 64;
    size_t bytes = sizeof(float);
    for (size_t size : sizes) {
        if (bytes > std::numeric_limits<size_t>::max() / 2 / size) throw std::bad_alloc();
        bytes *= size;
    }
    bytes = (bytes + kLine - 1) / kLine * kLine;
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

Network::Network(std::shared_ptr<const Weights> weights, const Room &room)
    : weights_(std::move(weights)),
      shape_(weights_->shape),
      room_(room),
      kernels_(*usable_kernels()[shape_.kernels]),
      output_(kernels_, weights_->output, room.max_slots) {
    size_t d = shape_.d_model, width = shape_.attention_width();
    size_t tokens = room.max_batch_tokens, layers = shape_.n_decoder_layers;
    x_.resize(tokens * d);
    normed_.resize(tokens * d);
    context_.resize(tokens * width);
    wide_.resize(tokens * widest(shape_));
    states_.resize(room.max_rows * d);
    size_t rows = room.max_rows, slots = room.max_slots, targets = room.max_target_tokens;
    history_ = shape_.is_recurrent ? make_store({layers, rows, kStatesKept, d})
                                    : make_store({layers, rows, targets, 2 * width});
    source_columns_ = rounded_up(room.max_source_tokens, kLanes);
    memory_keys_ = make_store({layers, slots, source_columns_, width});
    memory_values_ = make_store({layers, slots, static_cast<size_t>(room.max_source_tokens), width});
    ancestors_.resize(rows * targets);
    old_ancestors_.resize(ancestors_.size());
    memory_lengths_.resize(slots);
}

void Network::normalise(const Norm &norm, const float *x, int rows, float *y) {
    size_t d = shape_.d_model;
    spread_over_threads(rows, 8.0 * d, [&](int first, int last, int) {
        for (int i = first; i < last; i++)
            kernels_.normalise(x + i * d, static_cast<int>(d), norm.gain, norm.bias, y + i * d);
    });
}

// Rows `first` and those after it, which the thread of the part's number has to itself.
ActivationView Network::view(int first, int rows, int part) {
    size_t start = static_cast<size_t>(first) * shape_.d_model;
    return {rows,
            &x_[start],
            &normed_[start],
            &context_[static_cast<size_t>(first) * shape_.attention_width()],
            &wide_[first * widest(shape_)],
            scratches_[part]};
}

// What a sublayer reads, and what is done with its sum: pre-norm or post-norm.
const float *Network::enter(const ActivationView &on, const Norm &norm) {
    if (!shape_.is_pre_norm) return on.x;
    normalise(norm, on.x, on.rows, on.normed);
    return on.normed;
}

void Network::leave(const ActivationView &on, const Norm &norm) {
    if (!shape_.is_pre_norm) normalise(norm, on.x, on.rows, on.x);
}

void Network::embed(const ActivationView &on, const Embedding &embedding, int i, int64_t id,
                    int64_t position) {
    size_t d = shape_.d_model;
    const float *place = embedding.positions ? embedding.positions + position * d : nullptr;
    float *out = on.x + i * d;
    if (shape_.has_half_tables) {
        const uint16_t *token = static_cast<const uint16_t *>(embedding.tokens) + id * d;
        for (size_t j = 0; j < d; j++) out[j] = widened(token[j]);
    } else {
        const float *token = static_cast<const float *>(embedding.tokens) + id * d;
        std::copy(token, token + d, out);
    }
    for (size_t j = 0; j < d; j++)
        out[j] = out[j] * shape_.embedding_scale + (place ? place[j] : 0.0f);
}

void Network::feed_forward(const ActivationView &on, const FeedForward &layer) {
    const float *in = enter(on, layer.norm);
    Activation activation = static_cast<Activation>(shape_.activation);
    bool is_gated = layer.gate.outputs > 0;
    if (is_gated) apply(kernels_, layer.gate, in, on.rows, on.scratch, on.wide);
    apply(kernels_, layer.expand, in, on.rows, on.scratch, on.wide, activation,
          is_gated ? Into::kProduct : Into::kNothing);
    apply(kernels_, layer.contract, on.wide, on.rows, on.scratch, on.x, Activation::kNone,
          Into::kSum);
    leave(on, layer.norm);
}

Heads Network::some_heads(int first, int last, const float *biases) const {
    size_t zero = shape_.max_positions - 1, stride = 2 * zero + 1;
    if (biases) biases += first * stride + zero;
    float scale =
        shape_.is_attention_scaled ? 1.0f / std::sqrt(static_cast<float>(shape_.head_size)) : 1.0f;
    return {last - first, shape_.head_size, scale, biases, stride};
}

void Network::prepare_threads() {
    scores_.resize(pool_.places());
    keys_.resize(pool_.places());
    scratches_.resize(pool_.places());
    output_.make_room(pool_.places());
}

// What the layers cost a row, as so many numbers of keys and values that it attends to.
double Network::row_cost() const {
    return shape_.d_model * (shape_.is_quantised ? 0.25 : 4.0);
}

// One thread's room for the scores of what a kernel takes at once.
float *Network::scores(int thread, int length) {
    std::vector<float> &room = scores_[thread];
    size_t count = std::max(shape_.n_heads, kQueriesAtOnce);
    room.resize(std::max(room.size(), count * (length + kLanes)));
    return room.data();
}

void Network::attend_to_sentence(const ActivationView &on, int sentences, const int32_t *lengths) {
    size_t all = shape_.attention_width(), stride = 3 * all;
    std::vector<int> starts = starts_of(sentences, lengths);
    double cost = 2.0 * all * lengths[0] * lengths[0];
    spread_heads(sentences, shape_.n_heads, cost, [&](int s, int first, int last, int thread) {
        Heads heads = some_heads(first, last, weights_->source.biases);
        size_t width = heads.count * heads.size, offset = first * heads.size;
        const float *queries = on.wide + starts[s] * stride + offset;
        size_t columns = rounded_up(lengths[s], kLanes);
        std::vector<float> &keys = keys_[thread];
        keys.resize(std::max(keys.size(), width * columns));
        turn_keys(queries + all, stride, lengths[s], width, keys.data());
        kernels_.attend_columns(
            Queries{queries, stride, on.context + starts[s] * all + offset, all, lengths[s]},
            Columns{keys.data(), columns, lengths[s]}, Rows{queries + 2 * all, stride, 0, nullptr},
            heads, scores(thread, lengths[s]));
    });
}

float *Network::memory_keys(int layer, int slot) {
    size_t place = static_cast<size_t>(layer) * room_.max_slots + slot;
    return &memory_keys_[place * source_columns_ * shape_.attention_width()];
}

float *Network::memory_values(int layer, int slot) {
    size_t place = static_cast<size_t>(layer) * room_.max_slots + slot;
    return &memory_values_[place * room_.max_source_tokens * shape_.attention_width()];
}

void Network::keep_memory(const ActivationView &on, int layer, int sentences, const int32_t *lengths,
                          const int32_t *slots) {
    size_t width = shape_.attention_width();
    const float *in = on.wide;
    for (int s = 0; s < sentences; s++) {
        turn_keys(in, 2 * width, lengths[s], width, memory_keys(layer, slots[s]));
        float *values = memory_values(layer, slots[s]);
        for (int i = 0; i < lengths[s]; i++)
            std::copy_n(in + i * 2 * width + width, width, values + i * width);
        in += lengths[s] * 2 * width;
        memory_lengths_[slots[s]] = lengths[s];
    }
}

void Network::encode(int sentences, const int64_t *ids, const int32_t *lengths,
                     const int32_t *slots, float *memory) {
    if (sentences == 0) return;
    PoolScope scope(pool_);
    prepare_threads();
    for (int s = 0; s < sentences; s++) output_.set_shortlist(slots[s], nullptr, 0);
    std::vector<int> starts = starts_of(sentences, lengths);
    std::vector<double> costs;
    for (int s = 0; s < sentences; s++)
        costs.push_back(lengths[s] * (row_cost() + 2.0 * lengths[s]));
    int rows = starts.back();
    std::vector<int> cuts = cut(costs, rows);
    parallel_for(static_cast<int>(cuts.size()) - 1, [&](int part, int) {
        int first = cuts[part], last = cuts[part + 1];
        encode_part(view(starts[first], starts[last] - starts[first], part), last - first,
                    ids + starts[first], lengths + first, slots + first);
    });
    if (memory) std::copy_n(x_.data(), static_cast<size_t>(rows) * shape_.d_model, memory);
}

void Network::shorten(int sentences, const int32_t *tokens, const int32_t *lengths,
                      const int32_t *slots) {
    PoolScope scope(pool_);
    std::vector<int> starts = starts_of(sentences, lengths);
    parallel_for(sentences, [&](int s, int) {
        output_.set_shortlist(slots[s], tokens + starts[s], lengths[s]);
    });
}

void Network::encode_part(const ActivationView &on, int sentences, const int64_t *ids,
                          const int32_t *lengths, const int32_t *slots) {
    for (int s = 0, i = 0; s < sentences; s++)
        for (int j = 0; j < lengths[s]; i++, j++) embed(on, weights_->source, i, ids[i], j);
    if (weights_->source.norm) normalise(weights_->source.norm, on.x, on.rows, on.x);
    for (const EncoderLayer &layer : weights_->encoder) {
        const float *in = enter(on, layer.attention_norm);
        apply(kernels_, layer.qkv, in, on.rows, on.scratch, on.wide);
        attend_to_sentence(on, sentences, lengths);
        apply(kernels_, layer.out, on.context, on.rows, on.scratch, on.x, Activation::kNone,
              Into::kSum);
        leave(on, layer.attention_norm);
        feed_forward(on, layer.feed_forward);
    }
    if (weights_->encoder_norm) normalise(weights_->encoder_norm, on.x, on.rows, on.x);
    for (size_t i = 0; i < weights_->decoder.size(); i++) {
        const Linear &layer = weights_->decoder[i].memory_kv;
        apply(kernels_, layer, on.x, on.rows, on.scratch, on.wide);
        keep_memory(on, static_cast<int>(i), sentences, lengths, slots);
    }
}

// The first sublayer of a decoder layer, without its norm.
void Network::attend_to_past(const ActivationView &on, int i, const Frontier &frontier) {
    const DecoderLayer &layer = weights_->decoder[i];
    const float *in = enter(on, layer.attention_norm);
    if (shape_.is_recurrent) {
        apply(kernels_, layer.gates, in, on.rows, on.scratch, on.wide);
        advance_states(on, i, frontier);
    } else {
        apply(kernels_, layer.qkv, in, on.rows, on.scratch, on.wide);
        attend_to_history(on, i, frontier);
        apply(kernels_, layer.out, on.context, on.rows, on.scratch, on.x, Activation::kNone,
              Into::kSum);
    }
}

// One row after the other, because whole hypotheses are consecutive states of one row.
void Network::advance_states(const ActivationView &on, int layer, const Frontier &frontier) {
    size_t d = shape_.d_model, room = kStatesKept * d;
    float *store = &history_[layer * room_.max_rows * room];
    auto state_at = [&](int32_t row, int64_t position) {
        return store + row * room + position % kStatesKept * d;
    };
    for (int place = 0; place < on.rows; place++) {
        int i = frontier.order[place];
        int32_t row = frontier.row[i];
        int64_t position = frontier.positions[i];
        int32_t *ancestors = &ancestors_[static_cast<size_t>(row) * room_.max_target_tokens];
        const float *before = position ? state_at(ancestors[position - 1], position - 1) : nullptr;
        kernels_.recur(on.wide + place * 2 * d, before, static_cast<int>(d),
                       state_at(row, position), on.x + place * d);
        ancestors[position] = row;
    }
}

void Network::attend_to_history(const ActivationView &on, int layer, const Frontier &frontier) {
    size_t width = shape_.attention_width(), stride = 2 * width;
    size_t room = room_.max_target_tokens * stride;
    float *store = &history_[layer * room_.max_rows * room];
    auto ancestors_of = [&](int i) {
        return &ancestors_[static_cast<size_t>(frontier.row[i]) * room_.max_target_tokens];
    };
    for (int place = 0; place < on.rows; place++) {
        int i = frontier.order[place];
        int64_t position = frontier.positions[i];
        std::memcpy(store + frontier.row[i] * room + position * stride,
                    on.wide + place * 3 * width + width, stride * sizeof *store);
        ancestors_of(i)[position] = frontier.row[i];
    }
    double cost = 2.0 * width * (frontier.positions[frontier.order[0]] + 1);
    spread_heads(on.rows, shape_.n_heads, cost, [&](int place, int first, int last, int thread) {
        int i = frontier.order[place], length = static_cast<int>(frontier.positions[i]) + 1;
        Heads heads = some_heads(first, last, weights_->target.biases);
        size_t offset = first * heads.size;
        Rows keys{store + offset, stride, room, ancestors_of(i)};
        Rows values{store + width + offset, stride, room, ancestors_of(i)};
        kernels_.attend_rows(on.wide + place * 3 * width + offset, length, keys, values, heads,
                             scores(thread, length), on.context + place * width + offset);
    });
}

// The hypotheses of a sentence attend together.
void Network::attend_to_memory(const ActivationView &on, int layer, const Frontier &frontier) {
    size_t width = shape_.attention_width();
    std::vector<int> starts = starts_of(on.rows, frontier);
    int sentences = static_cast<int>(starts.size()) - 1;
    int source = memory_lengths_[frontier.slot[frontier.order[0]]];
    double cost = 2.0 * width * source * on.rows / sentences;
    spread_heads(sentences, shape_.n_heads, cost, [&](int s, int first, int last, int thread) {
        int slot = frontier.slot[frontier.order[starts[s]]], length = memory_lengths_[slot];
        Heads heads = some_heads(first, last, nullptr);
        size_t offset = first * heads.size, columns = rounded_up(length, kLanes);
        size_t start = starts[s] * width + offset;
        kernels_.attend_columns(
            Queries{on.wide + start, width, on.context + start, width, starts[s + 1] - starts[s]},
            Columns{memory_keys(layer, slot) + offset * columns, columns, length},
            Rows{memory_values(layer, slot) + offset, width, 0, nullptr}, heads,
            scores(thread, length));
    });
}

// Call body(view, frontier) for parts that hold whole sentences, each on its own thread.
void Network::for_parts(int rows, const Frontier &frontier, const PartBody &body) {
    if (rows == 0) return;
    PoolScope scope(pool_);
    prepare_threads();
    std::vector<int> starts = starts_of(rows, frontier);
    std::vector<double> costs;
    for (size_t s = 0; s + 1 < starts.size(); s++) {
        int i = frontier.order[starts[s]];
        double past = shape_.is_recurrent ? 0.0 : frontier.positions[i] + 1.0;
        double keys = past + memory_lengths_[frontier.slot[i]];
        costs.push_back((starts[s + 1] - starts[s]) * (row_cost() + 2.0 * keys));
    }
    std::vector<int> cuts = cut(costs, rows);
    parallel_for(static_cast<int>(cuts.size()) - 1, [&](int part, int) {
        int first = starts[cuts[part]], last = starts[cuts[part + 1]];
        Frontier own = frontier;
        own.order += first;
        body(view(first, last - first, part), own);
    });
}

void Network::step(int rows, const Frontier &frontier) {
    stepped_rows_ = 0;
    for_parts(rows, frontier, [&](const ActivationView &on, const Frontier &own) {
        step_part(on, own);
    });
    stepped_rows_ = rows;
    stepped_slots_.assign(frontier.slot, frontier.slot + rows);
}

void Network::attention(int rows, const Frontier &frontier, const AttentionRecord &record) {
    for_parts(rows, frontier, [&](const ActivationView &on, const Frontier &own) {
        record_part(on, own, record);
    });
}

void Network::embed_targets(const ActivationView &on, const Frontier &frontier) {
    for (int place = 0; place < on.rows; place++) {
        int i = frontier.order[place];
        embed(on, weights_->target, place, frontier.tokens[i], frontier.positions[i]);
    }
    if (weights_->target.norm) normalise(weights_->target.norm, on.x, on.rows, on.x);
}

// The first sublayer of a decoder layer, and the queries of the second one in on.wide.
void Network::query_memory(const ActivationView &on, int i, const Frontier &frontier) {
    const DecoderLayer &layer = weights_->decoder[i];
    attend_to_past(on, i, frontier);
    leave(on, layer.attention_norm);
    const float *in = enter(on, layer.memory_norm);
    apply(kernels_, layer.memory_query, in, on.rows, on.scratch, on.wide);
}

void Network::finish_layer(const ActivationView &on, int i, const Frontier &frontier) {
    const DecoderLayer &layer = weights_->decoder[i];
    attend_to_memory(on, i, frontier);
    apply(kernels_, layer.memory_out, on.context, on.rows, on.scratch, on.x, Activation::kNone,
          Into::kSum);
    leave(on, layer.memory_norm);
    feed_forward(on, layer.feed_forward);
}

void Network::step_part(const ActivationView &on, const Frontier &frontier) {
    embed_targets(on, frontier);
    for (int i = 0; i < shape_.n_decoder_layers; i++) {
        query_memory(on, i, frontier);
        finish_layer(on, i, frontier);
    }
    if (weights_->decoder_norm) normalise(weights_->decoder_norm, on.x, on.rows, on.x);
    size_t d = shape_.d_model;
    for (int place = 0; place < on.rows; place++)
        std::copy_n(on.x + place * d, d, &states_[frontier.order[place] * d]);
}

// No layer above the highest recorded one is computed.
void Network::record_part(const ActivationView &on, const Frontier &frontier,
                          const AttentionRecord &record) {
    int highest = *std::max_element(record.heads.begin(), record.heads.end()) / shape_.n_heads;
    embed_targets(on, frontier);
    for (int i = 0; i <= highest; i++) {
        query_memory(on, i, frontier);
        for (int head : record.heads)
            if (head / shape_.n_heads == i) record_head(on, head, frontier, record);
        if (i < highest) finish_layer(on, i, frontier);
    }
}

// Add one head's share of the mean for the queries in on.wide.
void Network::record_head(const ActivationView &on, int head, const Frontier &frontier,
                          const AttentionRecord &record) {
    size_t width = shape_.attention_width(), size = shape_.head_size;
    size_t offset = head % shape_.n_heads * size;
    float scale = some_heads(0, 1, nullptr).scale;
    std::vector<float> weights;
    for (int place = 0; place < on.rows; place++) {
        int i = frontier.order[place], slot = frontier.slot[i], length = memory_lengths_[slot];
        size_t columns = rounded_up(length, kLanes);
        const float *query = on.wide + place * width + offset;
        const float *keys = memory_keys(head / shape_.n_heads, slot) + offset * columns;
        weights.assign(length, 0.0f);
        for (size_t k = 0; k < size; k++)
            for (int j = 0; j < length; j++) weights[j] += query[k] * scale * keys[k * columns + j];
        float peak = *std::max_element(weights.begin(), weights.end()), sum = 0;
        for (float &weight : weights) sum += weight = std::exp(weight - peak);
        for (int j = 0; j < length; j++)
            record.values[i * record.stride + j] += weights[j] / (sum * record.heads.size());
    }
}

void Network::logits(float *out) {
    PoolScope scope(pool_);
    prepare_threads();
    output_.logits(states(), out);
}

void Network::rank(int count, float *log_probs, int64_t *tokens) {
    PoolScope scope(pool_);
    prepare_threads();
    output_.rank(states(), count, log_probs, tokens);
}

std::vector<float> Network::logits_of(const std::vector<int> &rows) {
    PoolScope scope(pool_);
    size_t d = shape_.d_model, width = weights_->output.outputs;
    int count = static_cast<int>(rows.size());
    std::vector<float> values(count * d), found(count * width);
    std::vector<int32_t> slots(count);
    for (int i = 0; i < count; i++) {
        std::copy_n(&states_[rows[i] * d], d, &values[i * d]);
        slots[i] = stepped_slots_[rows[i]];
    }
    output_.logits({count, values.data(), slots.data()}, found.data());
    return found;
}

void Network::reorder(int rows, const int32_t *row, const int64_t *sources, int length) {
    size_t room = room_.max_target_tokens;
    for (int i = 0; i < rows; i++)
        if (sources[i] != i)
            std::copy_n(&ancestors_[row[sources[i]] * room], length, &old_ancestors_[i * room]);
    for (int i = 0; i < rows; i++)
        if (sources[i] != i)
            std::copy_n(&old_ancestors_[i * room], length, &ancestors_[row[i] * room]);
}
