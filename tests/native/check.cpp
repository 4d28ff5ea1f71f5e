// Runs the compiled code on random shapes, with every instruction set that this machine has, for a
// sanitizer to watch; and compares it with the same in double precision. See the Makefile beside it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "api.h"

namespace {

using Floats = std::vector<float>;

void require(bool holds, const char *what, const char *where) {
    if (holds) return;
    std::printf("%s: %s\n", where, what);
    std::exit(1);
}

void require_close(double found, double expected, double allowed, const char *what,
                   const char *where) {
    bool is_close = std::isnan(expected) ? std::isnan(found)
                                         : std::abs(found - expected) <= allowed;
    if (is_close) return;
    std::printf("%s: %s is %.9g, expected %.9g\n", where, what, found, expected);
    std::exit(1);
}

class Random {
  public:
    explicit Random(unsigned seed) : engine_(seed) {}
    int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(engine_); }
    int between(int least, int most) { return least + below(most - least + 1); }
    float number(float size = 1) { return std::normal_distribution<float>(0, size)(engine_); }
    Floats numbers(size_t count, float size = 1) {
        Floats found(count);
        for (float &x : found) x = number(size);
        return found;
    }

  private:
    std::mt19937 engine_;
};

// What the callback for weights takes them from.
thread_local Random *weight_source = nullptr;
thread_local std::vector<Floats> weights_held;

const float *next_weight(int32_t rows, int32_t columns) {
    float size = 1.0f / std::sqrt(static_cast<float>(columns));
    weights_held.push_back(weight_source->numbers(size_t(rows) * columns, size));
    if (weights_held.size() > 2) weights_held.erase(weights_held.begin());
    return weights_held.back().data();
}

struct Model {
    Shape shape{};
    Room room{};
    Floats source, target, source_positions, target_positions, biases;
    Tables tables{};
    Lines<char> memory;  // of the packed weights
    unsigned seed = 0;

    Model(Random &random, unsigned seed_) : seed(seed_) {
        int heads = random.between(1, 4);
        int d = heads * random.between(1, 20);
        shape.d_model = d;
        shape.n_heads = heads;
        bool is_narrow = random.below(2);  // beside d_model
        shape.d_ff = random.between(1, is_narrow ? 4 : 100);
        shape.n_encoder_layers = random.between(1, 2);
        shape.n_decoder_layers = random.between(1, 2);
        shape.src_vocab_size = random.between(5, 50);
        shape.tgt_vocab_size = random.between(20, 1300);
        shape.is_pre_norm = random.below(2);
        shape.has_embedding_norm = random.below(2);
        shape.activation = random.below(static_cast<int>(Activation::kNone));
        shape.head_size = random.between(1, is_narrow ? 2 : 20);
        shape.is_attention_scaled = random.below(2);
        shape.is_gated = random.below(2);
        shape.has_rms_norms = random.below(2);
        shape.is_recurrent = random.below(2);
        shape.is_quantised = random.below(2);
        shape.has_shortlist = random.below(2);
        shape.max_positions = 64;
        shape.embedding_scale = random.below(2) ? 1.0f : std::sqrt(float(d));
        room = {random.between(4, 64), random.between(2, 12),
                random.between(1, is_narrow ? 4 : 40), random.between(4, 20), 0};
        room.max_slots = std::min(room.max_slots, room.max_rows);
        room.max_batch_tokens = std::max(room.max_rows, room.max_slots * room.max_source_tokens);
        source = random.numbers(size_t(shape.src_vocab_size) * d);
        target = random.numbers(size_t(shape.tgt_vocab_size) * d);
        tables = {source.data(), nullptr, target.data(), nullptr, nullptr, nullptr};
        if (random.below(2)) {
            source_positions = random.numbers(size_t(room.max_source_tokens) * d);
            target_positions = random.numbers(size_t(room.max_target_tokens) * d);
            tables.source_positions = source_positions.data();
            tables.target_positions = target_positions.data();
        } else {
            biases = random.numbers(size_t(heads) * (2 * shape.max_positions - 1), 0.1f);
            tables.source_biases = tables.target_biases = biases.data();
        }
    }

