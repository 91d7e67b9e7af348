fn main() { divan::main(); }
#[divan::bench(sample_count = 20)]
fn sum() -> u64 { (0..divan::black_box(1000u64)).sum() }
#[divan::bench(args = [10, 1000], sample_count = 20)]
fn sorted(n: u64) -> Vec<u64> { let mut v: Vec<u64> = (0..n).map(|i| i * 7919 % 1009).collect(); v.sort(); v }
mod text {
    #[divan::bench(sample_count = 20)]
    fn repeat(bencher: divan::Bencher) { bencher.counter(divan::counter::BytesCount::new(100u32)).bench(|| "x".repeat(divan::black_box(100))) }
    #[divan::bench(ignore)]
    fn ignored() {}
}
