#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>

#include <numeric>
#include <stdexcept>
#include <vector>

static int sum(int size) {
  std::vector<int> numbers(size, 1);
  return std::accumulate(numbers.begin(), numbers.end(), 0);
}

TEST_CASE("Sums", "[benchmark]") {
  BENCHMARK("sum of 100") { return sum(100); };
  BENCHMARK("a long benchmark name that the console reporter has to wrap over lines") { return sum(10000); };
}

TEST_CASE("Broken") {
  BENCHMARK("throws") -> int { throw std::runtime_error("no such device"); };
}
