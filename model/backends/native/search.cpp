#include "search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "linear.h"

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr double kCostOfSlot = 3000;

struct Candidate {
    int parent;
    int64_t token;
    float total, log_prob;
};

// Reused from slot to slot by one thread.
struct Room {
    std::vector<Candidate> candidates, survivors;
    std::vector<int64_t> tokens, spellings;
    std::vector<float> log_probs;
};

// The hypotheses of one slot, and what its options make of their extensions.
class SlotSearch {
  public:
    SlotSearch(const SearchState &state, int slot, Room &room)
        : state_(state),
          options_(state.integers[slot]),
          alpha_(state.numbers[slot].length_penalty),
          is_wu_(state.flags[slot].is_wu),
          is_cut_(state.flags[slot].is_cut),
          live_(of_slot(state.live, slot)),
          finished_(of_slot(state.finished, slot)),
          last_(state.last + static_cast<size_t>(slot) * state.max_beam),
          spelling_(state.spelling + static_cast<size_t>(slot) * state.max_beam),
          length_(state.length[slot]),
          status_(state.status[slot]),
          is_stuck_(state.is_stuck[slot]),
          room_(room) {}

    void advance(const int64_t *rows, const Offers &offers, int64_t *sources) {
        int beam = beam_size();
        for (int k = 0; k < beam; k++) sources[rows[k]] = rows[k];
        for (int k = 0; k < beam; k++)
            if (offers.is_failed[rows[k]]) return void(status_ = kFailed);
        collect(rows, offers);
        length_++;
        settle();
        survive();
        for (size_t k = 0; k < room_.survivors.size(); k++)
            sources[rows[k]] = rows[room_.survivors[k].parent];
        status_ = is_done() ? kDone : kRunning;
        is_stuck_ = is_looping();
    }

    int64_t stable_length() const {
        int64_t shared = length_;
        for (int k = 1; k < beam_size(); k++)
            if (live_.score[k] > kNever) shared = common(live_.tokens + k * width(), shared);
        for (int k = 0; k < options_.n_best; k++)
            if (finished_.score[k] > kNever)
                shared = common(finished_.tokens + k * width(),
                                std::min(shared, finished_.length[k]));
        return shared;
    }

  private:
    Hypotheses of_slot(const Hypotheses &all, int slot) const {
        size_t beams = static_cast<size_t>(slot) * state_.max_beam, places = beams * width();
        return {all.tokens + places, all.log_probs + places, all.score + beams, all.length + beams};
    }

    size_t width() const { return state_.max_length; }
    int beam_size() const { return static_cast<int>(options_.beam_size); }
    bool is_over() const { return length_ >= options_.limit || is_stuck_; }
    bool has_ended() const { return finished_.score[0] > kNever; }

    int64_t common(const int64_t *tokens, int64_t length) const {
        return std::mismatch(tokens, tokens + length, live_.tokens).first - tokens;
    }

    // ((5 + |Y|) / 6)^alpha (Wu et al. 2016, eq. 14) or |Y|^alpha.
    float penalty(int64_t length) const {
        float whole = static_cast<float>(length);
        return std::pow(is_wu_ ? (5.0f + whole) / 6.0f : whole, alpha_);
    }

    // The best extensions, twice the beam: each hypothesis can offer the end of sentence once.
    void collect(const int64_t *rows, const Offers &offers) {
        size_t most = 2 * options_.beam_size;
        std::vector<Candidate> &best = room_.candidates;
        best.clear();
        for (int k = 0; k < beam_size(); k++) {
            size_t start = rows[k] * offers.count;
            for (size_t i = start; i < start + offers.count; i++) {
                float total = live_.score[k] + offers.log_probs[i];
                if (total == kNever || (best.size() == most && total <= best.back().total)) break;
                if (best.size() == most) best.pop_back();
                insert(best, {k, offers.tokens[i], total, offers.log_probs[i]});
            }
        }
    }

    static void insert(std::vector<Candidate> &best, const Candidate &candidate) {
        auto place = best.end();
        while (place != best.begin() && (place - 1)->total < candidate.total) --place;
        best.insert(place, candidate);
    }

    // Hypotheses that end become finished ones, of which the n_best stay: those with eos among the
    // beam's best; where none did by the length limit or before a loop, the beam's best as they are.
    void settle() {
        const std::vector<Candidate> &all = room_.candidates;
        size_t count = std::min(all.size(), static_cast<size_t>(options_.beam_size));
        auto is_eos = [&](const Candidate &c) { return c.token == state_.eos; };
        bool any = has_ended() || std::any_of(all.begin(), all.begin() + count, is_eos);
        bool is_cut = is_over() && (!any || is_cut_);
        for (size_t i = 0; i < count; i++)
            if (is_cut || is_eos(all[i])) finish(all[i]);
    }

