#include "decode.h"

#include <cmath>
#include <memory>
#include <vector>

void decode(Network &network, const SearchState &state, const StepTable &table, int count,
            int length) {
    int rows = table.rows;
    size_t offered = static_cast<size_t>(rows) * count;
    std::vector<int64_t> tokens(rows), positions(rows), sources(rows), likeliest(offered);
    std::vector<float> log_probs(offered);
    std::unique_ptr<bool[]> is_failed(new bool[rows]);
    for (int i = 0; i < rows; i++) {
        tokens[i] = state.last[table.owners[i] * state.max_beam + table.beams[i]];
        positions[i] = state.length[table.owners[i]];
    }
    network.step(rows, {tokens.data(), positions.data(), table.row, table.slot, table.order});
    network.rank(count, log_probs.data(), likeliest.data());
    for (int i = 0; i < rows; i++)
        is_failed[i] = std::isnan(log_probs[static_cast<size_t>(i) * count]);
    Offers offers{count, log_probs.data(), likeliest.data(), is_failed.get()};
    advance(state, table.members, table.slots, table.width, table.by_slot, offers, sources.data());
    if (table.width > 1) network.reorder(rows, table.row, sources.data(), length);
}
