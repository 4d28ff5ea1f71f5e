// The search's part of a step on a GPU: rank the next tokens of every row, advance the hypotheses
// of every slot, and give each hypothesis the keys and values of the one that it goes on from.
// PyTorch needs some 150 launches for it, and a launch takes longer than the work.
//
// The rules are those of model.backends.pytorch.search, and so are the names. WIDTH is the widest
// beam, a power of two; LOOP_SPAN and LONGEST_LOOP are those of model.decoding.search_rules. Any
// number of threads gives the same result: the tests build this file with a C++ compiler, and run
// the threads of a block as threads of the CPU.

typedef long long i64;
typedef unsigned char u8;

constexpr int kCount = 2 * WIDTH;  // candidates of a row
constexpr int kMostThreads = WIDTH > 8 ? 128 : 256;  // of a block that ranks
constexpr float kNever = __builtin_bit_cast(float, 0xff800000u);  // -inf
constexpr i64 kRunning = 0, kDone = 1, kFailed = 2;  // model.decoding.search_rules.Status

// One tensor of the state: where slot 0 begins, and the bytes between slots and between hypotheses.
struct Column {
    char *start;
    i64 slot, beam;
};

template <typename T>
__device__ T *at(const Column &column, i64 slot, i64 beam = 0) {
    return reinterpret_cast<T *>(column.start + slot * column.slot + beam * column.beam);
}

// The fields that model.backends.pytorch.kernels writes, each of eight bytes.
struct State {
    Column beam_size, n_best, limit, lookahead, prefix_length, length_penalty, is_wu, is_cut;
    Column live_tokens, live_log_probs, live_score;
    Column finished_tokens, finished_log_probs, finished_score, finished_length;
    Column last, spelling, length, status, is_stuck, is_held;
    const i64 *codes, *next_state;  // of Utf8Tensors; null if nothing is forbidden
    const u8 *is_forbidden;
    const i64 *copied;  // (vocabulary): the place of a copied piece in is_held, or -1
    i64 num_codes, vocabulary, eos;
};

// ---- rank ----

// The best candidates so far, best first; of equals the lower token.
struct Best {
    float value[kCount];
    int token[kCount];

    __device__ void clear() {
#pragma unroll
        for (int i = 0; i < kCount; i++) value[i] = kNever, token[i] = 0;
    }

    // Whether a value may be among them.
    __device__ bool takes(float new_value) const {
        return new_value > kNever && new_value >= value[kCount - 1];
    }

    __device__ void add(float new_value, int new_token) {
#pragma unroll
        for (int i = kCount - 1; i >= 0; i--) {
            bool is_before = is_better(new_value, new_token, value[i], token[i]);
            bool is_after = i == 0 || !is_better(new_value, new_token, value[i - 1], token[i - 1]);
            if (!is_before) continue;
            value[i] = is_after ? new_value : value[i - 1];
            token[i] = is_after ? new_token : token[i - 1];
        }
    }

    static __device__ bool is_better(float value, int token, float other, int other_token) {
        return value > other || (value == other && token < other_token);
    }
};

// The logarithm of a sum of exponentials, as far as it was read: most + log(sum).
struct LogSum {
    float most, sum;

    __device__ void clear() { most = kNever, sum = 0; }

    __device__ void add(float x) {
        if (x > most) {
            sum = sum * expf(most - x) + 1;
            most = x;
        } else if (x != kNever) {
            sum += expf(x - most);
        }
    }

    __device__ void join(const LogSum &other) {
        if (other.most == kNever && other.sum == 0) return;
        float larger = most > other.most ? most : other.most;
        float own = most == kNever ? 0 : sum * expf(most - larger);
        sum = own + other.sum * expf(other.most - larger);
        most = larger;
    }
};

// Join what the threads of a block read; thread 0 gets the sum.
__device__ void join_sums(LogSum &sum) {
    __shared__ LogSum sums[kMostThreads];
    sums[threadIdx.x] = sum;
    for (unsigned size = blockDim.x; size > 1;) {
        unsigned half = (size + 1) / 2, other = threadIdx.x + half;
        __syncthreads();
        if (other < size) sums[threadIdx.x].join(sums[other]);
        size = half;
    }
    sum = sums[threadIdx.x];
}