    void finish(const Candidate &candidate) {
        float score = candidate.total / penalty(length_);
        int place = static_cast<int>(options_.n_best);
        while (place > 0 && finished_.score[place - 1] < score) place--;
        if (place == options_.n_best) return;
        for (int k = static_cast<int>(options_.n_best) - 1; k > place; k--) {
            copy(finished_, k - 1, finished_, k, finished_.length[k - 1]);
            finished_.score[k] = finished_.score[k - 1];
            finished_.length[k] = finished_.length[k - 1];
        }
        copy(live_, candidate.parent, finished_, place, length_ - 1);
        write(finished_, place, candidate);
        finished_.score[place] = score;
        finished_.length[place] = length_;
    }

    void copy(const Hypotheses &from, int source, const Hypotheses &to, int target,
              int64_t length) const {
        std::copy_n(from.tokens + source * width(), length, to.tokens + target * width());
        std::copy_n(from.log_probs + source * width(), length, to.log_probs + target * width());
    }

    // The candidate's own token, at the end of hypothesis k.
    void write(const Hypotheses &to, int k, const Candidate &candidate) const {
        size_t place = k * width() + length_ - 1;
        to.tokens[place] = candidate.token;
        to.log_probs[place] = candidate.log_prob;
    }

    // The best candidates that do not end become the live hypotheses.
    void survive() {
        std::vector<Candidate> &chosen = room_.survivors;
        chosen.clear();
        for (const Candidate &candidate : room_.candidates)
            if (candidate.token != state_.eos && chosen.size() < static_cast<size_t>(beam_size()))
                chosen.push_back(candidate);
        reorder(chosen);
        if (state_.utf8.spelled) spell(chosen);
        for (int k = 0; k < beam_size(); k++) {
            bool is_live = k < static_cast<int>(chosen.size());
            live_.score[k] = is_live ? chosen[k].total : kNever;
            if (!is_live) continue;
            write(live_, k, chosen[k]);
            last_[k] = chosen[k].token;
        }
    }

    // What each survivor's parent had begun to spell, and its own token.
    void spell(const std::vector<Candidate> &chosen) {
        const Utf8 &utf8 = state_.utf8;
        room_.spellings.assign(spelling_, spelling_ + beam_size());
        for (size_t k = 0; k < chosen.size(); k++) {
            int64_t before = room_.spellings[chosen[k].parent];
            int64_t code = std::min(utf8.spelled[chosen[k].token], kNoByte);
            spelling_[k] = utf8.next_state[before * kSpellings + code];
        }
    }

    // Each survivor takes over its parent's history.
    void reorder(const std::vector<Candidate> &chosen) {
        int64_t length = length_ - 1;
        room_.tokens.resize(chosen.size() * length);
        room_.log_probs.resize(chosen.size() * length);
        for (size_t k = 0; k < chosen.size(); k++) {
            size_t start = chosen[k].parent * width();
            std::copy_n(live_.tokens + start, length, room_.tokens.data() + k * length);
            std::copy_n(live_.log_probs + start, length, room_.log_probs.data() + k * length);
        }
        for (size_t k = 0; k < chosen.size(); k++) {
            std::copy_n(room_.tokens.data() + k * length, length, live_.tokens + k * width());
            std::copy_n(room_.log_probs.data() + k * length, length, live_.log_probs + k * width());
        }
    }

    // No live hypothesis can enter the n_best any more; a beam of one stops at its first end.
    bool is_done() const {
        float worst = finished_.score[options_.n_best - 1];
        float bound = live_.score[0] / penalty(std::min(length_ + options_.lookahead, options_.limit));
        return worst >= bound || (beam_size() == 1 && has_ended()) || is_over();
    }

    // Whether the best live hypothesis ends in nothing but repetitions, of which the prefix that was
    // asked for is none.
    bool is_looping() const {
        int span = state_.loop_span;
        if (length_ < options_.prefix_length + span) return false;
        const int64_t *tail = live_.tokens + length_ - span;
        for (int period = 1; period <= state_.longest_loop; period++)
            if (std::equal(tail + period, tail + span, tail)) return true;
        return false;
    }

    const SearchState &state_;
    const SlotIntegers &options_;
    float alpha_;
    bool is_wu_, is_cut_;
    Hypotheses live_, finished_;
    int64_t *last_, *spelling_, &length_, &status_;
    bool &is_stuck_;
    Room &room_;
};

}  // namespace

void advance(const SearchState &state, const int64_t *members, int slots, int width,
             const int64_t *by_slot, const Offers &offers, int64_t *sources) {
    spread_over_threads(slots, kCostOfSlot, [&](int first, int last, int) {
        Room room;
        for (int i = first; i < last; i++)
            SlotSearch(state, static_cast<int>(members[i]), room)
                .advance(by_slot + static_cast<size_t>(i) * width, offers, sources);
    });
}

void stable_lengths(const SearchState &state, const int64_t *members, int slots, int64_t *lengths) {
    Room room;
    for (int i = 0; i < slots; i++)
        lengths[i] = SlotSearch(state, static_cast<int>(members[i]), room).stable_length();
}
