#include <stdio.h>
#include <stdlib.h>

/* Small enough that Callgrind counts it in a second. */
__attribute__((noinline)) static long load(long count) {
  long total = 0;
  for (long i = 0; i < count; i++) total += i * i % 97;
  return total;
}

__attribute__((noinline)) static long find(long count) { return load(count) + 1; }

__attribute__((noinline)) static long depth(long level) { return level ? depth(level - 1) + 1 : find(500); }

__attribute__((noinline)) static long order(void) { return find(5000) + depth(4); }

__attribute__((noinline)) static long search(void) { return find(1000) + find(1000); }

int main(void) {
  long total = 0;
  for (int i = 0; i < 4; i++) total += order() + search();
  printf("%ld\n", total);
  return 0;
}