// Join what the threads of a block found; thread 0 gets the best.
__device__ void join_best(Best &best) {
    __shared__ float value[kCount][kMostThreads];
    __shared__ int token[kCount][kMostThreads];
    unsigned thread = threadIdx.x;
    for (unsigned size = blockDim.x; size > 1;) {
        for (int i = 0; i < kCount; i++)
            value[i][thread] = best.value[i], token[i][thread] = best.token[i];
        unsigned half = (size + 1) / 2, other = thread + half;
        __syncthreads();
        for (int i = 0; other < size && i < kCount && best.takes(value[i][other]); i++)
            best.add(value[i][other], token[i][other]);
        __syncthreads();
        size = half;
    }
}

// Whether a row's search may generate a token now.
__device__ bool may_follow(const State &state, i64 slot, i64 spelling, i64 token) {
    if (state.is_forbidden[spelling * state.vocabulary + token]) return false;
    i64 piece = state.copied[token];
    return piece < 0 || *at<u8>(state.is_held, slot, piece);
}

// What a row offers: log_probs and tokens (rows, kCount), best first, and is_failed (rows): whether
// its scores are not finite. Thread 0 writes it.
__device__ void write_row(const Best &best, const LogSum &sum, i64 row, float *log_probs,
                          i64 *tokens, u8 *is_failed) {
    float normaliser = sum.most + logf(sum.sum);
    is_failed[row] = !(normaliser - normaliser == 0);
#pragma unroll
    for (int i = 0; i < kCount; i++) {
        log_probs[row * kCount + i] = best.value[i] - normaliser;
        tokens[row * kCount + i] = best.token[i];
    }
}

// Rank each row of logits (rows, stride) in so many parts. A single part is written as `write_row`
// does; several go to part_values and part_tokens (rows, parts, kCount) and sums (rows, parts, 2),
// for `join_parts`.
extern "C" __global__ void __launch_bounds__(kMostThreads)
rank(const State *state_of, const float *logits, i64 stride, i64 parts, const i64 *slots,
     const i64 *beams, float *part_values, int *part_tokens, float *sums, float *log_probs,
     i64 *tokens, u8 *is_failed) {
    const State &state = *state_of;
    i64 row = blockIdx.x, slot = slots[row], place = row * parts + blockIdx.y;
    int size = (state.vocabulary + parts - 1) / parts, first = blockIdx.y * size;
    int end = first + size < state.vocabulary ? first + size : state.vocabulary;
    const float *own = logits + row * stride;
    bool is_forced = *at<i64>(state.length, slot) < *at<i64>(state.prefix_length, slot);
    bool is_free = !state.is_forbidden || is_forced;
    i64 spelling = is_free ? 0 : *at<i64>(state.spelling, slot, beams[row]);
    Best best;
    LogSum sum;
    best.clear(), sum.clear();
#pragma unroll 4
    for (int token = first + threadIdx.x; token < end; token += blockDim.x) {
        float x = own[token];
        sum.add(x);
        if (best.takes(x) && (is_free || may_follow(state, slot, spelling, token)))
            best.add(x, token);
    }
    join_sums(sum);
    join_best(best);
    if (threadIdx.x) return;
    if (parts == 1) return write_row(best, sum, row, log_probs, tokens, is_failed);
#pragma unroll
    for (int i = 0; i < kCount; i++) {
        part_values[place * kCount + i] = best.value[i];
        part_tokens[place * kCount + i] = best.token[i];
    }
    sums[2 * place] = sum.most, sums[2 * place + 1] = sum.sum;
}

// Join the parts of each row that `rank` wrote.
extern "C" __global__ void __launch_bounds__(kMostThreads)
join_parts(i64 parts, const float *part_values, const int *part_tokens, const float *sums,
           float *log_probs, i64 *tokens, u8 *is_failed) {
    i64 row = blockIdx.x;
    Best best;
    LogSum sum;
    best.clear(), sum.clear();
    for (i64 i = threadIdx.x; i < parts * kCount; i += blockDim.x) {
        i64 place = row * parts * kCount + i;
        if (best.takes(part_values[place])) best.add(part_values[place], part_tokens[place]);
    }
    for (i64 part = threadIdx.x; part < parts; part += blockDim.x) {
        i64 place = 2 * (row * parts + part);
        LogSum theirs{sums[place], sums[place + 1]};
        sum.join(theirs);
    }
    join_sums(sum);
    join_best(best);
    if (threadIdx.x == 0) write_row(best, sum, row, log_probs, tokens, is_failed);
}

// ---- advance ----

struct Candidate {
    float total, log_prob;
    i64 token;
    int parent;  // -1: there is none
};

