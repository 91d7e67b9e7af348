use image::{imageops, Rgb, RgbImage};

fn main() {
    let times: usize = std::env::args().nth(1).map_or(1, |text| text.parse().unwrap());
    let picture = RgbImage::from_fn(640, 480, |x, y| Rgb([x as u8, y as u8, (x * y) as u8]));
    let mut total = 0u64;
    for _ in 0..times {
        total += u64::from(imageops::fast_blur(&picture, 9.0).get_pixel(100, 100)[0]);
    }
    println!("{total}");
}
