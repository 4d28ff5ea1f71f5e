#include "decode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "options.h"

namespace {

// What a Frontier points at, and by_slot (slots, max_beam) the places of each slot's rows.
struct FrontierNumbers {
    std::vector<int64_t> tokens, positions, spelling, by_slot;
    std::vector<int32_t> slot, beam, order;
};

constexpr float kNever = -std::numeric_limits<float>::infinity();

// What each row offers: log_probs and tokens (rows, count), the likeliest first; is_failed (rows).
struct Likeliest {
    Likeliest(int rows, int count)
        : count(count),
          log_probs(static_cast<size_t>(rows) * count),
          tokens(log_probs.size()),
          is_failed(new bool[rows]) {}

    int count;
    std::vector<float> log_probs;
    std::vector<int64_t> tokens;
    std::unique_ptr<bool[]> is_failed;

    void clear(int row) {
        size_t start = static_cast<size_t>(row) * count;
        std::fill_n(&log_probs[start], count, kNever);
        std::fill_n(&tokens[start], count, 0);
    }

    void offer(int row, size_t place, int64_t token, float log_prob) {
        place += static_cast<size_t>(row) * count;
        log_probs[place] = log_prob;
        tokens[place] = token;
    }
};

FrontierNumbers frontier(const SearchState &state, const StepTable &table) {
    FrontierNumbers found;
    found.by_slot.resize(static_cast<size_t>(table.slots) * state.max_beam);
    for (int i = 0; i < table.slots; i++) {
        int64_t slot = table.members[i];
        for (int k = 0; k < state.integers[slot].beam_size; k++) {
            found.by_slot[static_cast<size_t>(i) * state.max_beam + k] = found.slot.size();
            found.tokens.push_back(state.last[slot * state.max_beam + k]);
            found.positions.push_back(state.length[slot]);
            found.spelling.push_back(state.spelling[slot * state.max_beam + k]);
            found.slot.push_back(static_cast<int32_t>(slot));
            found.beam.push_back(k);
        }
    }
    found.order.resize(table.rows);
    std::iota(found.order.begin(), found.order.end(), 0);
    return found;
}

// The likeliest of those tokens that may follow, of one row's logits of all tokens; of equals the
// lower token.
void choose(const SearchState &state, const FrontierNumbers &last, int row, const float *logits,
            size_t size, float normaliser, Likeliest &found) {
    int count = found.count;
    float *log_probs = &found.log_probs[static_cast<size_t>(row) * count];
    int64_t *tokens = &found.tokens[static_cast<size_t>(row) * count];
    std::fill_n(log_probs, count, kNever);
    std::fill_n(tokens, count, 0);
    for (size_t token = 0; token < size; token++) {
        float log_prob = logits[token] - normaliser;
        if (!(log_prob > log_probs[count - 1]) ||
            !may_follow(state.utf8, last.slot[row], last.spelling[row], token))
            continue;
        int place = count - 1;
        for (; place > 0 && log_probs[place - 1] < log_prob; place--) {
            log_probs[place] = log_probs[place - 1];
            tokens[place] = tokens[place - 1];
        }
        log_probs[place] = log_prob;
        tokens[place] = token;
    }
}

// Whether among a row's likeliest tokens is one that may not follow. Only as many as a search looks
// at count, so that a row's fate does not depend on its neighbours.
bool is_misled(const SearchState &state, const FrontierNumbers &last, const Likeliest &found,
               int row) {
    if (!state.utf8.spelled) return false;
    int64_t looked_at = 2 * state.integers[last.slot[row]].beam_size;
    size_t start = static_cast<size_t>(row) * found.count;
    size_t end = start + std::min<int64_t>(looked_at, found.count);
    for (size_t i = start; i < end && found.log_probs[i] > kNever; i++)
        if (!may_follow(state.utf8, last.slot[row], last.spelling[row], found.tokens[i]))
            return true;
    return false;
}

// Offer the next token of a row's prefix, which is certain.
void force(const SearchState &state, const FrontierNumbers &last, int row, Likeliest &found) {
    Hypothesis hypothesis{last.slot[row], last.beam[row]};
    int64_t token =
        state.prefix[hypothesis.slot * state.max_length + state.length[hypothesis.slot]];
    found.clear(row);
    found.offer(row, 0, token, 0);
    found.is_failed[row] = false;
}

// Offer what the options of a row's sentence make of its logits (size), which are changed.
void apply_options(const SearchState &state, const FrontierNumbers &last, int row, float *logits,
                   size_t size, Likeliest &found) {
    Hypothesis hypothesis{last.slot[row], last.beam[row]};
    guard(state, hypothesis, logits);
    float normaliser = log_sum_exp(logits, size);
    found.is_failed[row] = !std::isfinite(normaliser);
    if (found.is_failed[row]) return;
    if (state.flags[hypothesis.slot].is_sampling) {
        int64_t drawn = draw(state, hypothesis, logits, size);
        found.clear(row);
        found.offer(row, 0, drawn, logits[drawn] - normaliser);
        return;
    }
    choose(state, last, row, logits, size, normaliser, found);
}

// Most rows need no more than their likeliest tokens. Those that have options, or to which a token was
// offered that may not follow, are scored once more, whole; those within their prefix have no choice.
void rescore(Network &network, const SearchState &state, const FrontierNumbers &last,
             Likeliest &found) {
    std::vector<int> rows;
    for (int row = 0; row < static_cast<int>(last.slot.size()); row++) {
        int64_t slot = last.slot[row];
        if (is_forced(state, slot))
            force(state, last, row, found);
        else if (needs_logits(state, slot) || is_misled(state, last, found, row))
            rows.push_back(row);
    }
    if (rows.empty()) return;
    std::vector<float> all = network.logits_of(rows);
    size_t size = all.size() / rows.size();
    for (size_t i = 0; i < rows.size(); i++) {
        int row = rows[i];
        float *logits = &all[i * size];
        if (needs_logits(state, last.slot[row]))
            apply_options(state, last, row, logits, size, found);
        else
            choose(state, last, row, logits, size, network.normaliser(row), found);
    }
}

// The network's likeliest tokens of each row, before any option.
void rank(Network &network, int rows, Likeliest &found) {
    network.rank(found.count, found.log_probs.data(), found.tokens.data());
    for (int row = 0; row < rows; row++)
        found.is_failed[row] = std::isnan(found.log_probs[static_cast<size_t>(row) * found.count]);
}

}  // namespace

int decode(Network &network, const SearchState &state, const StepTable &table, int count, int length,
           const DecodeRecord *record) {
    int rows = table.rows;
    FrontierNumbers last = frontier(state, table);
    network.step(rows, {last.tokens.data(), last.positions.data(), table.row, last.slot.data(),
                        last.order.data()});

    Likeliest likeliest(rows, count);
    rank(network, rows, likeliest);
    rescore(network, state, last, likeliest);

    std::vector<int64_t> sources(rows);
    Offers offers{likeliest.count, likeliest.log_probs.data(), likeliest.tokens.data(),
                  likeliest.is_failed.get()};
    advance(state, table.members, table.slots, state.max_beam, last.by_slot.data(), offers,
            sources.data());
    if (record) {
        std::copy(likeliest.log_probs.begin(), likeliest.log_probs.end(), record->log_probs);
        std::copy(likeliest.tokens.begin(), likeliest.tokens.end(), record->tokens);
        std::copy(sources.begin(), sources.end(), record->sources);
    }
    if (rows > table.slots) network.reorder(rows, table.row, sources.data(), length);
    return static_cast<int>(
        std::count_if(table.members, table.members + table.slots,
                      [&](int64_t slot) { return state.status[slot] != kRunning; }));
}
