// An encoder-decoder Transformer on the CPU: encodes whole sentences, then takes cached steps.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "bounds.h"
#include "output.h"
#include "parallel.h"
#include "parts.h"
#include "weights.h"

// How much a network must be able to hold.
struct Room {
    int32_t max_rows, max_slots, max_source_tokens, max_target_tokens, max_batch_tokens;
};

struct FreeMemory {
    void operator()(float *memory) const { std::free(memory); }
};

// The system gives its pages only when they are first written: most sentences are far shorter than
// the longest that there must be room for.
using Store = std::unique_ptr<float[], FreeMemory>;

// Rows on their way through the layers, and where: `wide` has room for the widest layer.
struct ActivationView {
    int rows;
    float *x, *normed, *context, *wide;
    Scratch &scratch;
};

// Where the mean of some heads' attention to the memory goes: `values` (rows, stride), zeroed.
// `heads` are numbered layer * n_heads + head.
struct AttentionRecord {
    std::vector<int> heads;
    float *values;
    size_t stride;
};

class Network {
  public:
    // Throws std::bad_alloc if there is no room.
    Network(std::shared_ptr<const Weights> weights, const Room &room);

    // How many hypotheses the last step extended.
    int stepped_rows() const { return stepped_rows_; }

    // What its other calls may be given.
    NetworkBounds bounds() const { return {shape_, room_, memory_lengths_}; }

    // Compute with so many threads from the next call on.
    void use_threads(int threads) { pool_.use(threads); }

    // Encode sentences whose `ids` follow each other; each one's memory goes into its slot.
    // `memory`, if not null, gets the encoder's output (all tokens, D).
    void encode(int sentences, const int64_t *ids, const int32_t *lengths, const int32_t *slots,
                float *memory);

    // From now on the sentences in these slots translate to these tokens only, which ascend and of
    // which each has `lengths` many; to all if there are none, as after `encode`.
    void shorten(int sentences, const int32_t *tokens, const int32_t *lengths,
                 const int32_t *slots);

    // Extend `rows` hypotheses by one token each. Leaves the decoder's states for `logits` or `rank`.
    void step(int rows, const Frontier &frontier);

    // Whole hypotheses at once: row i is one token of the hypothesis in cache row row[i], whose
    // tokens follow each other from position 0. Overwrites the history of these cache rows.
    void attention(int rows, const Frontier &frontier, const AttentionRecord &record);

    // The last step's logits (rows, V); -inf for tokens that a sentence does not translate to.
    void logits(float *out);

    // The last step's `count` likeliest tokens of each row, and their log-probabilities. A row whose
    // scores are not finite gets NaN.
    void rank(int count, float *log_probs, int64_t *tokens);

    // The last step's logits of all tokens for some of its rows (rows, V).
    std::vector<float> logits_of(const std::vector<int> &rows);

    // log(sum(exp(logits))) of one row, after `rank`.
    float normaliser(int row) const { return output_.normaliser(row); }

    // Hypothesis i of the last step takes over the first `length` tokens of hypothesis sources[i], as
    // these were before; `row` as there.
    void reorder(int rows, const int32_t *row, const int64_t *sources, int length);

  private:
    void prepare_threads();
    States states() const { return {stepped_rows_, states_.data(), stepped_slots_.data()}; }
    double row_cost() const;
    ActivationView view(int first, int rows, int part);
    void embed(const ActivationView &on, const Embedding &embedding, int i, int64_t id, int64_t position);
    const float *enter(const ActivationView &on, const Norm &norm);
    void leave(const ActivationView &on, const Norm &norm);
    void normalise(const Norm &norm, const float *x, int rows, float *y);
    void feed_forward(const ActivationView &on, const FeedForward &layer);
    void encode_part(const ActivationView &on, int sentences, const int64_t *ids, const int32_t *lengths,
                     const int32_t *slots);
    using PartBody = std::function<void(const ActivationView &, const Frontier &)>;
    void for_parts(int rows, const Frontier &frontier, const PartBody &body);
    void embed_targets(const ActivationView &on, const Frontier &frontier);
    void query_memory(const ActivationView &on, int layer, const Frontier &frontier);
    void finish_layer(const ActivationView &on, int layer, const Frontier &frontier);
    void step_part(const ActivationView &on, const Frontier &frontier);
    void record_part(const ActivationView &on, const Frontier &frontier,
                     const AttentionRecord &record);
    void record_head(const ActivationView &on, int head, const Frontier &frontier,
                     const AttentionRecord &record);
    void attend_to_sentence(const ActivationView &on, int sentences, const int32_t *lengths);
    void attend_to_past(const ActivationView &on, int layer, const Frontier &frontier);
    void advance_states(const ActivationView &on, int layer, const Frontier &frontier);
    void attend_to_history(const ActivationView &on, int layer, const Frontier &frontier);
    void attend_to_memory(const ActivationView &on, int layer, const Frontier &frontier);
    Heads some_heads(int first, int last, const float *biases) const;
    float *memory_keys(int layer, int slot);
    float *memory_values(int layer, int slot);
    void keep_memory(const ActivationView &on, int layer, int sentences, const int32_t *lengths,
                     const int32_t *slots);
    float *scores(int thread, int length);

    std::shared_ptr<const Weights> weights_;
    const Shape &shape_;  // of the weights
    Room room_;
    const Kernels &kernels_;
    OutputLayer output_;
    ThreadPool pool_;
    std::vector<Scratch> scratches_;  // one a place in the pool
    std::vector<float> x_, normed_, wide_, context_, states_;
    Store history_;        // (layer, row, position, keys and values: 2 W), or (layer, row, 2, D)
    Store memory_keys_;    // (layer, slot), and there (W, position) as long as its own source is
    Store memory_values_;  // (layer, slot, position, W); W is the width of all heads
    std::vector<int32_t> ancestors_, old_ancestors_;  // (row, position): the row that holds it
    std::vector<int32_t> memory_lengths_, stepped_slots_;
    std::vector<std::vector<float>> scores_, keys_;  // one a place in the pool
    size_t source_columns_ = 0;
    int stepped_rows_ = 0;
};
