use criterion::{criterion_group, criterion_main, BenchmarkId, Criterion, SamplingMode, Throughput};
use std::hint::black_box;
use std::time::Duration;

fn sum(n: u64) -> u64 {
    (0..black_box(n)).fold(0, |total, i| total ^ black_box(i))
}

fn plain(c: &mut Criterion) {
    c.bench_function("sum to 1000", |b| b.iter(|| sum(1000)));
    c.bench_function("a name longer than the column", |b| b.iter(|| sum(10)));
    c.bench_function("nothing", |b| b.iter(|| black_box(1)));
}

fn grouped(c: &mut Criterion) {
    let mut group = c.benchmark_group("sums");
    for n in [100, 200000] {
        group.throughput(Throughput::Elements(n));
        group.sampling_mode(if n > 1000 { SamplingMode::Flat } else { SamplingMode::Auto });
        group.bench_with_input(BenchmarkId::new("xor", n), &n, |b, &n| b.iter(|| sum(n)));
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).warm_up_time(Duration::from_millis(50)).measurement_time(Duration::from_millis(100));
    targets = plain, grouped
}
criterion_main!(benches);
