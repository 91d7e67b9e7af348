use geo::{MultiPolygon, Polygon, LineString, TriangulateDelaunay};
use geo::triangulate_delaunay::DelaunayTriangulationConfig;

fn ring(x: f64, y: f64, points: usize) -> Polygon<f64> {
    let turn = std::f64::consts::TAU / points as f64;
    let at = |n: usize| (x + (n as f64 * turn).cos(), y + (n as f64 * turn).sin());
    Polygon::new(LineString::from((0..points).map(at).collect::<Vec<_>>()), vec![])
}

fn main() {
    let times: usize = std::env::args().nth(1).map_or(1, |text| text.parse().unwrap());
    let polygons: Vec<_> = (0..12).map(|n| ring(3.0 * (n % 4) as f64, 3.0 * (n / 4) as f64, 60)).collect();
    let shapes = MultiPolygon::new(polygons);
    let mut triangles = 0;
    for _ in 0..times {
        triangles += shapes.constrained_triangulation(DelaunayTriangulationConfig::default()).unwrap().len();
    }
    println!("{triangles}");
}
