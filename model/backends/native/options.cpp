#include "options.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;
constexpr size_t kFirstSorted = 64;

struct History {
    const int64_t *tokens;
    int64_t length;
};

History history_of(const SearchState &state, Hypothesis of) {
    size_t place = static_cast<size_t>(of.slot) * state.max_beam + of.beam;
    return {state.live.tokens + place * state.max_length, state.length[of.slot]};
}

// Keskar et al. 2019, section 4.1: once for a token, however often it occurs.
void penalise(const History &history, float penalty, float *logits) {
    std::vector<int64_t> seen(history.tokens, history.tokens + history.length);
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (int64_t token : seen)
        logits[token] = logits[token] > 0 ? logits[token] / penalty : logits[token] * penalty;
}

// Paulus et al. 2018, section 2.5.
void forbid_repeated(const History &history, int64_t size, float *logits) {
    const int64_t *recent = history.tokens + history.length - (size - 1);
    for (int64_t place = size - 1; place < history.length; place++)
        if (std::equal(recent, history.tokens + history.length, history.tokens + place - (size - 1)))
            logits[history.tokens[place]] = kNever;
}

// SplitMix64 (Steele, Lea and Flood 2014).
uint64_t mix(uint64_t z) {
    z += kGoldenGamma;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

// The Gumbel noise of one token; `stream` belongs to a seed and a position.
float gumbel(uint64_t stream, int64_t token) {
    uint64_t mixed = mix(stream + static_cast<uint64_t>(token) * kGoldenGamma);
    float uniform = (static_cast<float>(mixed >> 41) + 0.5f) * 0x1p-23f;
    return -std::log(-std::log(uniform));
}

struct Scored {
    float logit;
    int64_t token;
};

bool is_likelier(const Scored &a, const Scored &b) { return a.logit > b.logit; }

// Sorts the likeliest of all tokens, and only as many as are asked for.
class Ranked {
  public:
    explicit Ranked(std::vector<Scored> &all) : all_(all) {}

    const Scored &operator[](size_t rank) {
        if (rank >= num_sorted_) sort(std::max(rank + 1, 4 * num_sorted_));
        return all_[rank];
    }

  private:
    void sort(size_t count) {
        count = std::min(std::max(count, kFirstSorted), all_.size());
        std::partial_sort(all_.begin() + num_sorted_, all_.begin() + count, all_.end(), is_likelier);
        num_sorted_ = count;
    }

    std::vector<Scored> &all_;
    size_t num_sorted_ = 0;
};

// Leave the `top_k` likeliest (0: all), of these the fewest whose share reaches `top_p`, at least one
// (Holtzman et al. 2020, section 3.1).
void keep_nucleus(std::vector<Scored> &all, int64_t top_k, float top_p) {
    size_t most = top_k > 0 ? std::min(all.size(), static_cast<size_t>(top_k)) : all.size();
    if (most == all.size() && top_p >= 1) return;
    Ranked ranked(all);
    float highest = ranked[0].logit, total = 0;
    auto weight = [&](const Scored &one) { return std::exp(one.logit - highest); };
    if (top_k > 0)
        for (size_t rank = 0; rank < most; rank++) total += weight(ranked[rank]);
    else
        for (const Scored &one : all) total += weight(one);
    float mass = weight(ranked[0]) / total;
    size_t kept = 1;
    for (; kept < most && mass < top_p; kept++) mass += weight(ranked[kept]) / total;
    all.resize(kept);
}

}  // namespace

bool is_forced(const SearchState &state, int64_t slot) {
    return state.length[slot] < state.integers[slot].prefix_length;
}

bool needs_logits(const SearchState &state, int64_t slot) {
    return state.flags[slot].is_sampling || state.integers[slot].ngram_size > 0 ||
           state.numbers[slot].repetition_penalty != 1;
}

void guard(const SearchState &state, Hypothesis hypothesis, float *logits) {
    History history = history_of(state, hypothesis);
    float penalty = state.numbers[hypothesis.slot].repetition_penalty;
    if (penalty != 1) penalise(history, penalty, logits);
    int64_t size = state.integers[hypothesis.slot].ngram_size;
    bool is_within_character =
        state.spelling[hypothesis.slot * state.max_beam + hypothesis.beam] != 0;
    if (size > 0 && !is_within_character && history.length >= size)
        forbid_repeated(history, size, logits);
}

float log_sum_exp(const float *logits, size_t size) {
    float highest = *std::max_element(logits, logits + size), sum = 0;
    if (!std::isfinite(highest)) return highest;
    for (size_t i = 0; i < size; i++) sum += std::exp(logits[i] - highest);
    return highest + std::log(sum);
}

// The argmax after adding Gumbel noise is a draw (Maddison et al. 2014, section 2).
int64_t draw(const SearchState &state, Hypothesis hypothesis, const float *logits, size_t size) {
    const SlotNumbers &numbers = state.numbers[hypothesis.slot];
    const SlotIntegers &integers = state.integers[hypothesis.slot];
    int64_t spelling = state.spelling[hypothesis.slot * state.max_beam + hypothesis.beam];
    std::vector<Scored> kept;
    kept.reserve(size);
    for (int64_t token = 0; token < static_cast<int64_t>(size); token++)
        if (logits[token] > kNever && may_follow(state.utf8, hypothesis.slot, spelling, token))
            kept.push_back({logits[token] / numbers.temperature, token});
    if (kept.empty()) return 0;
    keep_nucleus(kept, integers.top_k, numbers.top_p);
    uint64_t position = static_cast<uint64_t>(state.length[hypothesis.slot]);
    uint64_t stream =
        mix(mix(static_cast<uint64_t>(integers.seed)) + position * kGoldenGamma);
    for (Scored &one : kept) one.logit += gumbel(stream, one.token);
    return std::min_element(kept.begin(), kept.end(), is_likelier)->token;
}