    int32_t pack(int kernels, Held **packed) {
        Random weights(seed);
        weight_source = &weights;
        weights_held.clear();
        shape.kernels = kernels;
        int64_t bytes = 0;
        if (int32_t failure = dragoman_packed_bytes(&shape, &bytes)) return failure;
        memory.assign(bytes, 0);
        return dragoman_pack(&shape, &tables, next_weight, memory.data(), bytes, packed);
    }

    // What was packed last, once more.
    int32_t share(Held **packed) {
        return dragoman_pack(&shape, &tables, nullptr, memory.data(), memory.size(), packed);
    }
};

void succeed(int32_t result, const char *what) { require(result >= 0, "fails", what); }

constexpr int kStates = 2;  // of the bytes' order
constexpr int kCopied = 3;  // pieces

// What the searches of `slots` slots keep.
struct Searches {
    int slots, beams, length;
    std::vector<SlotIntegers> integers;
    std::vector<SlotNumbers> numbers;
    std::vector<SlotFlags> flags;
    std::vector<int64_t> live_tokens, live_length, finished_tokens, finished_length;
    Floats live_log_probs, live_score, finished_log_probs, finished_score;
    std::vector<int64_t> last, spelling, lengths, status, prefix, spelled, next_state;
    std::unique_ptr<bool[]> is_stuck, is_allowed, is_held;
    SearchState state{};

    Searches(Random &random, int slots_, int beams_, int length_, int vocabulary)
        : slots(slots_), beams(beams_), length(length_), is_stuck(new bool[slots_]()),
          is_allowed(new bool[kStates * kSpellings]), is_held(new bool[size_t(slots_) * kCopied]) {
        size_t all = size_t(slots) * beams, places = all * length;
        live_tokens.resize(places);
        finished_tokens.resize(places);
        live_log_probs.resize(places);
        finished_log_probs.resize(places);
        live_length.resize(all);
        finished_length.resize(all);
        live_score.assign(all, -INFINITY);
        finished_score.assign(all, -INFINITY);
        last.assign(all, 2);
        spelling.assign(all, 0);
        // Each third token is a byte, and some bytes may not follow in one of two states. Three tokens are
        // copied, if the slot holds them.
        for (int token = 0; token < vocabulary; token++)
            spelled.push_back(token % 3 ? kNoByte : token % kNoByte);
        for (int i = 0; i < std::min(kCopied, vocabulary / 4); i++) spelled[4 * i] = kSpellings + i;
        for (int i = 0; i < slots * kCopied; i++) is_held[i] = random.below(2) == 1;
        for (int i = 0; i < kStates * kSpellings; i++) {
            is_allowed[i] = i % kSpellings == kNoByte || random.below(2) == 1;
            next_state.push_back(random.below(kStates));
        }
        lengths.assign(slots, 0);
        status.assign(slots, kRunning);
        prefix.assign(size_t(slots) * length, 0);
        for (int slot = 0; slot < slots; slot++) {
            int64_t beam = random.between(1, beams), limit = random.between(1, length);
            integers.push_back({beam, random.between(1, int(beam)), limit, random.below(5), 0, 0, 0, 0});
            numbers.push_back({0.5f * random.below(4), 1, 1, 1});
            flags.push_back({false, random.below(2) == 1, random.below(2) == 1});
            live_score[slot * beams] = 0;
        }
        state.slots = slots;
        state.max_beam = beams;
        state.max_length = length;
        state.loop_span = 8;
        state.longest_loop = 4;
        state.eos = 3;
        state.integers = integers.data();
        state.numbers = numbers.data();
        state.flags = flags.data();
        state.live = {live_tokens.data(), live_log_probs.data(), live_score.data(), live_length.data()};
        state.finished = {finished_tokens.data(), finished_log_probs.data(), finished_score.data(),
                          finished_length.data()};
        state.last = last.data();
        state.spelling = spelling.data();
        state.prefix = prefix.data();
        state.utf8 = {spelled.data(), is_allowed.get(), next_state.data(), is_held.get(),
                      kStates, vocabulary, kCopied};
        state.length = lengths.data();
        state.status = status.data();
        state.is_stuck = is_stuck.get();
    }
};

