// What Python calls, through ctypes. Nothing here throws: null is the only failure.
#include <memory>
#include <new>

#include "decode.h"
#include "network.h"
#include "search.h"
#include "weights.h"

extern "C" {

// Null if there are no more.
const char *dragoman_kernels(int32_t index) {
    const auto &usable = usable_kernels();
    return static_cast<size_t>(index) < usable.size() ? usable[index]->name : nullptr;
}

int32_t dragoman_is_fast_quantised() { return usable_kernels()[0]->is_fast_quantised; }

// Weights are held by whoever packed them and by every network that computes with them.
using Held = std::shared_ptr<const Weights>;

// Null if there is no room.
Held *dragoman_pack(const Shape *shape, const Tables *tables, NextWeight next) {
    try {
        return new Held(new Weights(*shape, *tables, next));
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void dragoman_let_go(Held *weights) { delete weights; }

// Null if there is no room.
Network *dragoman_new(const Held *weights, const Room *room) {
    try {
        return new Network(*weights, *room);
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void dragoman_delete(Network *network) { delete network; }

void dragoman_use_threads(Network *network, int32_t threads) { network->use_threads(threads); }

void dragoman_encode(Network *network, int32_t sentences, const int64_t *ids,
                     const int32_t *lengths, const int32_t *slots, float *memory) {
    network->encode(sentences, ids, lengths, slots, memory);
}

void dragoman_step(Network *network, int32_t rows, const int64_t *tokens, const int64_t *positions,
                   const int32_t *row, const int32_t *slot, const int32_t *order) {
    network->step(rows, {tokens, positions, row, slot, order});
}

int32_t dragoman_decode(Network *network, const SearchState *state, const StepTable *table,
                        int32_t count, int32_t length) {
    return decode(*network, *state, *table, count, length);
}

void dragoman_logits(Network *network, float *logits) { network->logits(logits); }

void dragoman_rank(Network *network, int32_t count, float *log_probs, int64_t *tokens) {
    network->rank(count, log_probs, tokens);
}

void dragoman_reorder(Network *network, int32_t rows, const int32_t *row, const int64_t *sources,
                      int32_t length) {
    network->reorder(rows, row, sources, length);
}

void dragoman_advance(const SearchState *state, const int64_t *members, int32_t slots, int32_t width,
                      const int64_t *by_slot, int32_t count, const float *log_probs,
                      const int64_t *tokens, const bool *is_failed, int64_t *sources) {
    Offers offers{count, log_probs, tokens, is_failed};
    advance(*state, members, slots, width, by_slot, offers, sources);
}

void dragoman_stable_lengths(const SearchState *state, const int64_t *members, int32_t slots,
                             int64_t *lengths) {
    stable_lengths(*state, members, slots, lengths);
}
}
