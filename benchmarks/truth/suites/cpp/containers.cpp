// Fifteen benchmarks of the standard library, for Google Benchmark: c++ -O2 containers.cpp -lbenchmark_main -lbenchmark -lpthread
#include <algorithm>
#include <benchmark/benchmark.h>
#include <deque>
#include <list>
#include <map>
#include <numeric>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

std::vector<int> shuffled() {
  std::vector<int> values(2000);
  std::iota(values.begin(), values.end(), 0);
  std::shuffle(values.begin(), values.end(), std::mt19937(1));
  return values;
}

const std::vector<int> VALUES = shuffled();

template <class Container> void insert(benchmark::State &state) {
  for (auto _ : state) {
    Container container;
    for (int value : VALUES) container.insert(container.end(), value);
    benchmark::DoNotOptimize(container);
  }
}

template <class Map> void count(benchmark::State &state) {
  for (auto _ : state) {
    Map map;
    for (int value : VALUES) ++map[value % 500];
    benchmark::DoNotOptimize(map);
  }
}

template <class Action> void on_copy(benchmark::State &state, Action action) {
  for (auto _ : state) {
    auto values = VALUES;
    action(values);
    benchmark::DoNotOptimize(values.data());
  }
}

void heap(benchmark::State &state) {
  for (auto _ : state) {
    std::priority_queue<int> queue(VALUES.begin(), VALUES.end());
    while (!queue.empty()) queue.pop();
    benchmark::DoNotOptimize(queue);
  }
}

void format(benchmark::State &state) {
  for (auto _ : state) {
    std::ostringstream stream;
    for (int value : VALUES) stream << value << ' ';
    benchmark::DoNotOptimize(stream.str());
  }
}

void match(benchmark::State &state) {
  const std::regex pattern("([a-z]+)([0-9]+)");
  const std::string text = "some words and word17";
  for (auto _ : state) benchmark::DoNotOptimize(std::regex_search(text, pattern));
}

BENCHMARK(insert<std::vector<int>>);
BENCHMARK(insert<std::deque<int>>);
BENCHMARK(insert<std::list<int>>);
BENCHMARK(insert<std::set<int>>);
BENCHMARK(count<std::map<int, int>>);
BENCHMARK(count<std::unordered_map<int, int>>);
BENCHMARK(heap);
BENCHMARK(format);
BENCHMARK(match);
BENCHMARK_CAPTURE(on_copy, sort, [](auto &values) { std::sort(values.begin(), values.end()); });
BENCHMARK_CAPTURE(on_copy, stable_sort, [](auto &values) { std::stable_sort(values.begin(), values.end()); });
BENCHMARK_CAPTURE(on_copy, nth_element, [](auto &values) {
  std::nth_element(values.begin(), values.begin() + 1000, values.end());
});
BENCHMARK_CAPTURE(on_copy, partition, [](auto &values) {
  std::partition(values.begin(), values.end(), [](int value) { return value % 2; });
});
BENCHMARK_CAPTURE(on_copy, reverse, [](auto &values) { std::reverse(values.begin(), values.end()); });
BENCHMARK_CAPTURE(on_copy, accumulate, [](auto &values) {
  benchmark::DoNotOptimize(std::accumulate(values.begin(), values.end(), 0L));
});

} // namespace
