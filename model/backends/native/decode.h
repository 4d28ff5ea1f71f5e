// One whole decoding step without leaving the library: the frontier, the network, the vocabulary's
// likeliest, the searches and the reordering, as in model.backends.pytorch.step.Step.
#pragma once

#include <cstdint>

#include "network.h"
#include "search.h"

// Who takes part: the slots `members` (slots), and one slot's after the other's the rows of the cache,
// row (rows), as many of each as its beam is wide.
struct StepTable {
    int32_t slots, rows;
    const int64_t *members;
    const int32_t *row;
};

// What a step offered, log_probs and tokens (rows, count), and
// the row that each row then goes on from: sources (rows).
struct DecodeRecord {
    float *log_probs;
    int64_t *tokens, *sources;
};

// Each row offers its `count` likeliest tokens; length: the longest history, the new token included.
// Returns how many of the searches have ended; `record`, if not null, is filled.
int decode(Network &network, const SearchState &state, const StepTable &table, int count, int length,
           const DecodeRecord *record = nullptr);