// Everything that a network is asked for, one call after the other, until one fails.
class Run {
  public:
    Run(Model &model, unsigned seed) : model_(model), random_(seed) {
        int rows = model.room.max_rows, slots = model.room.max_slots;
        int beams = rows / slots;
        searches_ = std::make_unique<Searches>(random_, slots, beams, model.room.max_target_tokens,
                                               model.shape.tgt_vocab_size);
        for (int slot = 0, row = 0; slot < slots; slot++) {
            where_.push_back(slot);
            lengths_.push_back(random_.between(1, model.room.max_source_tokens));
            for (int i = 0; i < lengths_.back(); i++)
                ids_.push_back(random_.below(model.shape.src_vocab_size));
            for (int k = 0; k < searches_->integers[slot].beam_size; k++) {
                slots_.push_back(slot);
                rows_.push_back(row++);
            }
        }
        memory_.resize(ids_.size() * model.shape.d_model);
        for (size_t i = 0; i < where_.size(); i++) {
            size_t before = listed_.size();
            int sparse = random_.below(50);  // 0: all tokens, without a list
            for (int token = 0; sparse && token < model.shape.tgt_vocab_size; token++)
                if (token < 3 || random_.below(sparse) == 0) listed_.push_back(token);
            listed_lengths_.push_back(int32_t(listed_.size() - before));
        }
    }

    int32_t encode(Network *network) {
        return dragoman_encode(network, int32_t(where_.size()), ids_.data(), lengths_.data(),
                               where_.data(), memory_.data());
    }

    int32_t shorten(Network *network) {
        if (!model_.shape.has_shortlist) return 0;
        return dragoman_shorten(network, int32_t(where_.size()), listed_.data(),
                                listed_lengths_.data(), where_.data());
    }

    // The logits of a step, where tokens that a slot does not list have -inf.
    Floats shortened(const Floats &whole) const {
        if (!model_.shape.has_shortlist) return whole;
        size_t width = model_.shape.tgt_vocab_size;
        Floats found(whole.size(), -INFINITY);
        for (size_t i = 0; i < slots_.size(); i++) {
            auto end = listed_lengths_.begin() + slots_[i];
            const int32_t *tokens =
                &listed_[0] + std::accumulate(listed_lengths_.begin(), end, size_t(0));
            for (int32_t j = 0; j < *end; j++) found[i * width + tokens[j]] = whole[i * width + tokens[j]];
            if (*end == 0) std::copy_n(&whole[i * width], width, &found[i * width]);
        }
        return found;
    }

    // A step of all rows, operation by operation; then another one that goes on from other rows.
    int32_t step(Network *network) {
        size_t rows = rows_.size();
        int32_t count = std::min(4, model_.shape.tgt_vocab_size);
        std::vector<int64_t> tokens(rows, 2), positions(rows), sources;
        std::vector<int32_t> order(rows);
        std::iota(order.begin(), order.end(), 0);
        for (size_t i = 0; i < rows; i++) {
            size_t first = std::find(slots_.begin(), slots_.end(), slots_[i]) - slots_.begin();
            sources.push_back(int64_t(first));
        }
        logits.resize(rows * model_.shape.tgt_vocab_size);
        log_probs.resize(rows * count);
        likeliest.resize(rows * count);
        for (int t = 0; t < 3; t++) {
            positions.assign(rows, t);
            int32_t n = int32_t(rows);
            int32_t result = dragoman_step(network, n, tokens.data(), positions.data(),
                                           rows_.data(), slots_.data(), order.data());
            if (!result) result = dragoman_logits(network, logits.data());
            if (!result) result = dragoman_rank(network, count, log_probs.data(), likeliest.data());
            if (!result) result = dragoman_reorder(network, n, rows_.data(), sources.data(), t + 1);
            if (result < 0) return result;
        }
        return 0;
    }

