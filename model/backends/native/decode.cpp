#include "decode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

namespace {

// What a Frontier points at, and by_slot (slots, max_beam) the places of each slot's rows.
struct FrontierNumbers {
    std::vector<int64_t> tokens, positions, spelling, by_slot;
    std::vector<int32_t> slot, order;
};

constexpr float kNever = -std::numeric_limits<float>::infinity();

// The likeliest tokens of each row: (rows, count).
struct Likeliest {
    int count;
    std::vector<float> log_probs;
    std::vector<int64_t> tokens;
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
        }
    }
    found.order.resize(table.rows);
    std::iota(found.order.begin(), found.order.end(), 0);
    return found;
}

// The likeliest of those tokens that may follow, of one row's log-probabilities of all tokens; of
// equals the lower token.
void choose(const Utf8 &utf8, int64_t spelling, const std::vector<float> &all, size_t start,
            size_t size, int count, float *log_probs, int64_t *tokens) {
    std::fill_n(log_probs, count, kNever);
    std::fill_n(tokens, count, 0);
    for (size_t token = 0; token < size; token++) {
        float log_prob = all[start + token];
        if (!(log_prob > log_probs[count - 1]) || !may_follow(utf8, spelling, token)) continue;
        int place = count - 1;
        for (; place > 0 && log_probs[place - 1] < log_prob; place--) {
            log_probs[place] = log_probs[place - 1];
            tokens[place] = tokens[place - 1];
        }
        log_probs[place] = log_prob;
        tokens[place] = token;
    }
}

// The rows among whose likeliest tokens is one that may not follow what they have spelled. Only as
// many as a search looks at count, so that a row's fate does not depend on its neighbours.
std::vector<int> misled(const SearchState &state, const FrontierNumbers &last,
                        const Likeliest &found) {
    std::vector<int> rows;
    for (size_t i = 0; i < last.slot.size(); i++) {
        int64_t looked_at = 2 * state.integers[last.slot[i]].beam_size;
        size_t start = i * found.count, end = start + std::min<int64_t>(looked_at, found.count);
        for (size_t j = start; j < end && found.log_probs[j] > kNever; j++) {
            if (may_follow(state.utf8, last.spelling[i], found.tokens[j])) continue;
            rows.push_back(static_cast<int>(i));
            break;
        }
    }
    return rows;
}

// Most steps offer no byte out of place; the rows of those that do are scored once more, whole.
void forbid_bytes(Network &network, const SearchState &state, const FrontierNumbers &last,
                  Likeliest &found) {
    if (!state.utf8.spelled) return;
    std::vector<int> rows = misled(state, last, found);
    if (rows.empty()) return;
    std::vector<float> all = network.log_probs_of(rows);
    size_t size = all.size() / rows.size();
    for (size_t i = 0; i < rows.size(); i++) {
        size_t place = static_cast<size_t>(rows[i]) * found.count;
        choose(state.utf8, last.spelling[rows[i]], all, i * size, size, found.count,
               &found.log_probs[place], &found.tokens[place]);
    }
}

}  // namespace

int decode(Network &network, const SearchState &state, const StepTable &table, int count,
           int length) {
    int rows = table.rows;
    FrontierNumbers last = frontier(state, table);
    network.step(rows, {last.tokens.data(), last.positions.data(), table.row, last.slot.data(),
                        last.order.data()});

    size_t offered = static_cast<size_t>(rows) * count;
    Likeliest likeliest{count, std::vector<float>(offered), std::vector<int64_t>(offered)};
    network.rank(count, likeliest.log_probs.data(), likeliest.tokens.data());
    std::unique_ptr<bool[]> is_failed(new bool[rows]);
    for (int i = 0; i < rows; i++)
        is_failed[i] = std::isnan(likeliest.log_probs[static_cast<size_t>(i) * count]);
    forbid_bytes(network, state, last, likeliest);

    std::vector<int64_t> sources(rows);
    Offers offers{count, likeliest.log_probs.data(), likeliest.tokens.data(), is_failed.get(),
                  nullptr};
    advance(state, table.members, table.slots, state.max_beam, last.by_slot.data(), offers,
            sources.data());
    if (rows > table.slots) network.reorder(rows, table.row, sources.data(), length);
    return static_cast<int>(
        std::count_if(table.members, table.members + table.slots,
                      [&](int64_t slot) { return state.status[slot] != kRunning; }));
}
