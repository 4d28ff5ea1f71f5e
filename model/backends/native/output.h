// The output layer of a network: the logits of the next tokens, and the likeliest of these.
#pragma once

#include <cstdint>
#include <vector>

#include "linear.h"

// The decoder's states (rows, D), and the slot of each row.
struct States {
    int rows;
    const float *values;
    const int32_t *slots;
};

class OutputLayer {
  public:
    OutputLayer(const Kernels &kernels, const Linear &layer, int slots)
        : kernels_(kernels), layer_(layer), shortlists_(slots) {}

    // Have room for loops of so many places.
    void make_room(int places);

    // From now on the rows of a slot have only these tokens, which ascend; if there are none, all.
    // Other tokens have the logit -inf. Slots may be set at once.
    void set_shortlist(int slot, const int32_t *tokens, int count);

    // The logits (rows, V).
    void logits(const States &states, float *out);

    // The `count` likeliest tokens of each row, and their log-probabilities. A row whose scores are
    // not finite gets NaN.
    void rank(const States &states, int count, float *log_probs, int64_t *tokens);

    // log(sum(exp(logits))) of one row, after `rank`.
    float normaliser(int row) const { return normalisers_[row]; }

  private:
    // The tokens of a slot and their part of the layer.
    struct Shortlist {
        std::vector<int32_t> tokens;
        Lines<char> memory;
        Linear layer;  // in that memory
    };

    // Rows that have the same tokens.
    struct Group {
        const Shortlist *shortlist;  // null: all tokens
        std::vector<int> rows;
    };

    std::vector<Group> groups_of(const States &states) const;
    const Linear &layer_of(const Group &group) const;
    const float *states_of(const Group &group, const States &states, int thread);
    void rank_group(const Group &group, const States &states, int thread, int count,
                    float *log_probs, int64_t *tokens);
    void rank_block(const Linear &layer, int block, int thread, int rows, int count,
                    const Inputs &inputs, std::vector<float> &floors, std::vector<Ranking> &best);

    const Kernels &kernels_;
    const Linear &layer_;
    std::vector<Shortlist> shortlists_;  // one a slot
    std::vector<float> normalisers_;     // of the rows that were ranked last
    std::vector<Scratch> scratches_;     // one a place in the pool
    std::vector<std::vector<float>> states_, blocks_;  // likewise
};
