#define ANKERL_NANOBENCH_IMPLEMENT
#include "nanobench.h"
#include <fstream>
#include <cmath>
#include <string>
int main() {
  ankerl::nanobench::Bench bench;
  bench.title("sums").epochs(5).minEpochTime(std::chrono::milliseconds(1));
  double x = 1.0;
  bench.run("sin", [&] { ankerl::nanobench::doNotOptimizeAway(x = std::sin(x) + 1.0); });
  bench.batch(64).unit("byte").run("fill 64", [&] { std::string s(64, 'x'); ankerl::nanobench::doNotOptimizeAway(s); });
  std::ofstream out("nanobench.json");
  bench.render(ankerl::nanobench::templates::json(), out);
}
