// What Python calls, through ctypes. Every function returns a number of at least 0, or a Failure;
// no exception leaves this file.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <system_error>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

#include "bounds.h"
#include "decode.h"
#include "network.h"
#include "parallel.h"
#include "search.h"
#include "weights.h"

namespace {

enum Failure : int32_t { kNoMemory = -1, kNoThread = -2, kOther = -3, kOutOfBounds = -4 };

constexpr int kMostThreads = 1 << 12, kMostHeads = 1 << 18;

// Call body(), which returns the function's result.
template <class Body>
int32_t guarded(const Body &body) {
    prepare_exceptions();
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return kNoMemory;
    } catch (const std::length_error &) {  // more than a vector can ever hold
        return kNoMemory;
    } catch (const std::system_error &) {
        return kNoThread;
    } catch (const OutOfBounds &) {
        return kOutOfBounds;
#if defined(__GLIBCXX__)
    } catch (const abi::__forced_unwind &) {  // the calling thread ends, in a callback to Python
        throw;
#endif
    } catch (...) {
        return kOther;
    }
}

template <class Body>
int32_t done(const Body &body) {
    return guarded([&] {
        body();
        return 0;
    });
}

// A field of a struct that Python mirrors, or a struct as a whole.
struct Field {
    const char *name;
    int64_t offset, size;
};

#define STRUCT(type) {#type, 0, sizeof(type)}
#define FIELD(type, field) {#type "." #field, offsetof(type, field), sizeof(type::field)}

constexpr Field kFields[] = {
    STRUCT(Shape),
    FIELD(Shape, d_model),
    FIELD(Shape, n_heads),
    FIELD(Shape, d_ff),
    FIELD(Shape, n_encoder_layers),
    FIELD(Shape, n_decoder_layers),
    FIELD(Shape, src_vocab_size),
    FIELD(Shape, tgt_vocab_size),
    FIELD(Shape, is_pre_norm),
    FIELD(Shape, has_embedding_norm),
    FIELD(Shape, activation),
    FIELD(Shape, is_quantised),
    FIELD(Shape, max_positions),
    FIELD(Shape, has_half_tables),
    FIELD(Shape, head_size),
    FIELD(Shape, is_attention_scaled),
    FIELD(Shape, is_gated),
    FIELD(Shape, has_rms_norms),
    FIELD(Shape, is_recurrent),
    FIELD(Shape, has_shortlist),
    FIELD(Shape, embedding_scale),
    FIELD(Shape, kernels),
    STRUCT(Tables),
    FIELD(Tables, source),
    FIELD(Tables, source_positions),
    FIELD(Tables, target),
    FIELD(Tables, target_positions),
    FIELD(Tables, source_biases),
    FIELD(Tables, target_biases),
    STRUCT(Room),
    FIELD(Room, max_rows),
    FIELD(Room, max_slots),
    FIELD(Room, max_source_tokens),
    FIELD(Room, max_target_tokens),
    FIELD(Room, max_batch_tokens),
    STRUCT(StepTable),
    FIELD(StepTable, slots),
    FIELD(StepTable, rows),
    FIELD(StepTable, members),
    FIELD(StepTable, row),
    STRUCT(DecodeRecord),
    FIELD(DecodeRecord, log_probs),
    FIELD(DecodeRecord, tokens),
    FIELD(DecodeRecord, sources),
    STRUCT(Hypotheses),
    FIELD(Hypotheses, tokens),
    FIELD(Hypotheses, log_probs),
    FIELD(Hypotheses, score),
    FIELD(Hypotheses, length),
    STRUCT(SearchState),
    FIELD(SearchState, slots),
    FIELD(SearchState, max_beam),
    FIELD(SearchState, max_length),
    FIELD(SearchState, loop_span),
    FIELD(SearchState, longest_loop),
    FIELD(SearchState, eos),
    FIELD(SearchState, integers),
    FIELD(SearchState, numbers),
    FIELD(SearchState, flags),
    FIELD(SearchState, live),
    FIELD(SearchState, finished),
    FIELD(SearchState, last),
    FIELD(SearchState, spelling),
    FIELD(SearchState, length),
    FIELD(SearchState, status),
    FIELD(SearchState, is_stuck),
    FIELD(SearchState, prefix),
    FIELD(SearchState, utf8),
    STRUCT(Utf8),
    FIELD(Utf8, spelled),
    FIELD(Utf8, is_allowed),
    FIELD(Utf8, next_state),
    FIELD(Utf8, is_held),
    FIELD(Utf8, states),
    FIELD(Utf8, tokens),
    FIELD(Utf8, copied),
    STRUCT(SlotIntegers),
    FIELD(SlotIntegers, beam_size),
    FIELD(SlotIntegers, n_best),
    FIELD(SlotIntegers, limit),
    FIELD(SlotIntegers, lookahead),
    FIELD(SlotIntegers, top_k),
    FIELD(SlotIntegers, seed),
    FIELD(SlotIntegers, ngram_size),
    FIELD(SlotIntegers, prefix_length),
    STRUCT(SlotNumbers),
    FIELD(SlotNumbers, length_penalty),
    FIELD(SlotNumbers, temperature),
    FIELD(SlotNumbers, top_p),
    FIELD(SlotNumbers, repetition_penalty),
    STRUCT(SlotFlags),
    FIELD(SlotFlags, is_sampling),
    FIELD(SlotFlags, is_wu),
    FIELD(SlotFlags, is_cut),
    {nullptr, 0, 0},
};

}  // namespace

