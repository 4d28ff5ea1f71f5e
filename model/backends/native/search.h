// One step of all running searches on the CPU. The state is that of model.backends.pytorch.search.Search, and so is
// every rule; there it is told in tensors and here in loops, which for a few rows take a tenth of
// the time.
#pragma once

#include <algorithm>
#include <cstdint>

// The rows of model.decoding.slot_options.SlotOptions.
struct SlotIntegers {
    int64_t beam_size, n_best, limit, lookahead, top_k, seed, ngram_size, prefix_length;
};
struct SlotNumbers {
    float length_penalty, temperature, top_p, repetition_penalty;
};
struct SlotFlags {
    bool is_sampling, is_wu, is_cut;
};

// tokens and log_probs (slots, max_beam, max_length), score and length (slots, max_beam); a score of
// -inf: there is none.
struct Hypotheses {
    int64_t *tokens;
    float *log_probs, *score;
    int64_t *length;
};

// model.backends.pytorch.search.Status.
enum Status { kRunning, kDone, kFailed };

// model.decoding.utf8.Utf8Tables, whose columns are the bytes and kNoByte, and what the sources hold of the
// copied pieces, whose codes follow kNoByte; all null if the vocabulary has neither.
constexpr int64_t kNoByte = 256, kSpellings = kNoByte + 1;
struct Utf8 {
    const int64_t *spelled;     // (tokens)
    const bool *is_allowed;     // (states, kSpellings)
    const int64_t *next_state;  // (states, kSpellings)
    const bool *is_held;        // (slots, copied)
    int64_t states, tokens, copied;
};

struct SearchState {
    int32_t slots, max_beam, max_length, loop_span, longest_loop;
    int64_t eos;
    const SlotIntegers *integers;
    const SlotNumbers *numbers;
    const SlotFlags *flags;
    Hypotheses live, finished;
    int64_t *last;              // (slots, max_beam)
    int64_t *spelling;          // (slots, max_beam): states of utf8
    int64_t *length, *status;   // (slots)
    bool *is_stuck;             // (slots)
    const int64_t *prefix;      // (slots, max_length): tokens to begin with
    Utf8 utf8;
};

// Whether a token may follow in a slot, in this state of utf8.
inline bool may_follow(const Utf8 &utf8, int64_t slot, int64_t state, int64_t token) {
    if (!utf8.spelled) return true;
    int64_t code = utf8.spelled[token], piece = code - kSpellings;
    return utf8.is_allowed[state * kSpellings + std::min(code, kNoByte)] &&
           (piece < 0 || utf8.is_held[slot * utf8.copied + piece]);
}

// The likeliest next tokens of every row, best first: (rows, count); is_failed (rows).
struct Offers {
    int32_t count;
    const float *log_probs;
    const int64_t *tokens;
    const bool *is_failed;
};

// Extend every live hypothesis of the slots members (slots) by one token. by_slot (slots, width) holds
// the rows of each one's hypotheses; sources (rows) gets the row that each row goes on from.
void advance(const SearchState &state, const int64_t *members, int slots, int width,
             const int64_t *by_slot, const Offers &offers, int64_t *sources);

// How many tokens all hypotheses of each of the slots `members` share that can still win, live or
// finished: lengths (slots).
void stable_lengths(const SearchState &state, const int64_t *members, int slots, int64_t *lengths);
