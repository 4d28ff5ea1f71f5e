#include "output.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "parallel.h"

namespace {

constexpr int kBlockPanels = 32;  // of the vocabulary, ranked while they are in the cache

constexpr float kNever = -std::numeric_limits<float>::infinity();

float log_sum(const std::vector<Ranking> &blocks) {
    float peak = kNever, sum = 0;
    for (const Ranking &block : blocks) peak = std::max(peak, block.sum ? block.maximum : kNever);
    for (const Ranking &block : blocks)
        if (block.sum) sum += block.sum * std::exp(block.maximum - peak);
    return peak + std::log(sum);
}

// The best of one row's blocks, best first; of equals the lower token. NaN if a score was one.
// Returns the logarithm that the logits are less than the log-probabilities.
float merge(std::vector<Ranking> &blocks, int count, float *log_probs, int64_t *tokens) {
    float normaliser = log_sum(blocks);
    for (int i = 0; i < count; i++) {
        Ranking *winner = &blocks[0];
        for (Ranking &block : blocks)
            if (*block.logits > *winner->logits) winner = &block;
        log_probs[i] = *winner->logits - normaliser;
        tokens[i] = *winner->tokens;
        if (*winner->logits > kNever) winner->logits++, winner->tokens++;
    }
    return normaliser;
}

}  // namespace

void OutputLayer::make_room(int places) {
    scratches_.resize(places);
    blocks_.resize(places);
    floors_.resize(places);
}

void OutputLayer::logits(const float *states, int rows, float *out) {
    apply(kernels_, layer_, states, rows, scratches_[0], out);
}

// Score one block of the vocabulary for all rows. What a thread has seen of a row bounds from below
// what can still be among its best.
void OutputLayer::rank_block(int block, int thread, int rows, int count, const Inputs &inputs,
                             std::vector<Ranking> &best) {
    constexpr int kWidth = kBlockPanels * kLanes;
    int start = block * kWidth;
    int first = block * kBlockPanels, last = std::min(first + kBlockPanels, layer_.panels);
    std::vector<float> &room = blocks_[thread], &floors = floors_[thread];
    room.resize(std::max(room.size(), static_cast<size_t>(rows) * kWidth));
    Output output{room.data(), kWidth, start, Activation::kNone, Into::kNothing};
    kernels_.multiply(layer_, inputs, rows, first, last, output);
    for (int i = 0; i < rows; i++) {
        Ranking &ranking = best[static_cast<size_t>(block) * rows + i];
        kernels_.rank(&room[static_cast<size_t>(i) * kWidth],
                      std::min(kWidth, layer_.outputs - start), start, count, floors[i], ranking);
        floors[i] = std::max(floors[i], std::nextafter(ranking.logits[count - 1], kNever));
    }
}

void OutputLayer::rank(const float *states, int rows, int count, float *log_probs,
                       int64_t *tokens) {
    int blocks = (layer_.panels + kBlockPanels - 1) / kBlockPanels;
    Inputs inputs = prepare(kernels_, layer_, states, rows, scratches_[0]);
    for (std::vector<float> &floors : floors_) floors.assign(rows, kNever);
    normalisers_.resize(rows);
    std::vector<Ranking> best(static_cast<size_t>(blocks) * rows);
    std::vector<float> logits(best.size() * count);
    std::vector<int32_t> ids(logits.size());
    for (size_t i = 0; i < best.size(); i++) best[i] = {0, 0, &logits[i * count], &ids[i * count]};
    parallel_for(blocks, [&](int block, int thread) {
        rank_block(block, thread, rows, count, inputs, best);
    });
    spread_over_threads(rows, 20.0 * blocks * count, [&](int first, int last, int) {
        std::vector<Ranking> of_row(blocks);
        for (int i = first; i < last; i++) {
            for (int b = 0; b < blocks; b++) of_row[b] = best[static_cast<size_t>(b) * rows + i];
            normalisers_[i] = merge(of_row, count, log_probs + i * count, tokens + i * count);
        }
    });
}
