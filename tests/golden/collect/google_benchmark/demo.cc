#include <benchmark/benchmark.h>

#include <string>
#include <vector>

static void Fill(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<int> numbers(state.range(0), 1);
    benchmark::DoNotOptimize(numbers.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.counters["kept"] = 3;
}
BENCHMARK(Fill)->Arg(64)->Arg(4096);

static void Copy(benchmark::State& state) {
  std::string text(256, 'a');
  for (auto _ : state) {
    std::string copy(text);
    benchmark::DoNotOptimize(copy);
  }
  state.SetBytesProcessed(state.iterations() * 256);
}
BENCHMARK(Copy)->Unit(benchmark::kMicrosecond);

static void Refused(benchmark::State& state) {
  state.SkipWithError("no such device");
  for (auto _ : state) {
  }
}
BENCHMARK(Refused);

BENCHMARK_MAIN();
