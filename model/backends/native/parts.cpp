#include "parts.h"

#include <numeric>

#include "parallel.h"

namespace {

constexpr int kRowsWorthAPart = 16;

}  // namespace

std::vector<int> starts_of(int count, const int32_t *lengths) {
    std::vector<int> starts{0};
    for (int i = 0; i < count; i++) starts.push_back(starts.back() + lengths[i]);
    return starts;
}

std::vector<int> starts_of(int rows, const Frontier &frontier) {
    std::vector<int> starts;
    for (int place = 0, last = -1; place < rows; place++) {
        int slot = frontier.slot[frontier.order[place]];
        if (slot != last) starts.push_back(place);
        last = slot;
    }
    starts.push_back(rows);
    return starts;
}

std::vector<int> cut(const std::vector<double> &costs, int rows) {
    int count = static_cast<int>(costs.size()), parts_left = parallel_threads();
    if (rows < kRowsWorthAPart * parts_left) return {0, count};
    std::vector<int> cuts{0};
    double left = std::accumulate(costs.begin(), costs.end(), 0.0), own = 0;
    for (int s = 0; s < count; s++) {
        if (own > 0 && parts_left > 1 && own + costs[s] / 2 > left / parts_left) {
            cuts.push_back(s);
            left -= own;
            own = 0;
            parts_left--;
        }
        own += costs[s];
    }
    cuts.push_back(count);
    return cuts;
}
