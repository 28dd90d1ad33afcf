/*
 * What mimalloc's C code finds of a C library in WebAssembly: no environment, no output, a
 * clock that stands still, and the memory's own growth. Everything that it computes with (memcpy
 * and the like) comes with Rust.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#define WASM_PAGE 65536u

_Thread_local int errno = 0;

#undef stdout
#undef stderr
FILE *const stdout = NULL;
FILE *const stderr = NULL;

struct __clockid {
  int id;
};
const struct __clockid _CLOCK_MONOTONIC = {1};
const struct __clockid _CLOCK_REALTIME = {0};

int clock_gettime(clockid_t clock, struct timespec *now) {
  (void)clock;
  *now = (struct timespec){.tv_sec = 1};
  return 0;
}

int fputs(const char *restrict text, FILE *restrict stream) {
  (void)text;
  (void)stream;
  return 0;
}

char *getenv(const char *name) {
  (void)name;
  return NULL;
}

long strtol(const char *restrict text, char **restrict end, int base) {
  (void)base;
  if (end != NULL) *end = (char *)text;
  return 0;
}

_Noreturn void abort(void) { __builtin_trap(); }

void free(void *object) {
  /* Asked only for what an environment variable allocated, and there is none. */
  (void)object;
}

unsigned sleep(unsigned seconds) {
  (void)seconds;
  return 0;
}

int sched_yield(void) { return 0; }

void *sbrk(ptrdiff_t bytes) {
  if (bytes == 0) return (void *)(__builtin_wasm_memory_size(0) * WASM_PAGE);
  size_t pages = ((size_t)bytes + WASM_PAGE - 1) / WASM_PAGE;
  size_t before = __builtin_wasm_memory_grow(0, pages);
  return before == (size_t)-1 ? (void *)-1 : (void *)(before * WASM_PAGE);
}
