// The output layer of a network: the logits of the next tokens, and the likeliest of these.
#pragma once

#include <cstdint>
#include <vector>

#include "linear.h"

class OutputLayer {
  public:
    OutputLayer(const Kernels &kernels, const Linear &layer) : kernels_(kernels), layer_(layer) {}

    // Have room for loops of so many places.
    void make_room(int places);

    // The logits (rows, V) of states (rows, D).
    void logits(const float *states, int rows, float *out);

    // The `count` likeliest tokens of each row of states (rows, D), and their log-probabilities. A
    // row whose scores are not finite gets NaN.
    void rank(const float *states, int rows, int count, float *log_probs, int64_t *tokens);

    // log(sum(exp(logits))) of one row, after `rank`.
    float normaliser(int row) const { return normalisers_[row]; }

  private:
    void rank_block(int block, int thread, int rows, int count, const Inputs &inputs,
                    std::vector<Ranking> &best);

    const Kernels &kernels_;
    const Linear &layer_;
    std::vector<float> normalisers_;  // of the rows that were ranked last
    std::vector<Scratch> scratches_;  // one a place in the pool
    std::vector<std::vector<float>> blocks_, floors_;
};
