use iai_callgrind::{library_benchmark, library_benchmark_group, main};
use std::hint::black_box;
#[library_benchmark]
#[bench::short(10)]
#[bench::long(1000)]
fn bench_sum(n: u64) -> u64 { (0..black_box(n)).map(|i| black_box(i)).sum() }
library_benchmark_group!(name = sums; benchmarks = bench_sum);
main!(library_benchmark_groups = sums);
