#include "bounds.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <new>
#include <numeric>

#include "decode.h"
#include "linear.h"
#include "network.h"
#include "options.h"

namespace {

// As in model.network.config, so that sizes can be multiplied in 64 bits.
constexpr int kMostWidth = 1 << 14, kMostHeads = 1 << 10, kMostHidden = 1 << 17;
constexpr int kMostLayers = 1 << 8, kMostVocabulary = 1 << 21, kMostPositions = 1 << 16;
constexpr int kMostRoom = 1 << 20;  // of each kind
constexpr int kNumActivations = static_cast<int>(Activation::kNone);
constexpr float kNever = -std::numeric_limits<float>::infinity();

bool is_within(int64_t number, int64_t least, int64_t most) {
    return least <= number && number <= most;
}

bool is_below(int64_t number, int64_t bound) { return is_within(number, 0, bound - 1); }

template <class Number>
void require_below(const Number *numbers, int count, int64_t bound) {
    require(std::all_of(numbers, numbers + count, [&](Number n) { return is_below(n, bound); }));
}

// Each number is below the bound and comes once.
template <class Number>
void require_distinct(const Number *numbers, int count, int64_t bound) {
    require_below(numbers, count, bound);
    std::vector<bool> is_taken(bound);
    for (int i = 0; i < count; i++) {
        require(!is_taken[numbers[i]]);
        is_taken[numbers[i]] = true;
    }
}

void require_options(const SearchState &state, const SlotIntegers &options) {
    require(is_within(options.beam_size, 1, state.max_beam));
    require(is_within(options.n_best, 1, state.max_beam));
    require(is_within(options.limit, 0, state.max_length));
    require(is_within(options.lookahead, 0, std::numeric_limits<int32_t>::max()));
    require(is_within(options.prefix_length, 0, state.max_length));
}

// What one slot's hypotheses say of their own lengths and spellings.
void require_hypotheses(const SearchState &state, int64_t slot) {
    const SlotIntegers &options = state.integers[slot];
    const int64_t first = slot * state.max_beam;
    require(is_within(state.length[slot], 0, state.max_length));
    for (int64_t k = first; k < first + options.n_best; k++)
        require(is_within(state.finished.length[k], 0, state.max_length));
    if (state.utf8.spelled)
        require_below(state.spelling + first, static_cast<int>(options.beam_size),
                      state.utf8.states);
}

void require_arrays(const SearchState &state) {
    const Utf8 &utf8 = state.utf8;
    for (const Hypotheses *all : {&state.live, &state.finished})
        require(all->tokens && all->log_probs && all->score && all->length);
    require(state.integers && state.numbers && state.flags && state.last && state.spelling);
    require(state.length && state.status && state.is_stuck && state.prefix);
    require(!utf8.spelled || (utf8.is_allowed && utf8.next_state));
    require(utf8.copied == 0 || utf8.is_held);
}

// No slot that runs has come to its end already.
void require_running(const SearchState &state, const int64_t *members, int slots) {
    for (int i = 0; i < slots; i++) require(state.length[members[i]] < state.max_length);
}

}  // namespace

void require(bool holds) {
    if (!holds) throw OutOfBounds();
}

void require_shape(const Shape &shape) {
    require(is_within(shape.d_model, 1, kMostWidth) && is_within(shape.n_heads, 1, kMostHeads));
    require(is_within(shape.head_size, 1, kMostWidth) && is_within(shape.d_ff, 1, kMostHidden));
    require(int64_t{shape.n_heads} * shape.head_size <= kMostWidth);
    require(is_within(shape.n_encoder_layers, 1, kMostLayers));
    require(is_within(shape.n_decoder_layers, 1, kMostLayers));
    require(is_within(shape.src_vocab_size, 1, kMostVocabulary));
    require(is_within(shape.tgt_vocab_size, 1, kMostVocabulary));
    require(is_below(shape.activation, kNumActivations));
    require(is_below(shape.kernels, usable_kernels().size()));
    require(is_within(shape.max_positions, 1, kMostPositions));
}

void require_room(const Shape &shape, const Embedding &source, const Embedding &target,
                  const Room &room) {
    for (int32_t size : {room.max_rows, room.max_slots, room.max_source_tokens,
                         room.max_target_tokens, room.max_batch_tokens}) {
        require(size >= 1);
        if (size > kMostRoom) throw std::bad_alloc();
    }
    auto is_bounded = [](const Embedding &side) { return side.positions || side.biases; };
    require(!is_bounded(source) || room.max_source_tokens <= shape.max_positions);
    require(!is_bounded(target) || room.max_target_tokens <= shape.max_positions);
}

void require_linear(int kernels, int activation, int rows, int inputs, int outputs) {
    require(is_below(kernels, usable_kernels().size()));
    require(is_within(activation, 0, static_cast<int>(Activation::kNone)));
    require(is_within(rows, 1, kMostRoom) && is_within(inputs, 1, kMostHidden));
    require(is_within(outputs, 1, kMostVocabulary));
}

void require_searches(const SearchState &state, const int64_t *members, int slots) {
    require(is_within(state.slots, 1, kMostRoom) && is_within(state.max_beam, 1, kMostRoom));
    require(is_within(state.max_length, 1, kMostRoom) && is_within(slots, 0, state.slots));
    require(is_within(state.loop_span, 1, kMostRoom));
    require(is_within(state.longest_loop, 0, state.loop_span));
    require_arrays(state);
    if (slots > 0) require(members);
    require_distinct(members, slots, state.slots);
    for (int i = 0; i < slots; i++) {
        require_options(state, state.integers[members[i]]);
        require_hypotheses(state, members[i]);
    }
}

