// Checks of what a caller gives the library: no number in it makes the library read or write outside
// of the caller's arrays and its own, as long as each array is as large as its arguments say. Only the
// tables of `Utf8`, as large as a vocabulary and read at every step, are taken as they are.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "parts.h"
#include "search.h"
#include "weights.h"

struct Room;
struct AttentionRecord;
struct StepTable;

// An argument that is null, or a number in it that is out of bounds.
struct OutOfBounds : std::invalid_argument {
    OutOfBounds() : std::invalid_argument("an argument is out of bounds") {}
};

void require(bool holds);

// The architecture of weights that are to be packed.
void require_shape(const Shape &shape);

// What a network of this architecture is to hold. Throws std::bad_alloc for more than any machine has.
void require_room(const Shape &shape, const Embedding &source, const Embedding &target,
                  const Room &room);

// One linear layer by itself.
void require_linear(int kernels, int activation, int rows, int inputs, int outputs);

// The searches of different slots `members`, before a step or between two.
void require_searches(const SearchState &state, const int64_t *members, int slots);

// What one network holds, against which the arguments of its calls are checked.
class NetworkBounds {
  public:
    NetworkBounds(const Shape &shape, const Room &room, const std::vector<int32_t> &memory_lengths)
        : shape_(shape), room_(room), memory_lengths_(memory_lengths) {}

    void require_sources(int sentences, const int64_t *ids, const int32_t *lengths,
                         const int32_t *slots) const;
    void require_shortlists(int sentences, const int32_t *tokens, const int32_t *lengths,
                            const int32_t *slots) const;
    void require_step(int rows, const Frontier &frontier) const;
    void require_record(int rows, const Frontier &frontier, const AttentionRecord &record) const;
    void require_decode(const SearchState &state, const StepTable &table, int count,
                        int length) const;
    void require_rank(int count) const;
    void require_reorder(int rows, const int32_t *row, const int64_t *sources, int length) const;

  private:
    void require_frontier(int rows, const Frontier &frontier) const;
    void require_cache_rows(int rows, const int32_t *row) const;
    void require_next(const SearchState &state, int64_t slot) const;
    bool is_encoded(int64_t slot) const;

    const Shape &shape_;
    const Room &room_;
    const std::vector<int32_t> &memory_lengths_;
};
