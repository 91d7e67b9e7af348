//! Eleven benchmarks of crates, printed as `cargo bench` prints them: ns of the median of 15 batches, +/- their spread.
use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use base64::Engine;

fn bench(name: &str, mut action: impl FnMut()) {
    let begun = Instant::now();
    let mut count = 0u64;
    while begun.elapsed().as_millis() < 5 {
        action();
        count += 1;
    }
    let calls = (count / 2).max(1);
    let mut batches: Vec<f64> = (0..15)
        .map(|_| {
            let begun = Instant::now();
            (0..calls).for_each(|_| action());
            begun.elapsed().as_nanos() as f64 / calls as f64
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    println!("test {name} ... bench: {:.2} ns/iter (+/- {:.2})", batches[7], batches[14] - batches[0]);
}

fn main() {
    let numbers: Vec<u64> = (0..500).map(|index| index * 2654435761 % 1_000_003).collect();
    let text: String = numbers.iter().fold(String::new(), |mut text, number| {
        write!(text, "name{number} = {number}; ").unwrap();
        text
    });
    let document = serde_json::json!({ "numbers": numbers, "text": text }).to_string();
    let value: serde_json::Value = serde_json::from_str(&document).unwrap();
    let pattern = regex::Regex::new(r"(\w+) = (\d+)").unwrap();
    let encoded = base64::engine::general_purpose::STANDARD.encode(&text);

    bench("serde_json_parse", || drop(black_box(serde_json::from_str::<serde_json::Value>(&document).unwrap())));
    bench("serde_json_write", || drop(black_box(value.to_string())));
    bench("regex_captures", || drop(black_box(pattern.captures_iter(&text).count())));
    bench("regex_replace", || drop(black_box(pattern.replace_all(&text, "$2 = $1"))));
    bench("base64_encode", || drop(black_box(base64::engine::general_purpose::STANDARD.encode(&text))));
    bench("base64_decode", || drop(black_box(base64::engine::general_purpose::STANDARD.decode(&encoded).unwrap())));
    bench("memchr_find", || {
        black_box(memchr::memmem::find_iter(text.as_bytes(), "= 7").count());
    });
    bench("hashbrown_insert", || {
        let map: hashbrown::HashMap<u64, u64> = numbers.iter().map(|number| (*number, *number)).collect();
        black_box(map.len());
    });
    bench("indexmap_insert", || {
        let map: indexmap::IndexMap<u64, u64> = numbers.iter().map(|number| (*number, *number)).collect();
        black_box(map.len());
    });
    bench("smallvec_push", || {
        let mut list: smallvec::SmallVec<[u64; 16]> = smallvec::SmallVec::new();
        list.extend(numbers.iter().copied());
        black_box(list.len());
    });
    bench("itoa", || {
        let mut buffer = itoa::Buffer::new();
        black_box(numbers.iter().map(|number| buffer.format(*number).len()).sum::<usize>());
    });
}