    // Whole steps until all searches have ended.
    int32_t decode(Network *network) {
        std::vector<int64_t> members(where_.begin(), where_.end());
        std::vector<int64_t> stable(members.size());
        Searches &searches = *searches_;
        for (int length = 1; !members.empty(); length++) {
            std::vector<int32_t> rows;
            for (size_t i = 0; i < rows_.size(); i++)
                if (searches.status[slots_[i]] == kRunning) rows.push_back(rows_[i]);
            StepTable table{int32_t(members.size()), int32_t(rows.size()), members.data(), rows.data()};
            int32_t count = std::min(2 * searches.beams, model_.shape.tgt_vocab_size);
            int32_t result =
                dragoman_decode(network, &searches.state, &table, count, length, nullptr);
            if (result >= 0)
                result = dragoman_stable_lengths(&searches.state, members.data(),
                                                 int32_t(members.size()), stable.data());
            if (result < 0) return result;
            auto has_ended = [&](int64_t slot) { return searches.status[slot] != kRunning; };
            members.erase(std::remove_if(members.begin(), members.end(), has_ended), members.end());
        }
        return 0;
    }

    // The attention of one hypothesis of each sentence, as long as may be, of the first and last head.
    int32_t attend(Network *network) {
        int32_t length = std::min(model_.room.max_target_tokens, model_.room.max_batch_tokens);
        int32_t stride = model_.room.max_source_tokens;
        std::vector<int64_t> tokens, positions;
        std::vector<int32_t> rows, slots, order;
        for (int32_t slot : where_) {
            size_t first = std::find(slots_.begin(), slots_.end(), slot) - slots_.begin();
            if (int32_t(tokens.size()) + length > model_.room.max_batch_tokens) break;
            for (int32_t t = 0; t < length; t++) {
                tokens.push_back((t + slot) % model_.shape.tgt_vocab_size);
                positions.push_back(t);
                rows.push_back(rows_[first]);
                slots.push_back(slot);
                order.push_back(int32_t(order.size()));
            }
        }
        std::vector<int32_t> heads{0, model_.shape.n_decoder_layers * model_.shape.n_heads - 1};
        attention.assign(tokens.size() * stride, 0.0f);
        return dragoman_attention(network, int32_t(tokens.size()), tokens.data(), positions.data(),
                                  rows.data(), slots.data(), order.data(), int32_t(heads.size()),
                                  heads.data(), attention.data(), stride);
    }

    Floats whole, logits, log_probs, attention;
    std::vector<int64_t> likeliest;
    const Searches &searches() const { return *searches_; }

  private:
    Model &model_;
    Random random_;
    std::unique_ptr<Searches> searches_;
    std::vector<int64_t> ids_;
    std::vector<int32_t> lengths_, where_, slots_, rows_, listed_, listed_lengths_;
    Floats memory_;
};

void finish(Model &model, const Held *packed, int threads, Run &run) {
    Network *network = nullptr;
    succeed(dragoman_new(packed, &model.room, &network), "dragoman_new");
    succeed(dragoman_use_threads(network, threads), "dragoman_use_threads");
    succeed(run.encode(network), "dragoman_encode");
    succeed(run.step(network), "a step");
    run.whole = run.logits;
    succeed(run.shorten(network), "dragoman_shorten");
    succeed(run.step(network), "a step");
    succeed(run.decode(network), "dragoman_decode");
    succeed(run.attend(network), "dragoman_attention");
    succeed(dragoman_delete(network), "dragoman_delete");
}