extern "C" {

// All that Python mirrors, ended by a null name.
const Field *dragoman_fields() { return kFields; }

// The name of the kernels of this index; null if there are no more.
int32_t dragoman_kernels(int32_t index, const char **name) {
    return done([&] {
        require(name);
        const auto &usable = usable_kernels();
        *name = static_cast<size_t>(index) < usable.size() ? usable[index]->name : nullptr;
    });
}

// Weights are held by whoever packed them and by every network that computes with them.
using Held = std::shared_ptr<const Weights>;

// Finite float16 numbers as float32.
int32_t dragoman_widen(int64_t count, const uint16_t *halves, float *numbers) {
    return done([&] {
        require(count == 0 || (halves && numbers));
        for (int64_t i = 0; i < count; i++) numbers[i] = widened(halves[i]);
    });
}

// The bytes of memory that `dragoman_pack` needs.
int32_t dragoman_packed_bytes(const Shape *shape, int64_t *bytes) {
    return done([&] {
        require(shape && bytes);
        require_shape(*shape);
        *bytes = static_cast<int64_t>(packed_bytes(*shape));
    });
}

// The weights lie in so many bytes of memory, which begins with a cache line and must remain. It has
// zeros before, or with `next` null what was packed there.
int32_t dragoman_pack(const Shape *shape, const Tables *tables, NextWeight next, void *memory,
                      int64_t bytes, Held **packed) {
    return done([&] {
        require(shape && tables && memory && packed);
        require_shape(*shape);
        require(tables->source && tables->target);
        require(reinterpret_cast<uintptr_t>(memory) % kLineBytes == 0);
        require(bytes >= static_cast<int64_t>(packed_bytes(*shape)));
        Arena arena(memory);
        *packed = new Held(std::make_shared<const Weights>(*shape, *tables, arena, next));
    });
}

int32_t dragoman_let_go(Held *weights) {
    return done([&] { delete weights; });
}

int32_t dragoman_new(const Held *weights, const Room *room, Network **network) {
    return done([&] {
        require(weights && *weights && room && network);
        const Weights &held = **weights;
        require_room(held.shape, held.source, held.target, *room);
        *network = new Network(*weights, *room);
    });
}

int32_t dragoman_delete(Network *network) {
    return done([&] { delete network; });
}

int32_t dragoman_use_threads(Network *network, int32_t threads) {
    return done([&] {
        require(network && threads >= 1 && threads <= kMostThreads);
        network->use_threads(threads);
    });
}

int32_t dragoman_encode(Network *network, int32_t sentences, const int64_t *ids,
                        const int32_t *lengths, const int32_t *slots, float *memory) {
    return done([&] {
        require(network);
        network->bounds().require_sources(sentences, ids, lengths, slots);
        network->encode(sentences, ids, lengths, slots, memory);
    });
}

int32_t dragoman_shorten(Network *network, int32_t sentences, const int32_t *tokens,
                         const int32_t *lengths, const int32_t *slots) {
    return done([&] {
        require(network);
        network->bounds().require_shortlists(sentences, tokens, lengths, slots);
        network->shorten(sentences, tokens, lengths, slots);
    });
}

int32_t dragoman_step(Network *network, int32_t rows, const int64_t *tokens,
                      const int64_t *positions, const int32_t *row, const int32_t *slot,
                      const int32_t *order) {
    return done([&] {
        require(network);
        Frontier frontier{tokens, positions, row, slot, order};
        network->bounds().require_step(rows, frontier);
        network->step(rows, frontier);
    });
}

// The mean of `heads`' attention to the memory (rows, stride), zeroed before, of whole hypotheses.
int32_t dragoman_attention(Network *network, int32_t rows, const int64_t *tokens,
                           const int64_t *positions, const int32_t *row, const int32_t *slot,
                           const int32_t *order, int32_t num_heads, const int32_t *heads,
                           float *values, int32_t stride) {
    return done([&] {
        require(network && heads && num_heads >= 1 && num_heads <= kMostHeads && stride >= 1);
        AttentionRecord record{{heads, heads + num_heads}, values, static_cast<size_t>(stride)};
        Frontier frontier{tokens, positions, row, slot, order};
        network->bounds().require_record(rows, frontier, record);
        network->attention(rows, frontier, record);
    });
}

// How many of the searches have ended.
int32_t dragoman_decode(Network *network, const SearchState *state, const StepTable *table,
                        int32_t count, int32_t length, const DecodeRecord *record) {
    return guarded([&] {
        require(network && state && table);
        network->bounds().require_decode(*state, *table, count, length);
        return decode(*network, *state, *table, count, length, record);
    });
}

int32_t dragoman_logits(Network *network, float *logits) {
    return done([&] {
        require(network && (logits || !network->stepped_rows()));
        network->logits(logits);
    });
}

int32_t dragoman_rank(Network *network, int32_t count, float *log_probs, int64_t *tokens) {
    return done([&] {
        require(network && ((log_probs && tokens) || !network->stepped_rows()));
        network->bounds().require_rank(count);
        network->rank(count, log_probs, tokens);
    });
}

int32_t dragoman_reorder(Network *network, int32_t rows, const int32_t *row, const int64_t *sources,
                         int32_t length) {
    return done([&] {
        require(network);
        network->bounds().require_reorder(rows, row, sources, length);
        network->reorder(rows, row, sources, length);
    });
}

int32_t dragoman_stable_lengths(const SearchState *state, const int64_t *members, int32_t slots,
                                int64_t *lengths) {
    return done([&] {
        require(state && (lengths || slots == 0));
        require_searches(*state, members, slots);
        stable_lengths(*state, members, slots, lengths);
    });
}

// One linear layer by itself, so that the arithmetic of all kernels can be tested: y (rows, outputs)
// of x (rows, inputs), weight (outputs, inputs) and bias (outputs).
int32_t dragoman_linear(int32_t kernels, int32_t activation, int32_t is_quantised, int32_t rows,
                        int32_t inputs, int32_t outputs, const float *weight, const float *bias,
                        const float *x, float *y) {
    return done([&] {
        require(weight && bias && x && y);
        require_linear(kernels, activation, rows, inputs, outputs);
        Lines<char> memory;
        Linear linear = lay_out(memory, outputs, inputs, is_quantised);
        pack(weight, bias, linear);
        Scratch scratch;
        apply(*usable_kernels()[kernels], linear, x, rows, scratch, y,
              static_cast<Activation>(activation));
    });
}

// The fewest nanoseconds that one thread takes for a linear layer of `rows`, of several times.
int32_t dragoman_time_linear(int32_t kernels, int32_t is_quantised, int32_t rows, int32_t inputs,
                             int32_t outputs) {
    return guarded([&] {
        require_linear(kernels, 0, rows, inputs, outputs);
        constexpr int kTimes = 20;
        std::vector<float> weight(static_cast<size_t>(inputs) * outputs, 0.5f), bias(outputs);
        std::vector<float> x(static_cast<size_t>(rows) * inputs, 0.5f);
        std::vector<float> y(static_cast<size_t>(rows) * outputs);
        Lines<char> memory;
        Linear linear = lay_out(memory, outputs, inputs, is_quantised);
        pack(weight.data(), bias.data(), linear);
        Scratch scratch;
        std::chrono::nanoseconds fewest = std::chrono::seconds(1);
        for (int i = 0; i < kTimes; i++) {
            auto started = std::chrono::steady_clock::now();
            apply(*usable_kernels()[kernels], linear, x.data(), rows, scratch, y.data());
            fewest = std::min<std::chrono::nanoseconds>(
                fewest, std::chrono::steady_clock::now() - started);
        }
        return static_cast<int32_t>(fewest.count());
    });
}
}
