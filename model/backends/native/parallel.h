// Threads that share the chunks of loops.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

// Let the calling thread have what throwing takes. It is allocated once a thread; where that fails,
// glibc ends the process.
inline void prepare_exceptions() {
    volatile int used = std::uncaught_exceptions();
    static_cast<void>(used);
}

// A thread that calls, and helpers that are woken for its loops. One caller at a time.
class ThreadPool {
  public:
    ThreadPool() { grow(1); }
    ~ThreadPool() { stop(); }
    ThreadPool(const ThreadPool &) = delete;

    // Let so many work on each loop from now on, the caller included; no loop may be running. Throws
    // std::system_error or std::bad_alloc if they cannot be had; then the caller works alone.
    void use(int threads);

    // As many as are to work on a loop, and as many as might: one that comes late may still help
    // when less are to.
    int threads() const { return threads_; }
    int places() const { return static_cast<int>(queues_.size()); }

    // See parallel_for.
    void run(int chunks, const std::function<void(int, int)> &body);

  private:
    static constexpr int kLineBytes = 64;  // what two threads write often must not share
    struct alignas(kLineBytes) WorkQueue {
        std::atomic<uint64_t> ticket{0};
        std::atomic<bool> is_asleep{false};  // the thread whose queue it is
        std::condition_variable wake;
    };

    void grow(int places);
    int queue_start(int owner) const;
    void publish(int chunks, const std::function<void(int, int)> &body);
    void work(int thread);
    int take_from(int owner, int thread);
    void help(int thread);
    void sleep_while(WorkQueue &queue, uint32_t seen);
    void keep_failure();
    void rethrow_failure();
    void stop();

    std::mutex mutex_;
    std::vector<std::thread> helpers_;
    std::vector<WorkQueue> queues_;
    std::atomic<int> threads_{1};
    std::atomic<bool> is_stopping_{false};
    const std::function<void(int, int)> *body_ = nullptr;
    int chunks_ = 0;
    std::exception_ptr failure_;  // the loop's first one
    std::atomic<int> started_{0};  // helpers
    alignas(kLineBytes) std::atomic<int> unfinished_{0};
};

// Let the loops of the calling thread be its pool's as long as this lives; without it, or within a
// loop, nobody helps.
class PoolScope {
  public:
    explicit PoolScope(ThreadPool &pool);
    ~PoolScope();
    PoolScope(const PoolScope &) = delete;

  private:
    ThreadPool *before_;
};

// Threads that work on a loop of the calling thread, itself included.
int parallel_threads();

// Which of them this one is while it works on a loop; else -1.
int parallel_place();

// Call body(chunk, place) for every chunk 0..chunks-1, in any order; return when all are done. Each
// thread takes the next chunk when it is free, so that one whose core the system has given to
// somebody else holds back one chunk and not the loop. `place` is below the pool's places(). A
// loop within a loop is left to the thread that comes to it. What a body throws, whoever called it,
// is thrown here once no body runs any more.
void parallel_for(int chunks, const std::function<void(int chunk, int place)> &body);
