use iai::black_box;
fn sum(n: u64) -> u64 { (0..black_box(n)).map(|i| black_box(i)).sum() }
fn sum_short() -> u64 { sum(10) }
fn sum_long() -> u64 { sum(1000) }
iai::main!(sum_short, sum_long);
