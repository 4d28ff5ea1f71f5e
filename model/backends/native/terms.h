// Terms that a translation must have: the rules of model.decoding.terms for one hypothesis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "options.h"
#include "search.h"

// One token that may come next, and how many tokens of terms are needed after it.
struct Wanted {
    float score;
    int64_t token, needed;
};

// The next tokens of a hypothesis, best first: those that begin or continue a missing term, and the
// others.
struct TermChoice {
    std::vector<Wanted> own, others;
    float normaliser;
};

// `raw`: the logits (size) before repetitions were guarded against, which does not apply to terms;
// `logits` after that, overwritten; of each kind at most `count`, or as many as the beam looks at.
TermChoice choose_with_terms(const SearchState &state, Hypothesis hypothesis, const float *raw,
                             float *logits, size_t size, int count);

// How many tokens of terms are needed after the next token of the prefix.
int64_t needed_after(const SearchState &state, Hypothesis hypothesis, int64_t token);

// Match the last tokens of a slot's hypotheses after a step; hypothesis k goes on from parents[k].
void follow_terms(const SearchState &state, int64_t slot, const std::vector<int64_t> &parents);
