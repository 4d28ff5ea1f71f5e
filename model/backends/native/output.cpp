#include "output.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "parallel.h"

namespace {

constexpr int kBlockPanels = 32;  // of the vocabulary, ranked while they are in the cache

constexpr float kNever = -std::numeric_limits<float>::infinity();

using Floors = std::vector<std::vector<float>>;  // of each row, for each place in the pool

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

// The logits of some of `width` tokens; the others' are -inf.
void spread(const std::vector<int32_t> &tokens, const float *logits, size_t width, float *out) {
    std::fill_n(out, width, kNever);
    for (size_t i = 0; i < tokens.size(); i++) out[tokens[i]] = logits[i];
}

}  // namespace

void OutputLayer::make_room(int places) {
    scratches_.resize(places);
    states_.resize(places);
    blocks_.resize(places);
}

void OutputLayer::set_shortlist(int slot, const int32_t *tokens, int count) {
    Shortlist &own = shortlists_[slot];
    own.tokens.assign(tokens, tokens + count);
    own.layer = select_outputs(layer_, tokens, count, own.memory);
}

std::vector<OutputLayer::Group> OutputLayer::groups_of(const States &states) const {
    std::vector<Group> groups;
    Group whole{nullptr, {}};
    for (int row = 0; row < states.rows; row++) {
        const Shortlist &own = shortlists_[states.slots[row]];
        if (own.tokens.empty()) {
            whole.rows.push_back(row);
        } else {
            if (groups.empty() || groups.back().shortlist != &own) groups.push_back({&own, {}});
            groups.back().rows.push_back(row);
        }
    }
    if (!whole.rows.empty()) groups.push_back(std::move(whole));
    return groups;
}

const Linear &OutputLayer::layer_of(const Group &group) const {
    return group.shortlist ? group.shortlist->layer : layer_;
}

// A group's states together; one with a shortlist has them so.
const float *OutputLayer::states_of(const Group &group, const States &states, int thread) {
    size_t d = layer_.inputs, rows = group.rows.size();
    if (group.rows.back() - group.rows.front() + 1 == static_cast<int>(rows))
        return states.values + group.rows.front() * d;
    std::vector<float> &room = states_[thread];
    room.resize(std::max(room.size(), rows * d));
    for (size_t i = 0; i < rows; i++)
        std::copy_n(states.values + group.rows[i] * d, d, &room[i * d]);
    return room.data();
}

// Groups one after the other: few rows need all logits.
void OutputLayer::logits(const States &states, float *out) {
    size_t width = layer_.outputs;
    std::vector<float> found;
    for (const Group &group : groups_of(states)) {
        const Linear &layer = layer_of(group);
        int rows = static_cast<int>(group.rows.size());
        const float *in = states_of(group, states, 0);
        if (!group.shortlist && rows == states.rows)
            return apply(kernels_, layer, in, rows, scratches_[0], out);
        found.resize(static_cast<size_t>(rows) * layer.outputs);
        apply(kernels_, layer, in, rows, scratches_[0], found.data());
        for (int i = 0; i < rows; i++) {
            const float *from = &found[static_cast<size_t>(i) * layer.outputs];
            float *to = out + group.rows[i] * width;
            if (group.shortlist)
                spread(group.shortlist->tokens, from, width, to);
            else
                std::copy_n(from, width, to);
        }
    }
}

void OutputLayer::rank(const States &states, int count, float *log_probs, int64_t *tokens) {
    normalisers_.resize(states.rows);
    std::vector<Group> groups = groups_of(states);
    parallel_for(static_cast<int>(groups.size()), [&](int group, int thread) {
        rank_group(groups[group], states, thread, count, log_probs, tokens);
    });
}

void OutputLayer::rank_group(const Group &group, const States &states, int thread, int count,
                             float *log_probs, int64_t *tokens) {
    const Linear &layer = layer_of(group);
    int rows = static_cast<int>(group.rows.size());
    int blocks = (layer.panels + kBlockPanels - 1) / kBlockPanels;
    const float *in = states_of(group, states, thread);
    Inputs inputs = prepare(kernels_, layer, in, rows, scratches_[thread]);
    Floors floors(blocks_.size(), std::vector<float>(rows, kNever));
    std::vector<Ranking> best(static_cast<size_t>(blocks) * rows);
    std::vector<float> logits(best.size() * count);
    std::vector<int32_t> ids(logits.size());
    for (size_t i = 0; i < best.size(); i++) best[i] = {0, 0, &logits[i * count], &ids[i * count]};
    parallel_for(blocks, [&](int block, int place) {
        rank_block(layer, block, place, rows, count, inputs, floors[place], best);
    });
    spread_over_threads(rows, 20.0 * blocks * count, [&](int first, int last, int) {
        std::vector<Ranking> of_row(blocks);
        for (int i = first; i < last; i++) {
            for (int b = 0; b < blocks; b++) of_row[b] = best[static_cast<size_t>(b) * rows + i];
            size_t start = static_cast<size_t>(group.rows[i]) * count;
            normalisers_[group.rows[i]] = merge(of_row, count, log_probs + start, tokens + start);
            if (!group.shortlist) continue;
            for (int j = 0; j < count; j++)
                tokens[start + j] = group.shortlist->tokens[tokens[start + j]];
        }
    });
}

// Score one block of the layer for all rows of a group. What a thread has seen of a row bounds from
// below what can still be among its best.
void OutputLayer::rank_block(const Linear &layer, int block, int thread, int rows, int count,
                             const Inputs &inputs, std::vector<float> &floors,
                             std::vector<Ranking> &best) {
    constexpr int kWidth = kBlockPanels * kLanes;
    int start = block * kWidth;
    int first = block * kBlockPanels, last = std::min(first + kBlockPanels, layer.panels);
    std::vector<float> &room = blocks_[thread];
    room.resize(std::max(room.size(), static_cast<size_t>(rows) * kWidth));
    Output output{room.data(), kWidth, start, Activation::kNone, Into::kNothing};
    kernels_.multiply(layer, inputs, rows, first, last, output);
    for (int i = 0; i < rows; i++) {
        Ranking &ranking = best[static_cast<size_t>(block) * rows + i];
        kernels_.rank(&room[static_cast<size_t>(i) * kWidth],
                      std::min(kWidth, layer.outputs - start), start, count, floors[i], ranking);
        floors[i] = std::max(floors[i], std::nextafter(ranking.logits[count - 1], kNever));
    }
}
