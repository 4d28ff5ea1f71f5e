// What the options of a sentence make of the logits of its next token: the rules of
// model.backends.pytorch.logits_processors and model.backends.pytorch.sampling for one hypothesis.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search.h"

// One hypothesis of a slot.
struct Hypothesis {
    int64_t slot, beam;
};

// Whether the hypothesis is within the prefix that was asked for.
bool is_forced(const SearchState &state, int64_t slot);

// Whether the slot's next token depends on all logits: it is drawn, or repetitions are guarded against.
bool needs_logits(const SearchState &state, int64_t slot);

// Penalise the tokens of the history and forbid those that would repeat an n-gram: logits (size).
void guard(const SearchState &state, Hypothesis hypothesis, float *logits);

// log(sum(exp(logits))), infinite or NaN if a logit is not finite and not -inf.
float log_sum_exp(const float *logits, size_t size);

// A token drawn from the nucleus of those that may follow; at least one of them has a finite logit.
int64_t draw(const SearchState &state, Hypothesis hypothesis, const float *logits, size_t size);
