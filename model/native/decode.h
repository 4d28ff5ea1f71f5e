// One whole decoding step without leaving the library: the frontier, the network, the vocabulary's
// likeliest, the searches and the reordering, as in model.step.Step.
#pragma once

#include <cstdint>

#include "network.h"
#include "search.h"

// Who takes part. by_slot (slots, width) holds the places of each slot's hypotheses among the rows;
// owners and beams (rows) say whose each is. row, slot and order (rows) are those of `Network::step`.
struct StepTable {
    int32_t slots, width, rows;
    const int64_t *members, *by_slot, *owners, *beams;
    const int32_t *row, *slot, *order;
};

// Each row offers its `count` likeliest tokens; length: the longest history, the new token included.
void decode(Network &network, const SearchState &state, const StepTable &table, int count, int length);
