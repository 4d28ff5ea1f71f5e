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

AT_HAND thread_local ThreadPool *own_team = nullptr;

uint32_t generation_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
uint32_t left_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

void run_alone(int chunks, const std::function<void(int, int)> &body, int place) {
    for (int chunk = 0; chunk < chunks; chunk++) body(chunk, place);
}

}  // namespace

// A loop's chunks are divided into one queue a thread, the same for the same number of chunks, so that
// what a chunk reads may still lie in that thread's cache. A thread that is done with its own queue
// goes on with the others'. A queue is published by its ticket: the loop's generation above, its
// number of chunks left below. Taking a chunk is counting the ticket down, so a thread that comes late
// cannot take one of an older loop.

void ThreadPool::use(int threads) {
    if (threads > static_cast<int>(helpers_.size()) + 1) grow(threads);
    threads_ = threads;
}

void ThreadPool::run(int chunks, const std::function<void(int, int)> &body) {
    if (chunks <= 1 || threads_ == 1) return run_alone(chunks, body, 0);
    publish(chunks, body);
    work(0);
    for (int spins = 0; unfinished_.load();) {
        relax();
        if (++spins > kSpinsBeforeYield) std::this_thread::yield();
    }
    rethrow_failure();
}

void ThreadPool::keep_failure() {
    std::lock_guard<std::mutex> locked(mutex_);
    if (!failure_) failure_ = std::current_exception();
}

// Nobody else works on the loop any more.
void ThreadPool::rethrow_failure() {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::grow(int places) {
    threads_ = 1;
    stop();
    is_stopping_ = false;
    started_ = 0;
    queues_ = std::vector<WorkQueue>(places);
    try {
        for (int i = 1; i < places; i++) helpers_.emplace_back([this, i] { help(i); });
        while (started_ < places - 1) std::this_thread::yield();
    } catch (...) {
        stop();
        throw;
    }
}

int ThreadPool::queue_start(int owner) const {
    return static_cast<int>(static_cast<int64_t>(chunks_) * owner / threads_);
}

void ThreadPool::publish(int chunks, const std::function<void(int, int)> &body) {
    body_ = &body;
    chunks_ = chunks;
    unfinished_ = chunks;
    uint64_t generation = generation_of(queues_[0].ticket) + 1;
    for (int i = threads_ - 1; i >= 0; i--) {
        uint32_t left = queue_start(i + 1) - queue_start(i);
        queues_[i].ticket = generation << 32 | left;
    }
    for (int i = 1; i < threads_; i++) {
        if (!queues_[i].is_asleep) continue;
        std::lock_guard<std::mutex> locked(mutex_);
        queues_[i].wake.notify_one();
    }
}

void ThreadPool::work(int place) {
    int done = 0, threads = threads_;
    own_place = place;
    for (int i = 0; i < threads; i++) done += take_from((place + i) % threads, place);
    own_place = -1;
    if (done) unfinished_ -= done;
}

int ThreadPool::take_from(int owner, int place) {
    std::atomic<uint64_t> &ticket = queues_[owner].ticket;
    uint64_t seen = ticket;
    int done = 0;
    while (left_of(seen)) {
        if (!ticket.compare_exchange_weak(seen, seen - 1)) continue;
        try {
            (*body_)(queue_start(owner + 1) - static_cast<int>(left_of(seen)), place);
        } catch (...) {
            keep_failure();
        }
        done++;
        seen = ticket;
    }
    return done;
}

void ThreadPool::help(int place) {
    const std::atomic<uint64_t> &ticket = queues_[place].ticket;
    uint32_t seen = generation_of(ticket);
    prepare_exceptions();
    started_++;
    while (!is_stopping_) {
        for (int spins = 0; generation_of(ticket) == seen && spins < kSpinsBeforeSleep; spins++)
            relax();
        if (generation_of(ticket) == seen) sleep_while(queues_[place], seen);
        seen = generation_of(ticket);
        work(place);
    }
}

void ThreadPool::sleep_while(WorkQueue &queue, uint32_t seen) {
    std::unique_lock<std::mutex> locked(mutex_);
    queue.is_asleep = true;
    queue.wake.wait(locked, [&] { return generation_of(queue.ticket) != seen || is_stopping_; });
    queue.is_asleep = false;
}

void ThreadPool::stop() {
    is_stopping_ = true;
    {
        std::lock_guard<std::mutex> locked(mutex_);
        for (WorkQueue &queue : queues_) queue.wake.notify_one();
    }
    for (std::thread &helper : helpers_) helper.join();
    helpers_.clear();
}

PoolScope::PoolScope(ThreadPool &pool) : before_(own_team) { own_team = &pool; }

PoolScope::~PoolScope() { own_team = before_; }

int parallel_threads() { return own_team ? own_team->threads() : 1; }

int parallel_place() { return own_place; }

void parallel_for(int chunks, const std::function<void(int, int)> &body) {
    if (own_place >= 0) return run_alone(chunks, body, own_place);
    if (!own_team) return run_alone(chunks, body, 0);
    own_team->run(chunks, body);
}