// Layers of whole numbers, which are their own codes, are exact in float32 and int8.
void check_layers(unsigned seed) {
    Random random(seed);
    int rows = random.between(1, 40), inputs = random.between(1, 200);
    int outputs = random.between(1, 100), least = random.below(2) ? 127 : 0;
    auto numbers = [&](int count, float first) {
        Floats found(size_t(count) * inputs);
        for (float &x : found) x = float(random.between(least, 127) * (random.below(2) ? 1 : -1));
        for (int i = 0; i < count; i++) found[size_t(i) * inputs] = first;
        return found;
    };
    Floats x = numbers(rows, 127), weight = numbers(outputs, -127), bias(outputs), y;
    for (size_t kernels = 0; kernels < usable_kernels().size(); kernels++)
        for (bool is_quantised : {false, true}) {
            y.assign(size_t(rows) * outputs, NAN);
            succeed(dragoman_linear(int32_t(kernels), int32_t(Activation::kNone), is_quantised, rows, inputs, outputs,
                                    weight.data(), bias.data(), x.data(), y.data()),
                    "dragoman_linear");
            for (size_t i = 0; i < y.size(); i++) {
                const float *in = &x[i / outputs * inputs], *w = &weight[i % outputs * inputs];
                float exact = std::inner_product(in, in + inputs, w, 0.0f);
                require(y[i] == exact, "a layer of whole numbers errs",
                        usable_kernels()[kernels]->name);
            }
        }
}

// Any number of threads, alone or beside other networks, gives the same numbers, and so do weights
// that were packed before; every instruction set nearly so.
void check_networks(unsigned seed) {
    Random random(seed);
    Model model(random, seed);
    Floats expected;
    int last = static_cast<int>(usable_kernels().size()) - 1;
    for (int kernels = last; kernels >= 0; kernels--) {
        const char *name = usable_kernels()[kernels]->name;
        Held *own = nullptr, *packed = nullptr;
        succeed(model.pack(kernels, &own), "dragoman_pack");
        Run alone(model, seed);
        finish(model, own, 1, alone);
        succeed(dragoman_let_go(own), "dragoman_let_go");
        succeed(model.share(&packed), "dragoman_pack");
        std::vector<Run> runs;
        for (int i = 0; i < 3; i++) runs.emplace_back(model, seed);
        std::vector<std::thread> threads;
        for (int i = 0; i < 3; i++)
            threads.emplace_back([&, i] { finish(model, packed, 1 + i, runs[i]); });
        for (std::thread &thread : threads) thread.join();
        succeed(dragoman_let_go(packed), "dragoman_let_go");
        require(alone.logits == alone.shortened(alone.whole), "a shortlist changes logits", name);
        for (const Run &run : runs) {
            require(run.logits == alone.logits, "threads change the logits", name);
            require(run.attention == alone.attention, "threads change the attention", name);
            require(run.likeliest == alone.likeliest, "threads change the ranking", name);
            require(run.searches().finished_tokens == alone.searches().finished_tokens,
                    "threads change the search", name);
        }
        if (kernels == last) expected = alone.whole;
        for (size_t i = 0; i < expected.size(); i++)
            require_close(alone.whole[i], expected[i], model.shape.is_quantised ? 0.5 : 1e-2,
                          "a logit", name);
    }
}

}  // namespace

int main(int count, char **arguments) {
    unsigned rounds = count > 1 ? std::atoi(arguments[1]) : 20;
    for (const Kernels *kernels : usable_kernels()) std::printf("%s ", kernels->name);
    std::printf("\n");
    for (unsigned seed = 1; seed <= rounds; seed++) {
        check_layers(seed);
        check_networks(seed);
    }
    std::printf("%u rounds of random shapes, all as expected\n", rounds);
}
