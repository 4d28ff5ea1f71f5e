#include "decode.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

namespace {

// What a Frontier points at, and by_slot (slots, max_beam) the places of each slot's rows.
struct FrontierNumbers {
    std::vector<int64_t> tokens, positions, by_slot;
    std::vector<int32_t> slot, order;
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
            found.slot.push_back(static_cast<int32_t>(slot));
        }
    }
    found.order.resize(table.rows);
    std::iota(found.order.begin(), found.order.end(), 0);
    return found;
}

}  // namespace

int decode(Network &network, const SearchState &state, const StepTable &table, int count,
           int length) {
    int rows = table.rows;
    FrontierNumbers last = frontier(state, table);
    network.step(rows, {last.tokens.data(), last.positions.data(), table.row, last.slot.data(),
                        last.order.data()});

    size_t offered = static_cast<size_t>(rows) * count;
    std::vector<int64_t> likeliest(offered), sources(rows);
    std::vector<float> log_probs(offered);
    network.rank(count, log_probs.data(), likeliest.data());
    std::unique_ptr<bool[]> is_failed(new bool[rows]);
    for (int i = 0; i < rows; i++)
        is_failed[i] = std::isnan(log_probs[static_cast<size_t>(i) * count]);

    Offers offers{count, log_probs.data(), likeliest.data(), is_failed.get()};
    advance(state, table.members, table.slots, state.max_beam, last.by_slot.data(), offers,
            sources.data());
    if (rows > table.slots) network.reorder(rows, table.row, sources.data(), length);
    return static_cast<int>(
        std::count_if(table.members, table.members + table.slots,
                      [&](int64_t slot) { return state.status[slot] != kRunning; }));
}