bool NetworkBounds::is_encoded(int64_t slot) const {
    return is_below(slot, room_.max_slots) && memory_lengths_[slot] > 0;
}

void NetworkBounds::require_sources(int sentences, const int64_t *ids, const int32_t *lengths,
                                    const int32_t *slots) const {
    require(is_within(sentences, 0, room_.max_slots));
    if (sentences == 0) return;
    require(ids && lengths && slots);
    int64_t num_tokens = 0;
    for (int i = 0; i < sentences; i++) {
        require(is_within(lengths[i], 1, room_.max_source_tokens));
        num_tokens += lengths[i];
    }
    require(num_tokens <= room_.max_batch_tokens);
    require_below(ids, static_cast<int>(num_tokens), shape_.src_vocab_size);
    require_distinct(slots, sentences, room_.max_slots);
}

void NetworkBounds::require_shortlists(int sentences, const int32_t *tokens,
                                       const int32_t *lengths, const int32_t *slots) const {
    require(is_within(sentences, 0, room_.max_slots));
    if (sentences == 0) return;
    require(shape_.has_shortlist && tokens && lengths && slots);
    require_distinct(slots, sentences, room_.max_slots);
    require_below(lengths, sentences, int64_t{shape_.tgt_vocab_size} + 1);
    int64_t num_tokens = std::accumulate(lengths, lengths + sentences, int64_t{0});
    require(num_tokens <= std::numeric_limits<int32_t>::max());
    for (int s = 0; s < sentences; tokens += lengths[s++]) {
        const int32_t *end = tokens + lengths[s];
        require_below(tokens, lengths[s], shape_.tgt_vocab_size);
        require(std::adjacent_find(tokens, end, std::greater_equal<int32_t>()) == end);
    }
}

void NetworkBounds::require_frontier(int rows, const Frontier &frontier) const {
    require(is_within(rows, 0, room_.max_batch_tokens));
    if (rows == 0) return;
    require(frontier.tokens && frontier.positions && frontier.row && frontier.slot);
    require(frontier.order);
    require_below(frontier.tokens, rows, shape_.tgt_vocab_size);
    require_below(frontier.positions, rows, room_.max_target_tokens);
    require_below(frontier.row, rows, room_.max_rows);
    require(std::all_of(frontier.slot, frontier.slot + rows,
                        [&](int32_t slot) { return is_encoded(slot); }));
    require_distinct(frontier.order, rows, rows);
}

void NetworkBounds::require_cache_rows(int rows, const int32_t *row) const {
    require(is_within(rows, 0, std::min(room_.max_rows, room_.max_batch_tokens)));
    if (rows > 0) require(row);
    require_distinct(row, rows, room_.max_rows);
}

void NetworkBounds::require_step(int rows, const Frontier &frontier) const {
    require_cache_rows(rows, frontier.row);
    require_frontier(rows, frontier);
}

void NetworkBounds::require_record(int rows, const Frontier &frontier,
                                   const AttentionRecord &record) const {
    require_frontier(rows, frontier);
    require(!record.heads.empty() && record.values);
    require_below(record.heads.data(), static_cast<int>(record.heads.size()),
                  int64_t{shape_.n_decoder_layers} * shape_.n_heads);
    for (int i = 0; i < rows; i++)
        require(static_cast<size_t>(memory_lengths_[frontier.slot[i]]) <= record.stride);
}

void NetworkBounds::require_rank(int count) const {
    require(is_within(count, 1, shape_.tgt_vocab_size));
}

void NetworkBounds::require_decode(const SearchState &state, const StepTable &table, int count,
                                   int length) const {
    require_searches(state, table.members, table.slots);
    require_running(state, table.members, table.slots);
    require_rank(count);
    require_cache_rows(table.rows, table.row);
    require(is_within(length, 0, room_.max_target_tokens));
    require(!state.utf8.spelled || state.utf8.tokens >= shape_.tgt_vocab_size);
    int64_t rows = 0;
    for (int i = 0; i < table.slots; i++) {
        require_next(state, table.members[i]);
        rows += state.integers[table.members[i]].beam_size;
    }
    require(rows == table.rows);
}

// What the next step of one slot reads.
void NetworkBounds::require_next(const SearchState &state, int64_t slot) const {
    require(is_encoded(slot));
    require(state.length[slot] < room_.max_target_tokens);
    const int beam = static_cast<int>(state.integers[slot].beam_size);
    const int64_t vocabulary = shape_.tgt_vocab_size, length = state.length[slot];
    require_below(state.last + slot * state.max_beam, beam, vocabulary);
    if (is_forced(state, slot))
        require(is_below(state.prefix[slot * state.max_length + length], vocabulary));
    if (!needs_logits(state, slot)) return;
    for (int64_t k = slot * state.max_beam; k < slot * state.max_beam + beam; k++)
        require_below(state.live.tokens + k * state.max_length, static_cast<int>(length), vocabulary);
}

void NetworkBounds::require_reorder(int rows, const int32_t *row, const int64_t *sources,
                                    int length) const {
    require_cache_rows(rows, row);
    require(is_within(length, 0, room_.max_target_tokens));
    if (rows > 0) require(sources);
    require_below(sources, rows, rows);
}
