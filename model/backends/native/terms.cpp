#include "terms.h"

#include <algorithm>
#include <limits>

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr int64_t kLongestCharacter = 4;  // bytes

// The tokens of a slot's terms, one after the other, and what one hypothesis has of them.
class Entries {
  public:
    Entries(const SearchState &state, Hypothesis of)
        : tables_(state.terms),
          size_(2 * static_cast<size_t>(state.max_length)),
          start_(of.slot * size_),
          groups_(static_cast<size_t>(of.slot) * state.max_length),
          place_(static_cast<size_t>(of.slot) * state.max_beam + of.beam),
          produced_(place_ * state.max_length),
          is_start_(state.length[of.slot] == state.terms.start[of.slot]),
          is_spelling_(state.spelling[place_] != 0) {
        while (count_ < size_ && tables_.tokens[start_ + count_] >= 0) count_++;
        for (int64_t group = 0; group < state.num_terms[of.slot]; group++)
            total_ += missing(group) * tables_.length[groups_ + group];
    }

    size_t count() const { return count_; }
    int64_t total() const { return total_; }
    int64_t token(size_t i) const { return tables_.tokens[start_ + i]; }
    int64_t needed(size_t i) const { return std::min(total_ + tables_.change[start_ + i], total_); }

    bool is_next(size_t i) const {
        return tables_.matched[place_ * size_ + i] && missing(tables_.term[start_ + i]) > 0;
    }

    bool is_offered(size_t i) const {
        bool may_open = tables_.opens[start_ + i] || (tables_.opens_at_start[start_ + i] && is_start_);
        return is_next(i) && ((may_open && !is_spelling_) || !tables_.is_first[start_ + i]);
    }

    int64_t needed_after(int64_t next) const {
        int64_t least = total_;
        for (size_t i = 0; i < count_; i++)
            if (token(i) == next && is_next(i)) least = std::min(least, needed(i));
        return least;
    }

  private:
    int64_t missing(int64_t group) const {
        return std::max<int64_t>(tables_.count[groups_ + group] - tables_.produced[produced_ + group], 0);
    }

    const TermTables &tables_;
    size_t size_, start_, groups_, place_, produced_, count_ = 0;
    bool is_start_, is_spelling_;
    int64_t total_ = 0;
};

bool is_likelier(const Wanted &a, const Wanted &b) { return a.score > b.score; }

void keep_likeliest(std::vector<Wanted> &all, size_t count) {
    std::stable_sort(all.begin(), all.end(), is_likelier);
    if (all.size() > count) all.resize(count);
}

// Each token that begins or continues a missing term once, with the fewest that are needed after it.
std::vector<Wanted> offers(const Entries &entries) {
    std::vector<Wanted> found;
    for (size_t i = 0; i < entries.count(); i++)
        if (entries.is_offered(i)) found.push_back({0, entries.token(i), entries.needed(i)});
    std::sort(found.begin(), found.end(), [](const Wanted &a, const Wanted &b) {
        return a.token != b.token ? a.token < b.token : a.needed < b.needed;
    });
    auto is_same = [](const Wanted &a, const Wanted &b) { return a.token == b.token; };
    found.erase(std::unique(found.begin(), found.end(), is_same), found.end());
    return found;
}

// The likeliest tokens of logits (size), of equals the lower one.
std::vector<Wanted> likeliest(const float *logits, size_t size, size_t count) {
    std::vector<Wanted> best;
    for (size_t token = 0; token < size; token++) {
        if (!(logits[token] > kNever) || (best.size() == count && logits[token] <= best.back().score))
            continue;
        if (best.size() == count) best.pop_back();
        Wanted one{logits[token], static_cast<int64_t>(token), 0};
        best.insert(std::upper_bound(best.begin(), best.end(), one, is_likelier), one);
    }
    return best;
}

}  // namespace

TermChoice choose_with_terms(const SearchState &state, Hypothesis hypothesis, const float *raw,
                             float *logits, size_t size, int count) {
    Entries entries(state, hypothesis);
    const SlotIntegers &options = state.integers[hypothesis.slot];
    int64_t left = options.limit - state.length[hypothesis.slot] - 1;
    int64_t spelling = state.spelling[hypothesis.slot * state.max_beam + hypothesis.beam];
    bool is_missing = entries.total() > 0;
    float end = logits[state.eos];
    TermChoice choice{offers(entries), {}, log_sum_exp(logits, size)};

    for (Wanted &one : choice.own) {
        logits[one.token] = kNever;
        one.score = one.needed <= left ? raw[one.token] : kNever;
    }
    logits[state.eos] = is_missing ? kNever : end;
    for (size_t token = 0; token < size; token++)
        if (!may_follow(state.utf8, hypothesis.slot, spelling, token)) logits[token] = kNever;
    choice.others = likeliest(logits, size, count);
    int64_t slack = spelling != 0 ? 0 : kLongestCharacter - 1;
    for (Wanted &one : choice.others) {
        one.needed = entries.needed_after(one.token);
        if (is_missing && one.needed + slack > left) one.score = kNever;
    }

    keep_likeliest(choice.own, count);
    float best = kNever;
    for (const std::vector<Wanted> *half : {&choice.own, &choice.others})
        if (!half->empty()) best = std::max(best, half->front().score);
    if (is_missing && end >= best) choice.normaliser += state.early_end_cost;
    size_t looked_at = 2 * options.beam_size;
    for (std::vector<Wanted> *half : {&choice.own, &choice.others})
        if (half->size() > looked_at) half->resize(looked_at);
    return choice;
}

int64_t needed_after(const SearchState &state, Hypothesis hypothesis, int64_t token) {
    return Entries(state, hypothesis).needed_after(token);
}

// One flag for each token of the terms (Baeza-Yates and Gonnet 1992).
void follow_terms(const SearchState &state, int64_t slot, const std::vector<int64_t> &parents) {
    const TermTables &tables = state.terms;
    size_t size = 2 * static_cast<size_t>(state.max_length), width = state.max_length;
    size_t start = slot * size, first = static_cast<size_t>(slot) * state.max_beam, used = 0;
    while (used < size && tables.tokens[start + used] >= 0) used++;
    std::vector<char> matched;
    std::vector<int64_t> produced;
    for (int64_t parent : parents) {
        const bool *flags = tables.matched + (first + parent) * size;
        const int64_t *counts = tables.produced + (first + parent) * width;
        matched.insert(matched.end(), flags, flags + used);
        produced.insert(produced.end(), counts, counts + state.num_terms[slot]);
    }
    for (size_t k = 0; k < parents.size(); k++) {
        bool *flags = tables.matched + (first + k) * size;
        int64_t *counts = tables.produced + (first + k) * width;
        std::copy_n(produced.begin() + k * state.num_terms[slot], state.num_terms[slot], counts);
        bool is_begun = false;
        for (size_t i = 0; i < used; i++) {
            bool is_hit = matched[k * used + i] && tables.tokens[start + i] == state.last[first + k];
            flags[i] = tables.is_first[start + i] || is_begun;
            is_begun = is_hit && !tables.is_last[start + i];
            if (is_hit && tables.is_last[start + i]) counts[tables.term[start + i]]++;
        }
    }
}
