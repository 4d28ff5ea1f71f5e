#include "parallel.h"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

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

// A loop is published by its ticket: its generation above, its number of chunks left below. Taking a
// chunk is counting the ticket down, so a thread that comes late cannot take one of an older loop.
class Pool {
  public:
    int threads() const { return 1 + static_cast<int>(helpers_.size()); }

    void resize(int threads) {
        std::lock_guard<std::mutex> owned(owner_);
        stop();
        is_stopping_ = false;
        for (int i = 1; i < threads; i++) helpers_.emplace_back([this, i] { help(i); });
    }

    void run(int chunks, const std::function<void(int, int)> &body) {
        std::unique_lock<std::mutex> owned(owner_, std::try_to_lock);
        if (chunks <= 1 || helpers_.empty() || !owned.owns_lock()) {
            for (int chunk = 0; chunk < chunks; chunk++) body(chunk, 0);
            return;
        }
        publish(chunks, body);
        work(0);
        for (int spins = 0; unfinished_.load();) {
            relax();
            if (++spins > kSpinsBeforeYield) std::this_thread::yield();
        }
    }

    ~Pool() { stop(); }

  private:
    static uint32_t generation_of(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
    static uint32_t left_of(uint64_t ticket) { return static_cast<uint32_t>(ticket); }

    void publish(int chunks, const std::function<void(int, int)> &body) {
        body_ = &body;
        chunks_ = chunks;
        unfinished_ = chunks;
        uint64_t generation = generation_of(ticket_) + 1;
        ticket_ = generation << 32 | static_cast<uint32_t>(chunks);
        if (sleeping_) {
            std::lock_guard<std::mutex> locked(mutex_);
            wake_.notify_all();
        }
    }

    void work(int thread) {
        uint64_t ticket = ticket_;
        while (left_of(ticket)) {
            if (!ticket_.compare_exchange_weak(ticket, ticket - 1)) continue;
            (*body_)(chunks_ - static_cast<int>(left_of(ticket)), thread);
            unfinished_--;
            ticket = ticket_;
        }
    }

    void help(int thread) {
        uint32_t seen = generation_of(ticket_);
        while (!is_stopping_) {
            for (int spins = 0; generation_of(ticket_) == seen && spins < kSpinsBeforeSleep; spins++)
                relax();
            if (generation_of(ticket_) == seen) sleep_while(seen);
            seen = generation_of(ticket_);
            work(thread);
        }
    }

    void sleep_while(uint32_t seen) {
        std::unique_lock<std::mutex> locked(mutex_);
        sleeping_++;
        wake_.wait(locked, [&] { return generation_of(ticket_) != seen || is_stopping_; });
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
    std::atomic<bool> is_stopping_{false};
    std::atomic<int> sleeping_{0}, unfinished_{0};
    std::atomic<uint64_t> ticket_{0};
    const std::function<void(int, int)> *body_ = nullptr;
    int chunks_ = 0;
};

// Never destroyed: its threads may outlive the interpreter's last call.
Pool &pool() {
    static Pool *only = new Pool;
    return *only;
}

}  // namespace

int parallel_threads() { return pool().threads(); }

void parallel_resize(int threads) { pool().resize(threads); }

void parallel_for(int chunks, const std::function<void(int, int)> &body) {
    pool().run(chunks, body);
}
