//! Measures the cost of aggregating a row. The figure is printed, not judged:
//! `cargo test -p thalweg-sql-functions --lib -- --ignored --nocapture what_an_aggregate_costs`.

use arrow::array::{Float64Array, Int32Array, Int64Array, StringArray};

use super::*;

#[test]
#[ignore = "measures"]
fn what_an_aggregate_costs() {
    const ROWS: usize = 4_096;
    const BATCHES: usize = 64;
    let big: ArrayRef =
        Arc::new(Int64Array::from_iter_values((0..ROWS as i64).map(|row| row * 7_919 % 1_009)));
    let holey: ArrayRef =
        Arc::new((0..ROWS as i64).map(|row| (row % 9 > 0).then_some(row)).collect::<Int64Array>());
    let int: ArrayRef =
        Arc::new(Int32Array::from_iter_values((0..ROWS as i32).map(|row| row * 7_919 % 1_009)));
    let double: ArrayRef = Arc::new(Float64Array::from_iter_values((0..ROWS).map(|row| row as f64)));
    let text: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("text {}", row % 997))));
    let cases = [
        ("COUNT", SqlType::BigInt, &big, false),
        ("SUM", SqlType::BigInt, &big, false),
        ("SUM", SqlType::BigInt, &holey, false),
        ("SUM", SqlType::Int, &int, false),
        ("SUM", SqlType::Double, &double, false),
        ("MAX", SqlType::BigInt, &big, false),
        ("MAX", SqlType::STRING, &text, false),
        ("COUNT", SqlType::BigInt, &big, true),
        ("COUNT", SqlType::STRING, &text, true),
    ];
    for groups in [1u32, 100, 10_000] {
        let numbers: Vec<u32> =
            (0..ROWS as u32).map(|row| row.wrapping_mul(2_654_435_761) % groups).collect();
        for (name, of, column, is_distinct) in &cases {
            let bound = bind(name, &[column_of(of)]).unwrap();
            let bound = if *is_distinct { bound.distinct(1) } else { bound };
            let mut accumulator = (bound.create)();
            accumulator.resize(groups as usize);
            let mut passes: Vec<f64> = (0..9)
                .map(|_| {
                    let start = std::time::Instant::now();
                    (0..BATCHES)
                        .for_each(|_| accumulator.update(&numbers, std::slice::from_ref(*column), None));
                    start.elapsed().as_nanos() as f64 / (ROWS * BATCHES) as f64
                })
                .collect();
            passes.sort_by(f64::total_cmp);
            let (kind, nulls) = (if *is_distinct { "DISTINCT " } else { "" }, column.null_count());
            println!("{groups:>6} groups  {name}({kind}{of}), {nulls} NULLs: {:.2} ns a row", passes[4]);
        }
    }
}