// What one step makes of a slot; its threads share it.
struct Decision {
    Candidate best[kCount];
    int num_live, num_finished;
    int survivor[WIDTH];        // candidates that go on, best first
    int origin[WIDTH];          // of finished hypotheses: an old one, or WIDTH + a candidate
    float score[WIDTH];         // of finished hypotheses
    i64 finished_length[WIDTH];
};

__device__ float penalty(const State &state, i64 slot, i64 length) {
    float whole = static_cast<float>(length);
    float base = *at<u8>(state.is_wu, slot) ? (5.0f + whole) / 6.0f : whole;
    return powf(base, *at<float>(state.length_penalty, slot));
}

// The best extensions, twice the beam: each hypothesis can offer the end of the sentence once.
__device__ void collect(const State &state, i64 slot, int beam, const i64 *rows, int offered,
                        const float *log_probs, const i64 *tokens, Decision &decision) {
    __shared__ float total[WIDTH * kCount];
    int count = beam * offered;
    for (int i = threadIdx.x; i < count; i += blockDim.x)
        total[i] = *at<float>(state.live_score, slot, i / offered) +
                   log_probs[rows[i / offered] * offered + i % offered];
    for (int i = threadIdx.x; i < kCount; i += blockDim.x) decision.best[i].parent = -1;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        if (!(total[i] > kNever)) continue;
        int rank = 0;
        for (int other = 0; other < count; other++)
            rank += total[other] > total[i] || (total[other] == total[i] && other < i);
        i64 place = rows[i / offered] * offered + i % offered;
        if (rank < 2 * beam)
            decision.best[rank] = {total[i], log_probs[place], tokens[place], i / offered};
    }
    __syncthreads();
}

// Rank a candidate that ends among the finished hypotheses.
__device__ void finish(Decision &decision, int candidate, float score, i64 length) {
    int place = decision.num_finished;
    while (place > 0 && decision.score[place - 1] < score) place--;
    if (place == decision.num_finished) return;
    for (int k = decision.num_finished - 1; k > place; k--) {
        decision.score[k] = decision.score[k - 1];
        decision.origin[k] = decision.origin[k - 1];
        decision.finished_length[k] = decision.finished_length[k - 1];
    }
    decision.score[place] = score;
    decision.origin[place] = WIDTH + candidate;
    decision.finished_length[place] = length;
}

// Decide, in one thread, which hypotheses end, which go on, and whether the search is over.
__device__ void decide(const State &state, i64 slot, int beam, int width, i64 length,
                       Decision &decision) {
    i64 limit = *at<i64>(state.limit, slot), n_best = *at<i64>(state.n_best, slot);
    decision.num_finished = static_cast<int>(n_best < width ? n_best : width);
    for (int k = 0; k < decision.num_finished; k++) {
        decision.score[k] = *at<float>(state.finished_score, slot, k);
        decision.finished_length[k] = *at<i64>(state.finished_length, slot, k);
        decision.origin[k] = k;
    }
    int found = 0;
    while (found < 2 * beam && decision.best[found].parent >= 0) found++;
    int in_beam = found < beam ? found : beam;
    bool any = decision.num_finished && decision.score[0] > kNever;
    for (int i = 0; i < in_beam; i++) any |= decision.best[i].token == state.eos;
    bool is_over = length >= limit || *at<u8>(state.is_stuck, slot);
    bool is_cut = is_over && (!any || *at<u8>(state.is_cut, slot));
    float divisor = penalty(state, slot, length);
    for (int i = 0; i < in_beam; i++)
        if (is_cut || decision.best[i].token == state.eos)
            finish(decision, i, decision.best[i].total / divisor, length);
    decision.num_live = 0;
    for (int i = 0; i < found && decision.num_live < beam; i++)
        if (decision.best[i].token != state.eos) decision.survivor[decision.num_live++] = i;

    bool has_ended = decision.num_finished && decision.score[0] > kNever;
    float worst = decision.num_finished ? decision.score[decision.num_finished - 1] : kNever;
    float live = decision.num_live ? decision.best[decision.survivor[0]].total : kNever;
    i64 needed = length + *at<i64>(state.lookahead, slot);
    float bound = live / penalty(state, slot, needed < limit ? needed : limit);
    bool is_done = worst >= bound || (beam == 1 && has_ended) || is_over;
    *at<i64>(state.status, slot) = is_done ? kDone : kRunning;
    *at<i64>(state.length, slot) = length;
}

