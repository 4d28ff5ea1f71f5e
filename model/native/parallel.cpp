#include "parallel.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kLineBytes = 64;  // what two threads write often must not share
constexpr int kSpinsBeforeSleep = 1000;
constexpr int kSpinsBeforeYield = 1000;

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Of a thread that is working on a loop; else -1.
thread_local int own_place = -1;

// A loop's chunks are divided into one share a thread, the same for the same number of chunks, so that
// what a chunk reads may still lie in that thread's cache. A thread that is done with its own share
// goes on with the others'. A share is published by its ticket: the loop's generation above, its
// number of chunks left below. Taking a chunk is counting the ticket down, so a thread that comes late
// cannot take one of an older loop.
class Pool {
  public:
    int threads() const { return static_cast<int>(shares_.size()); }

    void resize(int threads) {
        std::lock_guard<std::mutex> owned(owner_);
        stop();
        is_stopping_ = false;
        shares_ = std::vector<Share>(threads);
        for (int i = 1; i < threads; i++) helpers_.emplace_back([this, i] { help(i); });
    }

    void run(int chunks, const std::function<void(int, int)> &body) {
        if (own_place >= 0) return run_alone(chunks, body, own_place);
        if (chunks <= 1 || helpers_.empty()) return run_alone(chunks, body, 0);
        std::unique_lock<std::mutex> owned(owner_, std::try_to_lock);
        if (!owned.owns_lock()) return run_alone(chunks, body, 0);
        publish(chunks, body);
        work(0);
        for (int spins = 0; unfinished_.load();) {
            relax();
            if (++spins > kSpinsBeforeYield) std::this_thread::yield();
        }
    }

    ~Pool() { stop(); }

  private:
    struct alignas(kLineBytes) Share {
        std::atomic<uint64_t> ticket{0};
    };

    static uint32_t generation_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
    static uint32_t left_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }
    int share_start(int owner) const {
        return static_cast<int>(static_cast<int64_t>(chunks_) * owner / threads());
    }

    static void run_alone(int chunks, const std::function<void(int, int)> &body, int thread) {
        for (int chunk = 0; chunk < chunks; chunk++) body(chunk, thread);
    }

    void publish(int chunks, const std::function<void(int, int)> &body) {
        body_ = &body;
        chunks_ = chunks;
        unfinished_ = chunks;
        uint64_t generation = generation_of(shares_[0].ticket) + 1;
        for (int i = threads() - 1; i >= 0; i--) {
            uint32_t left = share_start(i + 1) - share_start(i);
            shares_[i].ticket = generation << 32 | left;
        }
        if (sleeping_) {
            std::lock_guard<std::mutex> locked(mutex_);
            wake_.notify_all();
        }
    }

    void work(int thread) {
        int done = 0;
        own_place = thread;
        for (int i = 0; i < threads(); i++) done += take_from((thread + i) % threads(), thread);
        own_place = -1;
        if (done) unfinished_ -= done;
    }

    int take_from(int owner, int thread) {
        std::atomic<uint64_t> &ticket = shares_[owner].ticket;
        uint64_t seen = ticket;
        int done = 0;
        while (left_of(seen)) {
            if (!ticket.compare_exchange_weak(seen, seen - 1)) continue;
            (*body_)(share_start(owner + 1) - static_cast<int>(left_of(seen)), thread);
            done++;
            seen = ticket;
        }
        return done;
    }

    void help(int thread) {
        const std::atomic<uint64_t> &ticket = shares_[thread].ticket;
        uint32_t seen = generation_of(ticket);
        while (!is_stopping_) {
            for (int spins = 0; generation_of(ticket) == seen && spins < kSpinsBeforeSleep; spins++)
                relax();
            if (generation_of(ticket) == seen) sleep_while(ticket, seen);
            seen = generation_of(ticket);
            work(thread);
        }
    }

    void sleep_while(const std::atomic<uint64_t> &ticket, uint32_t seen) {
        std::unique_lock<std::mutex> locked(mutex_);
        sleeping_++;
        wake_.wait(locked, [&] { return generation_of(ticket) != seen || is_stopping_; });
        sleeping_--;
    }

    void stop() {
        is_stopping_ = true;
        {
            std::lock_guard<std::mutex> locked(mutex_);
            wake_.notify_all();
        }
        for (std::thread &helper : helpers_) helper.join();
        helpers_.clear();
    }

    std::mutex owner_, mutex_;
    std::condition_variable wake_;
    std::vector<std::thread> helpers_;
    std::vector<Share> shares_{1};
    std::atomic<bool> is_stopping_{false};
    std::atomic<int> sleeping_{0};
    const std::function<void(int, int)> *body_ = nullptr;
    int chunks_ = 0;
    alignas(kLineBytes) std::atomic<int> unfinished_{0};
};

// Never destroyed: its threads may outlive the interpreter's last call.
Pool &pool() {
    static Pool *only = new Pool;
    return *only;
}

}  // namespace

int parallel_threads() { return pool().threads(); }

int parallel_place() { return own_place; }

void parallel_resize(int threads) { pool().resize(threads); }

void parallel_for(int chunks, const std::function<void(int, int)> &body) {
    pool().run(chunks, body);
}
