// Calls the compiled library with arguments that libFuzzer makes up: sound ones, which must succeed,
// and ones with hostile numbers and null pointers, which must be refused. Every array is exactly as
// large as the arguments say, so that the sanitizers see each read and write outside of it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include <fuzzer/FuzzedDataProvider.h>

#include "api.h"
#include "linear.h"

namespace {

constexpr size_t kMostBytes = size_t{1} << 27;  // of one allocation; more is as if memory ran out

void *allocate(size_t bytes, size_t alignment) {
    void *memory = nullptr;
    if (bytes > kMostBytes || posix_memalign(&memory, alignment, bytes)) throw std::bad_alloc();
    return memory;
}

}  // namespace

void *operator new(size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void *operator new(size_t bytes, std::align_val_t a) { return allocate(bytes, size_t(a)); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void *memory, size_t, std::align_val_t) noexcept { std::free(memory); }

// What a sanitizer gives back for a size that cannot be had is null, as the system does.
extern "C" const char *__asan_default_options() {
    return "allocator_may_return_null=1:max_allocation_size_mb=256:alloc_dealloc_mismatch=0";
}

namespace {

constexpr int32_t kNoMemory = -1, kOther = -3, kOutOfBounds = -4;
constexpr size_t kMostNumbers = size_t{1} << 20;  // of one array, for what is refused unread
constexpr int kMostWeight = 1 << 16;

void require(bool holds, const char *what) {
    if (holds) return;
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

// The fuzzer's bytes, as sizes and numbers.
class Input {
  public:
    Input(const uint8_t *data, size_t size) : bytes_(data, size) {}

    bool is_over() { return bytes_.remaining_bytes() == 0; }
    bool flag() { return bytes_.ConsumeBool(); }
    int between(int least, int most) { return bytes_.ConsumeIntegralInRange(least, most); }

    // One in 16 is hostile.
    int32_t size(int least, int most) {
        if (between(0, 15)) return between(least, most);
        constexpr int32_t kHostile[] = {0,       -1,      most_, least_, 1 << 14,
                                        1 << 20, (1 << 20) + 1, 1 << 30, 1 << 17, 1 << 16};
        return between(0, 9) ? kHostile[between(0, 9)] : bytes_.ConsumeIntegral<int32_t>();
    }

    // Numbers below the bound; one of them is not, if `is_spoilt`.
    template <class Number>
    std::vector<Number> numbers(int64_t count, int64_t bound, bool is_spoilt) {
        std::vector<Number> found(length_of(count));
        uint32_t seed = bytes_.ConsumeIntegral<uint16_t>();
        for (Number &number : found) {
            seed = seed * 1664525 + 1013904223;
            number = static_cast<Number>(bound > 0 ? (seed >> 8) % bound : 0);
        }
        if (is_spoilt && !found.empty())
            found[between(0, static_cast<int>(found.size()) - 1)] = hostile<Number>(bound);
        return found;
    }

    // Different numbers below the bound, as far as there are so many.
    template <class Number>
    std::vector<Number> different(int64_t count, int64_t bound, bool is_spoilt) {
        std::vector<Number> found(length_of(count));
        std::iota(found.begin(), found.end(), Number{0});
        int64_t shift = between(0, 7);
        for (Number &number : found)
            if (bound > 0) number = static_cast<Number>((number + shift) % bound);
        if (is_spoilt && !found.empty())
            found[between(0, static_cast<int>(found.size()) - 1)] = hostile<Number>(bound);
        return found;
    }

    std::vector<float> floats(int64_t count) {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        std::vector<float> found(length_of(count));
        uint32_t seed = bytes_.ConsumeIntegral<uint16_t>();
        for (float &number : found) {
            seed = seed * 1664525 + 1013904223;
            number = static_cast<float>(static_cast<int32_t>(seed)) / (1u << 31);
        }
        if (!found.empty() && !between(0, 7)) {
            constexpr float kStrange[] = {kInfinity, -kInfinity, 1e38f, 1e-40f};
            int which = between(0, 4), place = between(0, static_cast<int>(found.size()) - 1);
            found[place] = which < 4 ? kStrange[which] : std::numeric_limits<float>::quiet_NaN();
        }
        return found;
    }

    template <class Number>
    Number hostile(int64_t bound) {
        const int64_t kinds[] = {-1,    bound, bound + 1, std::numeric_limits<int32_t>::min(),
                                 most_, 1 << 20};
        if constexpr (sizeof(Number) == 8)
            if (flag()) return flag() ? std::numeric_limits<Number>::max()
                                      : std::numeric_limits<Number>::min();
        return static_cast<Number>(kinds[between(0, 5)]);
    }

  private:
    static constexpr int32_t most_ = std::numeric_limits<int32_t>::max();
    static constexpr int32_t least_ = std::numeric_limits<int32_t>::min();

    // A size that no library may believe has no array.
    static size_t length_of(int64_t count) {
        bool is_possible = 0 <= count && count <= static_cast<int64_t>(kMostNumbers);
        return is_possible ? static_cast<size_t>(count) : 0;
    }

    FuzzedDataProvider bytes_;
};

template <class Number>
const Number *pointer(Input &input, const std::vector<Number> &numbers, bool is_spoilt) {
    return is_spoilt && !input.between(0, 7) ? nullptr : numbers.data();
}

// How many calls of each function did what they were asked for, and how many were refused.
class Tally {
  public:
    void count(const char *what, int32_t result) {
        auto own = std::find_if(rows_.begin(), rows_.end(), [&](const Row &r) { return r.what == what; });
        if (own == rows_.end()) own = rows_.insert(own, Row{what, 0, 0});
        (result >= 0 ? own->done : own->refused)++;
    }
    ~Tally() {
        for (const Row &row : rows_)
            std::fprintf(stderr, "%-26s %9ld done, %9ld refused\n", row.what, row.done, row.refused);
    }

  private:
    struct Row {
        const char *what;
        long done, refused;
    };
    std::vector<Row> rows_;
};

Tally tally;

// --- Weights ---

Input *weight_input = nullptr;
bool has_weights = true;  // whether there is memory for the tables of the shape
std::vector<float> weights_held[2];

const float *next_weight(int32_t rows, int32_t columns) {
    int64_t count = int64_t{rows} * columns;
    if (!has_weights || count <= 0 || count > kMostWeight) return nullptr;
    if (!weight_input->between(0, 255)) return nullptr;
    std::swap(weights_held[0], weights_held[1]);
    weights_held[0] = weight_input->floats(count);
    return weights_held[0].data();
}

// A model of made-up sizes, its weights and a network, as far as they are not refused.
struct Model {
    Shape shape{};
    Room room{};
    std::vector<float> source, target, source_positions, target_positions, slopes;
    Held *packed = nullptr;
    Network *network = nullptr;
    int num_threads = 1;
    std::vector<int32_t> encoded;  // slots

    explicit Model(Input &input) {
        shape.n_heads = input.size(1, 3);
        bool is_multiple = input.between(0, 15) && shape.n_heads > 0 && shape.n_heads <= 3;
        shape.d_model = is_multiple ? shape.n_heads * input.between(1, 9) : input.size(1, 30);
        shape.d_ff = input.size(1, 40);
        shape.n_encoder_layers = input.size(1, 2);
        shape.n_decoder_layers = input.size(1, 2);
        shape.src_vocab_size = input.size(1, 20);
        shape.tgt_vocab_size = input.size(1, 600);
        shape.is_pre_norm = input.flag();
        shape.has_embedding_norm = input.flag();
        shape.activation = input.size(0, 2);
        shape.is_quantised = input.flag();
        shape.max_positions = input.size(1, 24);
        shape.embedding_scale = input.flag() ? 1.0f : 4.0f;
        shape.kernels = input.size(0, static_cast<int>(usable_kernels().size()) - 1);
        room = {input.size(1, 24), input.size(1, 8), input.size(1, 24), input.size(1, 24),
                input.size(1, 60)};
    }
    ~Model() {
        require(dragoman_delete(network) == 0, "dragoman_delete fails");
        require(dragoman_let_go(packed) == 0, "dragoman_let_go fails");
    }
    Model(const Model &) = delete;

    // Whether there is a network. Tables are as large as an accepted shape says.
    bool build(Input &input) {
        source = input.floats(int64_t{shape.src_vocab_size} * shape.d_model);
        target = input.floats(int64_t{shape.tgt_vocab_size} * shape.d_model);
        if (source.empty() || target.empty()) source.resize(1), target.resize(1);
        Tables tables{source.data(), nullptr, target.data(), nullptr, nullptr};
        if (input.flag()) {
            source_positions = input.floats(int64_t{shape.max_positions} * shape.d_model);
            target_positions = input.floats(int64_t{shape.max_positions} * shape.d_model);
            tables.source_positions = source_positions.data();
            tables.target_positions = target_positions.data();
        } else if (input.flag()) {
            slopes = input.floats(shape.n_heads);
            tables.slopes = slopes.data();
        }
        if (!input.between(0, 63)) tables.source = nullptr;
        weight_input = &input;
        int64_t largest = std::max({shape.src_vocab_size, shape.tgt_vocab_size, shape.max_positions});
        has_weights = largest * shape.d_model <= static_cast<int64_t>(kMostNumbers);
        int32_t result = dragoman_pack(&shape, &tables, next_weight, &packed);
        tally.count("dragoman_pack", result);
        require(result == 0 || result == kNoMemory || result == kOther || result == kOutOfBounds,
                "dragoman_pack gives another number");
        if (result) return false;
        result = dragoman_new(packed, &room, &network);
        tally.count("dragoman_new", result);
        require(result == 0 || result == kNoMemory || result == kOutOfBounds,
                "dragoman_new gives another number");
        return result == 0;
    }
};

// What a call gave; a sound one must succeed.
void settle(int32_t result, bool is_spoilt, const char *what) {
    tally.count(what, result);
    if (!is_spoilt) require(result >= 0 || result == kNoMemory, what);
    require(result >= 0 || result == kNoMemory || result == kOutOfBounds, what);
}

// --- Searches ---

constexpr int kStates = 3, kCopied = 3;

// The tables of made-up searches.
struct Searches {
    int slots, beams, length, vocabulary;
    std::vector<SlotIntegers> integers;
    std::vector<SlotNumbers> numbers;
    std::vector<SlotFlags> flags;
    std::vector<int64_t> live_tokens, live_length, finished_tokens, finished_length;
    std::vector<float> live_log_probs, live_score, finished_log_probs, finished_score;
    std::vector<int64_t> last, spelling, lengths, status, num_terms, prefix, spelled, next_state;
    std::unique_ptr<bool[]> is_stuck, is_allowed, is_held;
    SearchState state{};

    Searches(Input &input, int slots_, int vocabulary_, int most_length, bool is_spoilt)
        : slots(slots_), beams(input.between(1, 4)), length(input.between(1, most_length)),
          vocabulary(vocabulary_), is_stuck(new bool[slots_]()),
          is_allowed(new bool[kStates * kSpellings]), is_held(new bool[int64_t{slots_} * kCopied]()) {
        int64_t all = int64_t{slots} * beams, places = all * length;
        live_tokens = input.numbers<int64_t>(places, vocabulary, is_spoilt && input.flag());
        prefix = input.numbers<int64_t>(int64_t{slots} * length, vocabulary,
                                        is_spoilt && input.flag());
        finished_tokens = input.numbers<int64_t>(places, vocabulary, false);
        live_length = input.numbers<int64_t>(all, length + 1, is_spoilt);
        finished_length = input.numbers<int64_t>(all, length + 1, is_spoilt);
        live_log_probs = input.floats(places);
        finished_log_probs = input.floats(places);
        live_score = input.floats(all);
        finished_score = input.floats(all);
        if (input.flag()) std::fill(finished_score.begin(), finished_score.end(), -INFINITY);
        last = input.numbers<int64_t>(all, vocabulary, is_spoilt && input.flag());
        spelling = input.numbers<int64_t>(all, kStates, is_spoilt && input.flag());
        lengths = input.numbers<int64_t>(slots, length, is_spoilt && input.flag());
        status.assign(slots, kRunning);
        num_terms.assign(slots, 0);
        for (int token = 0; token < vocabulary; token++)
            spelled.push_back(token % 3 ? kNoByte + token % (kCopied + 1) : token % kNoByte);
        for (int i = 0; i < kStates * kSpellings; i++) {
            is_allowed[i] = i % 5 || i % kSpellings == kNoByte;
            next_state.push_back(i % kStates);
        }
        for (int slot = 0; slot < slots; slot++) {
            int beam = input.between(1, beams);
            bool has_options = input.flag();
            integers.push_back({beam, input.between(1, beam), input.between(0, length),
                                input.between(0, 20), has_options ? input.between(0, 9) : 0, 7,
                                has_options ? input.between(0, 4) : 0, input.between(0, length)});
            numbers.push_back({input.between(-2, 4) * 0.5f, 0.7f * input.between(0, 3),
                               0.25f * input.between(0, 5),
                               has_options ? 0.5f * input.between(1, 4) : 1.0f});
            flags.push_back({has_options && input.flag(), input.flag(), input.flag()});
        }
        if (is_spoilt && input.flag()) spoil_options(input);
        fill(input, is_spoilt);
    }

    void spoil_options(Input &input) {
        SlotIntegers &options = integers[input.between(0, slots - 1)];
        int64_t *fields[] = {&options.beam_size, &options.n_best, &options.limit,
                             &options.lookahead, &options.prefix_length, &options.top_k,
                             &options.ngram_size};
        *fields[input.between(0, 6)] = input.hostile<int64_t>(length);
    }

    void fill(Input &input, bool is_spoilt) {
        state.slots = slots;
        state.max_beam = beams;
        state.max_length = length;
        state.loop_span = input.between(1, 10);
        state.longest_loop = input.between(0, state.loop_span);
        state.needed_token_cost = 2;
        state.eos = 0;
        state.integers = integers.data();
        state.numbers = numbers.data();
        state.flags = flags.data();
        state.live = {live_tokens.data(), live_log_probs.data(), live_score.data(),
                      live_length.data()};
        state.finished = {finished_tokens.data(), finished_log_probs.data(), finished_score.data(),
                          finished_length.data()};
        state.last = last.data();
        state.spelling = spelling.data();
        state.length = lengths.data();
        state.status = status.data();
        state.is_stuck = is_stuck.get();
        state.num_terms = num_terms.data();
        state.prefix = prefix.data();
        if (input.flag())
            state.utf8 = {spelled.data(), is_allowed.get(), next_state.data(), is_held.get(),
                          kStates, vocabulary, kCopied};
        if (!is_spoilt || input.between(0, 3)) return;
        int32_t *sizes[] = {&state.slots, &state.max_beam, &state.max_length, &state.loop_span,
                            &state.longest_loop};
        constexpr int32_t kNever[] = {0, -1, (1 << 20) + 1, std::numeric_limits<int32_t>::min()};
        int which = input.between(0, 4);
        *sizes[which] = kNever[which == 4 ? 1 : input.between(0, 3)];
        if (input.flag()) state.num_terms = nullptr;
    }

    int64_t beam_of(int64_t slot) const {
        bool is_slot = 0 <= slot && slot < slots;
        int64_t beam = is_slot ? integers[slot].beam_size : 0;
        return 0 <= beam && beam <= beams ? beam : 0;
    }
};

// --- Calls ---

void encode(Input &input, Model &model) {
    bool is_spoilt = input.flag();
    const Room &room = model.room;
    int32_t sentences = is_spoilt ? input.size(0, 6)
                                  : input.between(0, std::min({room.max_slots, room.max_batch_tokens, 6}));
    int longest = std::max(1, room.max_batch_tokens / std::max(1, std::min(sentences, 60)));
    auto lengths = input.numbers<int32_t>(sentences, std::min(room.max_source_tokens, longest),
                                          is_spoilt && input.flag());
    for (int32_t &length : lengths)
        if (length >= 0 && length < std::numeric_limits<int32_t>::max()) length++;
    int64_t tokens = 0;
    for (int32_t length : lengths) tokens += std::max(length, 0);
    auto ids = input.numbers<int64_t>(tokens, model.shape.src_vocab_size, is_spoilt && input.flag());
    auto slots = input.different<int32_t>(sentences, room.max_slots, is_spoilt && input.flag());
    std::vector<float> memory(
        tokens <= static_cast<int64_t>(kMostNumbers) / 32 ? tokens * model.shape.d_model : 0);
    int32_t result = dragoman_encode(model.network, sentences, pointer(input, ids, is_spoilt),
                                     pointer(input, lengths, is_spoilt),
                                     pointer(input, slots, is_spoilt),
                                     input.flag() ? memory.data() : nullptr);
    settle(result, is_spoilt, "dragoman_encode");
    if (result == 0) model.encoded.insert(model.encoded.end(), slots.begin(), slots.end());
}

// The arguments of a step, each hypothesis in a row of its own, those of one slot together.
struct Step {
    int32_t rows;
    std::vector<int64_t> tokens, positions;
    std::vector<int32_t> row, slot, order;

    Step(Input &input, const Model &model, int most_rows, bool is_spoilt)
        : rows(is_spoilt ? input.size(0, 12) : input.between(0, std::min(12, most_rows))) {
        const Room &room = model.room;
        tokens = input.numbers<int64_t>(rows, model.shape.tgt_vocab_size, is_spoilt && input.flag());
        positions = input.numbers<int64_t>(rows, room.max_target_tokens, is_spoilt && input.flag());
        row = input.different<int32_t>(rows, room.max_rows, is_spoilt && input.flag());
        slot = input.numbers<int32_t>(rows, model.encoded.size(), false);
        for (int32_t &place : slot) place = model.encoded[place];
        std::sort(slot.begin(), slot.end());
        if (is_spoilt && input.flag() && !slot.empty())
            slot[input.between(0, static_cast<int>(slot.size()) - 1)] =
                input.hostile<int32_t>(room.max_slots);
        order = input.different<int32_t>(rows, rows, is_spoilt && input.flag());
        if (!is_spoilt) std::iota(order.begin(), order.end(), 0);
    }
};

void step(Input &input, Model &model) {
    if (model.encoded.empty()) return;
    bool is_spoilt = input.flag();
    Step made(input, model, std::min(model.room.max_rows, model.room.max_batch_tokens), is_spoilt);
    int32_t result = dragoman_step(
        model.network, made.rows, pointer(input, made.tokens, is_spoilt),
        pointer(input, made.positions, is_spoilt), pointer(input, made.row, is_spoilt),
        pointer(input, made.slot, is_spoilt), pointer(input, made.order, is_spoilt));
    settle(result, is_spoilt, "dragoman_step");
    if (result) return;
    size_t size = static_cast<size_t>(std::max(made.rows, 1));
    std::vector<float> logits(size * model.shape.tgt_vocab_size);
    settle(dragoman_logits(model.network, logits.data()), false, "dragoman_logits");
    if (!input.between(0, 15)) {  // seldom: threads wait for each other where cores are few
        model.num_threads = input.between(1, 3);
        settle(dragoman_use_threads(model.network, model.num_threads), false, "more threads");
    }
    int32_t count = is_spoilt ? input.size(1, model.shape.tgt_vocab_size)
                              : input.between(1, model.shape.tgt_vocab_size);
    size_t offered = 0 < count && count <= model.shape.tgt_vocab_size ? size * count : 0;
    std::vector<float> log_probs(offered);
    std::vector<int64_t> likeliest(offered);
    settle(dragoman_rank(model.network, count, offered ? log_probs.data() : &logits[0],
                         offered ? likeliest.data() : made.tokens.data()),
           is_spoilt, "dragoman_rank");
    auto sources = input.numbers<int64_t>(made.rows, made.rows, is_spoilt && input.flag());
    int32_t length = is_spoilt ? input.size(0, model.room.max_target_tokens)
                               : input.between(0, model.room.max_target_tokens);
    settle(dragoman_reorder(model.network, made.rows, pointer(input, made.row, is_spoilt),
                            pointer(input, sources, is_spoilt), length),
           is_spoilt, "dragoman_reorder");
}

void attend(Input &input, Model &model) {
    if (model.encoded.empty()) return;
    bool is_spoilt = input.flag();
    Step made(input, model, model.room.max_batch_tokens, is_spoilt);
    int32_t num_heads = is_spoilt ? input.size(1, 4) : input.between(1, 4);
    auto heads = input.numbers<int32_t>(
        num_heads, int64_t{model.shape.n_decoder_layers} * model.shape.n_heads, is_spoilt && input.flag());
    int32_t stride = is_spoilt ? input.size(1, 30) : model.room.max_source_tokens;
    int64_t places = int64_t{made.rows} * stride;
    std::vector<float> values(0 < places && places <= int64_t{kMostNumbers} ? places : 1);
    if (places > int64_t{kMostNumbers} && stride <= 1 << 20 && made.rows <= 60) return;
    settle(dragoman_attention(model.network, made.rows, pointer(input, made.tokens, is_spoilt),
                              pointer(input, made.positions, is_spoilt),
                              pointer(input, made.row, is_spoilt), pointer(input, made.slot, is_spoilt),
                              pointer(input, made.order, is_spoilt), num_heads,
                              pointer(input, heads, is_spoilt), values.data(), stride),
           is_spoilt, "dragoman_attention");
}

void decode(Input &input, Model &model) {
    if (model.encoded.empty()) return;
    bool is_spoilt = input.flag();
    const Room &room = model.room;
    Searches searches(input, room.max_slots, model.shape.tgt_vocab_size,
                      std::min(room.max_target_tokens, 20), is_spoilt);
    std::vector<int64_t> members;
    int64_t rows = 0, most = std::min(room.max_rows, room.max_batch_tokens);
    std::vector<int32_t> encoded = model.encoded;
    std::sort(encoded.begin(), encoded.end());
    encoded.erase(std::unique(encoded.begin(), encoded.end()), encoded.end());
    for (int32_t slot : encoded) {
        if (rows + searches.beam_of(slot) > most) break;
        members.push_back(slot);
        rows += searches.beam_of(slot);
    }
    if (is_spoilt && input.flag() && !members.empty())
        members[0] = input.hostile<int64_t>(room.max_slots);
    auto row = input.different<int32_t>(rows, room.max_rows, is_spoilt && input.flag());
    StepTable table{static_cast<int32_t>(members.size()), static_cast<int32_t>(rows),
                    pointer(input, members, is_spoilt), pointer(input, row, is_spoilt)};
    int32_t count = is_spoilt ? input.size(1, model.shape.tgt_vocab_size)
                              : input.between(1, model.shape.tgt_vocab_size);
    int32_t length = is_spoilt ? input.size(0, room.max_target_tokens)
                               : input.between(0, room.max_target_tokens);
    settle(dragoman_decode(model.network, &searches.state, &table, count, length), is_spoilt,
           "dragoman_decode");
}

// Searches by themselves, also with terms.
void advance(Input &input) {
    bool is_spoilt = input.flag();
    int slots = input.between(1, 5), vocabulary = input.between(1, 40);
    Searches searches(input, slots, vocabulary, 20, is_spoilt);
    auto members = input.different<int64_t>(input.between(0, slots), slots, is_spoilt && input.flag());
    int32_t num_members = static_cast<int32_t>(members.size());
    int32_t width = is_spoilt ? input.size(1, 6) : searches.beams;
    int32_t rows = is_spoilt ? input.size(1, 20) : slots * searches.beams;
    int32_t count = is_spoilt ? input.size(1, 8) : input.between(1, 8);
    int64_t places = int64_t{num_members} * width, offered = int64_t{rows} * count;
    auto by_slot = input.different<int64_t>(places, rows, is_spoilt && input.flag());
    if (places > int64_t{kMostNumbers} || offered > int64_t{kMostNumbers}) return;
    auto log_probs = input.floats(offered);
    auto tokens = input.numbers<int64_t>(offered, vocabulary, is_spoilt && input.flag());
    auto needed = input.numbers<int64_t>(offered, searches.length + 1, is_spoilt && input.flag());
    bool has_terms = input.flag();
    if (has_terms) searches.num_terms.assign(slots, 1);
    size_t own_rows = static_cast<size_t>(std::max(rows, 0));
    std::unique_ptr<bool[]> is_failed(new bool[std::max<size_t>(1, std::min(own_rows, kMostNumbers))]());
    std::vector<int64_t> sources(std::min(own_rows, kMostNumbers));
    settle(dragoman_advance(&searches.state, pointer(input, members, is_spoilt), num_members, width,
                            pointer(input, by_slot, is_spoilt), rows, count,
                            pointer(input, log_probs, is_spoilt), pointer(input, tokens, is_spoilt),
                            is_failed.get(), has_terms ? pointer(input, needed, is_spoilt) : nullptr,
                            sources.data()),
           is_spoilt, "dragoman_advance");
    std::vector<int64_t> stable(members.size());
    settle(dragoman_stable_lengths(&searches.state, members.data(), num_members, stable.data()),
           is_spoilt, "dragoman_stable_lengths");
}

void linear(Input &input) {
    bool is_spoilt = input.flag();
    int32_t most = static_cast<int32_t>(usable_kernels().size()) - 1;
    int32_t kernels = is_spoilt ? input.size(0, most) : input.between(0, most);
    int32_t activation = is_spoilt ? input.size(0, 3) : input.between(0, 3);
    int32_t sizes[3];
    for (int32_t &size : sizes) size = is_spoilt ? input.size(1, 70) : input.between(1, 70);
    int64_t products[] = {int64_t{sizes[2]} * sizes[1], int64_t{sizes[0]} * sizes[1],
                          int64_t{sizes[0]} * sizes[2]};
    for (int64_t product : products)
        if (product > int64_t{kMostNumbers}) return;
    auto weight = input.floats(products[0]), bias = input.floats(sizes[2]);
    auto x = input.floats(products[1]);
    std::vector<float> y(std::max<int64_t>(products[2], 1));
    settle(dragoman_linear(kernels, activation, input.flag(), sizes[0], sizes[1], sizes[2],
                           pointer(input, weight, is_spoilt), pointer(input, bias, is_spoilt),
                           pointer(input, x, is_spoilt), y.data()),
           is_spoilt, "dragoman_linear");
}

void nothing(Input &input, Model &model) {
    const char *name = "";
    settle(dragoman_kernels(input.size(0, 8), &name), false, "dragoman_kernels");
    int32_t refused[] = {
        dragoman_kernels(0, nullptr),
        dragoman_pack(nullptr, nullptr, nullptr, nullptr),
        dragoman_new(nullptr, &model.room, &model.network),
        dragoman_encode(nullptr, 0, nullptr, nullptr, nullptr, nullptr),
        dragoman_decode(model.network, nullptr, nullptr, 1, 1),
        dragoman_rank(nullptr, 1, nullptr, nullptr),
        dragoman_logits(nullptr, nullptr),
        dragoman_advance(nullptr, nullptr, 0, 0, nullptr, 0, 0, nullptr, nullptr, nullptr, nullptr,
                         nullptr),
        dragoman_stable_lengths(nullptr, nullptr, 0, nullptr),
    };
    for (int32_t result : refused) require(result == kOutOfBounds, "null was not refused");
    constexpr int32_t kNever[] = {0, -1, 5000, std::numeric_limits<int32_t>::min()};
    require(dragoman_use_threads(model.network, kNever[input.between(0, 3)]) == kOutOfBounds,
            "a number of threads was not refused");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    Input input(data, size);
    if (input.flag()) {
        for (int calls = 0; !input.is_over() && calls < 8; calls++)
            input.flag() ? advance(input) : linear(input);
        return 0;
    }
    Model model(input);
    if (!model.build(input)) return 0;
    for (int calls = 0; !input.is_over() && calls < 16; calls++) {
        switch (input.between(0, 5)) {
            case 0: encode(input, model); break;
            case 1: step(input, model); break;
            case 2: attend(input, model); break;
            case 3: decode(input, model); break;
            case 4: advance(input); break;
            default: nothing(input, model);
        }
        if (model.encoded.empty()) encode(input, model);
    }
    return 0;
}
