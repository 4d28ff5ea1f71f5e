// How the sentences of an encoding or a step are shared among threads.
#pragma once

#include <cstdint>
#include <vector>

// What a step is given: hypothesis i lives in row[i] of the cache, belongs to slot[i], and puts
// tokens[i] at positions[i]. `order` lists them with those of one slot together.
struct Frontier {
    const int64_t *tokens, *positions;
    const int32_t *row, *slot, *order;
};

// Where each of `count` sentences begins, and where the last one ends.
std::vector<int> starts_of(int count, const int32_t *lengths);

// Where, in their order, the hypotheses of each sentence begin, and how many there are.
std::vector<int> starts_of(int rows, const Frontier &frontier);

// Cut sentences into as many parts as there are threads, at about the same cost each, if there are
// rows enough: where each part begins, and how many sentences there are. A thread that takes its
// part through all layers waits for nobody; with few rows threads share each layer instead.
std::vector<int> cut(const std::vector<double> &costs, int rows);