// Each finished hypothesis takes over the history of its origin, and each live one that of its
// parent. A thread moves its own positions of all of them, so that none is overwritten unread.
__device__ void move_histories(const State &state, i64 slot, i64 length, const Decision &decision) {
    bool is_finished_moved = false, is_live_moved = false;
    for (int k = 0; k < decision.num_finished; k++) is_finished_moved |= decision.origin[k] != k;
    for (int k = 0; k < decision.num_live; k++)
        is_live_moved |= decision.best[decision.survivor[k]].parent != k;
    for (i64 place = threadIdx.x; place < length - 1; place += blockDim.x) {
        i64 token[WIDTH];
        float log_prob[WIDTH];
        if (is_finished_moved) {
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                if (k >= decision.num_finished) continue;
                int origin = decision.origin[k];
                bool is_old = origin < WIDTH;
                int from = is_old ? origin : decision.best[origin - WIDTH].parent;
                const Column &tokens = is_old ? state.finished_tokens : state.live_tokens;
                const Column &scores = is_old ? state.finished_log_probs : state.live_log_probs;
                token[k] = at<i64>(tokens, slot, from)[place];
                log_prob[k] = at<float>(scores, slot, from)[place];
            }
#pragma unroll
            for (int k = 0; k < WIDTH; k++) {
                if (k >= decision.num_finished || decision.origin[k] == k) continue;
                at<i64>(state.finished_tokens, slot, k)[place] = token[k];
                at<float>(state.finished_log_probs, slot, k)[place] = log_prob[k];
            }
        }
        if (!is_live_moved) continue;
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            if (k >= decision.num_live) continue;
            int from = decision.best[decision.survivor[k]].parent;
            token[k] = at<i64>(state.live_tokens, slot, from)[place];
            log_prob[k] = at<float>(state.live_log_probs, slot, from)[place];
        }
#pragma unroll
        for (int k = 0; k < WIDTH; k++) {
            if (k >= decision.num_live) continue;
            at<i64>(state.live_tokens, slot, k)[place] = token[k];
            at<float>(state.live_log_probs, slot, k)[place] = log_prob[k];
        }
    }
}

// Write each hypothesis' own token, score and length. A thread writes a hypothesis.
__device__ void write_tokens(const State &state, i64 slot, int beam, i64 length,
                             const Decision &decision, int *parents) {
    for (int k = threadIdx.x; k < decision.num_finished; k += blockDim.x) {
        *at<float>(state.finished_score, slot, k) = decision.score[k];
        *at<i64>(state.finished_length, slot, k) = decision.finished_length[k];
        if (decision.origin[k] < WIDTH) continue;
        const Candidate &own = decision.best[decision.origin[k] - WIDTH];
        at<i64>(state.finished_tokens, slot, k)[length - 1] = own.token;
        at<float>(state.finished_log_probs, slot, k)[length - 1] = own.log_prob;
    }
    for (int k = threadIdx.x; k < beam; k += blockDim.x) {
        bool is_live = k < decision.num_live;
        *at<float>(state.live_score, slot, k) =
            is_live ? decision.best[decision.survivor[k]].total : kNever;
        if (!is_live) continue;
        const Candidate &own = decision.best[decision.survivor[k]];
        at<i64>(state.live_tokens, slot, k)[length - 1] = own.token;
        at<float>(state.live_log_probs, slot, k)[length - 1] = own.log_prob;
        *at<i64>(state.last, slot, k) = own.token;
        parents[slot * WIDTH + k] = own.parent;
    }
}

// What each survivor's parent had begun to spell goes on with its own token.
__device__ void spell(const State &state, i64 slot, const Decision &decision) {
    if (!state.codes) return;
    __shared__ i64 before[WIDTH];
    for (int k = threadIdx.x; k < WIDTH; k += blockDim.x)
        before[k] = *at<i64>(state.spelling, slot, k);
    __syncthreads();
    for (int k = threadIdx.x; k < decision.num_live; k += blockDim.x) {
        const Candidate &own = decision.best[decision.survivor[k]];
        i64 place = before[own.parent] * state.num_codes + state.codes[own.token];
        *at<i64>(state.spelling, slot, k) = state.next_state[place];
    }
}

