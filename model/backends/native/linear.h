// Linear layers: packing, and the whole product with its threads.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "kernels.h"

constexpr size_t kLineBytes = 64;

// Allocates at the beginning of a cache line, so that no vector that is loaded lies in two of them.
template <class T>
struct LineAllocator {
    using value_type = T;
    static constexpr std::align_val_t kLine{kLineBytes};

    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U> &) {}

    T *allocate(size_t count) {
        return static_cast<T *>(::operator new(count * sizeof(T), kLine));
    }
    void deallocate(T *memory, size_t) { ::operator delete(memory, kLine); }

    friend bool operator==(LineAllocator, LineAllocator) { return true; }
    friend bool operator!=(LineAllocator, LineAllocator) { return false; }
};

template <class T>
using Lines = std::vector<T, LineAllocator<T>>;

// Gives out memory in pieces, each at the beginning of a cache line. Without memory it counts what is
// asked for. The same pieces asked for in the same order lie at the same places.
class Arena {
  public:
    explicit Arena(void *memory = nullptr) : memory_(static_cast<char *>(memory)) {}

    template <class T>
    T *take(size_t count) {
        char *piece = memory_ ? memory_ + used_ : nullptr;
        used_ += (count * sizeof(T) + kLineBytes - 1) / kLineBytes * kLineBytes;
        return reinterpret_cast<T *>(piece);
    }

    size_t used() const { return used_; }

  private:
    char *memory_;
    size_t used_ = 0;
};

inline int rounded_up(int n, int step) { return (n + step - 1) / step * step; }

// The kernels that this machine runs, the fastest ones first.
const std::vector<const Kernels *> &usable_kernels();

// A layer whose numbers lie in the arena: zeros, or what was packed there. `is_selectable`: for
// `select_outputs`.
Linear lay_out(Arena &arena, int outputs, int inputs, bool is_quantised, bool is_selectable = false);

// The same in memory of its own, which grows if it must.
Linear lay_out(Lines<char> &memory, int outputs, int inputs, bool is_quantised);

// weight (outputs, inputs) and bias (outputs) -> packed, where all numbers are 0.
void pack(const float *weight, const float *bias, const Linear &linear);

// The part of a layer that has some of its outputs.
Linear select_outputs(const Linear &from, const int32_t *outputs, int count, Lines<char> &memory);

// Where inputs are quantised.
struct Scratch {
    std::vector<uint8_t> codes;
    std::vector<float> scales;
    void make_room(int rows, int bytes);  // bytes a row
};

// x (rows, inputs) as the layer reads it; valid until the scratch is used again.
Inputs prepare(const Kernels &kernels, const Linear &linear, const float *x, int rows,
               Scratch &scratch);

// y =, += or *= activation(x W^T + b); x (rows, inputs), y (rows, outputs).
void apply(const Kernels &kernels, const Linear &linear, const float *x, int rows, Scratch &scratch,
           float *y, Activation activation = Activation::kNone, Into into = Into::kNothing);

// Call body(first, last, thread) for stretches of 0..count-1, on several threads if all `count` are
// worth more than a hand-over; `cost` is the multiplications of one. Within a loop that threads
// share already, on the one that comes to it.
void spread_over_threads(int count, double cost, const std::function<void(int, int, int)> &body);
