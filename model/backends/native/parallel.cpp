#include "parallel.h"

#include <utility>

namespace {

constexpr int kSpinsBeforeSleep = 1000;
constexpr int kSpinsBeforeYield = 1000;

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// In memory that a thread has from its beginning: where it is allocated at first use, glibc ends the
// process if there is none left.
#if defined(__linux__)
#define AT_HAND __attribute__((tls_model("initial-exec")))
#else
#define AT_HAND
#endif

// Of a thread that is working on a loop; else -1.
AT_HAND thread_local int own_place = -1;

AT_HAND thread_local Team *own_team = nullptr;

uint32_t generation_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
uint32_t left_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

void run_alone(int chunks, const std::function<void(int, int)> &body, int place) {
    for (int chunk = 0; chunk < chunks; chunk++) body(chunk, place);
}

}  // namespace

// A loop's chunks are divided into one share a thread, the same for the same number of chunks, so that
// what a chunk reads may still lie in that thread's cache. A thread that is done with its own share
// goes on with the others'. A share is published by its ticket: the loop's generation above, its
// number of chunks left below. Taking a chunk is counting the ticket down, so a thread that comes late
// cannot take one of an older loop.

void Team::use(int threads) {
    if (threads > static_cast<int>(helpers_.size()) + 1) grow(threads);
    threads_ = threads;
}

void Team::run(int chunks, const std::function<void(int, int)> &body) {
    if (chunks <= 1 || threads_ == 1) return run_alone(chunks, body, 0);
    publish(chunks, body);
    work(0);
    for (int spins = 0; unfinished_.load();) {
        relax();
        if (++spins > kSpinsBeforeYield) std::this_thread::yield();
    }
    rethrow_failure();
}

void Team::keep_failure() {
    std::lock_guard<std::mutex> locked(mutex_);
    if (!failure_) failure_ = std::current_exception();
}

// Nobody else works on the loop any more.
void Team::rethrow_failure() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Team::grow(int places) {
    threads_ = 1;
    stop();
    is_stopping_ = false;
    started_ = 0;
    shares_ = std::vector<Share>(places);
    try {
        for (int i = 1; i < places; i++) helpers_.emplace_back([this, i] { help(i); });
        while (started_ < places - 1) std::this_thread::yield();
    } catch (...) {
        stop();
        throw;
    }
}

int Team::share_start(int owner) const {
    return static_cast<int>(static_cast<int64_t>(chunks_) * owner / threads_);
}

void Team::publish(int chunks, const std::function<void(int, int)> &body) {
    body_ = &body;
    chunks_ = chunks;
    unfinished_ = chunks;
    uint64_t generation = generation_of(shares_[0].ticket) + 1;
    for (int i = threads_ - 1; i >= 0; i--) {
        uint32_t left = share_start(i + 1) - share_start(i);
        shares_[i].ticket = generation << 32 | left;
    }
    for (int i = 1; i < threads_; i++) {
        if (!shares_[i].is_asleep) continue;
        std::lock_guard<std::mutex> locked(mutex_);
        shares_[i].wake.notify_one();
    }
}

void Team::work(int place) {
    int done = 0, threads = threads_;
    own_place = place;
    for (int i = 0; i < threads; i++) done += take_from((place + i) % threads, place);
    own_place = -1;
    if (done) unfinished_ -= done;
}

int Team::take_from(int owner, int place) {
    std::atomic<uint64_t> &ticket = shares_[owner].ticket;
    uint64_t seen = ticket;
    int done = 0;
    while (left_of(seen)) {
        if (!ticket.compare_exchange_weak(seen, seen - 1)) continue;
        try {
            (*body_)(share_start(owner + 1) - static_cast<int>(left_of(seen)), place);
        } catch (...) {
            keep_failure();
        }
        done++;
        seen = ticket;
    }
    return done;
}

void Team::help(int place) {
    const std::atomic<uint64_t> &ticket = shares_[place].ticket;
    uint32_t seen = generation_of(ticket);
    prepare_exceptions();
    started_++;
    while (!is_stopping_) {
        for (int spins = 0; generation_of(ticket) == seen && spins < kSpinsBeforeSleep; spins++)
            relax();
        if (generation_of(ticket) == seen) sleep_while(shares_[place], seen);
        seen = generation_of(ticket);
        work(place);
    }
}

void Team::sleep_while(Share &share, uint32_t seen) {
    std::unique_lock<std::mutex> locked(mutex_);
    share.is_asleep = true;
    share.wake.wait(locked, [&] { return generation_of(share.ticket) != seen || is_stopping_; });
    share.is_asleep = false;
}

void Team::stop() {
    is_stopping_ = true;
    {
        std::lock_guard<std::mutex> locked(mutex_);
        for (Share &share : shares_) share.wake.notify_one();
    }
    for (std::thread &helper : helpers_) helper.join();
    helpers_.clear();
}

Working::Working(Team &team) : before_(own_team) { own_team = &team; }

Working::~Working() { own_team = before_; }

int parallel_threads() { return own_team ? own_team->threads() : 1; }

int parallel_place() { return own_place; }

void parallel_for(int chunks, const std::function<void(int, int)> &body) {
    if (own_place >= 0) return run_alone(chunks, body, own_place);
    if (!own_team) return run_alone(chunks, body, 0);
    own_team->run(chunks, body);
}