// Whether the best live hypothesis ends in nothing but repetitions; a prefix that was asked for
// does not count. A thread tries a period.
__device__ void notice_loop(const State &state, i64 slot, i64 length) {
    __shared__ bool is_repeated[LONGEST_LOOP];
    bool is_long = length >= *at<i64>(state.prefix_length, slot) + LOOP_SPAN;
    const i64 *tail = at<i64>(state.live_tokens, slot) + length - LOOP_SPAN;
    for (int period = threadIdx.x + 1; period <= LONGEST_LOOP; period += blockDim.x) {
        int place = period;
        while (is_long && place < LOOP_SPAN && tail[place] == tail[place - period]) place++;
        is_repeated[period - 1] = place == LOOP_SPAN;
    }
    __syncthreads();
    if (threadIdx.x) return;
    bool is_stuck = false;
    for (bool one : is_repeated) is_stuck |= one;
    *at<u8>(state.is_stuck, slot) = is_stuck;
}

// Extend the live hypotheses of each slot by one token. by_slot (slots, width): the rows of each
// slot; log_probs and tokens (rows, offered), is_failed (rows): what each row offers, at most
// kCount tokens; parents (slots, WIDTH): the hypothesis that each one goes on from.
extern "C" __global__ void advance(const State *state_of, const i64 *by_slot, i64 width,
                                   i64 offered, const float *log_probs, const i64 *tokens,
                                   const u8 *is_failed, int *parents) {
    __shared__ Decision decision;
    const State &state = *state_of;
    i64 slot = blockIdx.x, beam_size = *at<i64>(state.beam_size, slot);
    const i64 *rows = by_slot + slot * width;
    int beam = static_cast<int>(beam_size < width ? beam_size : width);
    bool is_broken = false;
    for (int k = 0; k < beam; k++) is_broken |= is_failed[rows[k]];
    bool is_running = *at<i64>(state.status, slot) == kRunning;
    i64 length = *at<i64>(state.length, slot) + 1;
    for (int k = threadIdx.x; k < WIDTH; k += blockDim.x) parents[slot * WIDTH + k] = k;
    __syncthreads();  // all threads have read the status
    if (is_running && is_broken && threadIdx.x == 0) *at<i64>(state.status, slot) = kFailed;
    if (!is_running || is_broken) return;
    collect(state, slot, beam, rows, static_cast<int>(offered), log_probs, tokens, decision);
    if (threadIdx.x == 0) decide(state, slot, beam, static_cast<int>(width), length, decision);
    __syncthreads();
    move_histories(state, slot, length, decision);
    __syncthreads();
    write_tokens(state, slot, beam, length, decision, parents);
    spell(state, slot, decision);
    __syncthreads();
    notice_loop(state, slot, length);
}

// ---- reorder ----

struct alignas(16) Unit {
    unsigned int part[4];
};

// Each row takes over the history of the row of its parent. cache: (planes, rows, heads, positions,
// head size) in bytes, with one position if it holds states; parents as of `advance`. A thread moves
// the same bytes of all rows of a slot, so that none is overwritten unread.
extern "C" __global__ void reorder(const State *state_of, const int *parents, const i64 *by_slot,
                                   i64 width, char *cache, i64 plane_bytes, i64 row_bytes,
                                   i64 head_bytes, i64 position_bytes) {
    const State &state = *state_of;
    i64 slot = blockIdx.x, beam_size = *at<i64>(state.beam_size, slot);
    int beam = static_cast<int>(beam_size < width ? beam_size : width);
    char *plane = cache + blockIdx.y * plane_bytes;
    i64 own[WIDTH], from[WIDTH];
    bool is_moved = false;
#pragma unroll
    for (int k = 0; k < WIDTH; k++) {
        own[k] = from[k] = 0;
        if (k >= beam) continue;
        own[k] = by_slot[slot * width + k] * row_bytes;
        from[k] = by_slot[slot * width + parents[slot * WIDTH + k]] * row_bytes;
        is_moved |= own[k] != from[k];
    }
    if (!is_moved) return;
    i64 most = head_bytes / position_bytes, length = *at<i64>(state.length, slot);
    unsigned size = (length < most ? length : most) * position_bytes / sizeof(Unit);
    unsigned units = row_bytes / head_bytes * size;
    for (unsigned i = threadIdx.x; i < units; i += blockDim.x) {
        char *place = plane + i / size * head_bytes + static_cast<i64>(i % size) * sizeof(Unit);
        Unit unit[WIDTH];
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            if (own[k] != from[k]) unit[k] = *reinterpret_cast<Unit *>(place + from[k]);
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            if (own[k] != from[k]) *reinterpret_cast<Unit *>(place + own[k]) = unit[k];
    }
}
