// One pool of threads for the whole process, and loops whose chunks they share.
#pragma once

#include <functional>

// Threads that work on a loop, the caller's own included.
int parallel_threads();

// Which of them this one is while it works on a loop; else -1.
int parallel_place();

// Let `threads` work on each loop from now on; no loop may be running.
void parallel_resize(int threads);

// Call body(chunk, thread) for every chunk 0..chunks-1, in any order; return when all are done.
// Each thread takes the next chunk when it is free, so that one whose core the system has given to
// somebody else holds back one chunk and not the loop. `thread` is below parallel_threads(). A loop
// within a loop is left to the thread that comes to it.
void parallel_for(int chunks, const std::function<void(int chunk, int thread)> &body);
