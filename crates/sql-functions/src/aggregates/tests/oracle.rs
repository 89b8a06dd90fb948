//! Oracle of the aggregate tests: each group is a list of numbers, and each result is computed from the list
//! in the simplest way. [`column`] decides for which column value each number stands.

use arrow::array::{
    Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    ListArray, StringArray, Time32MillisecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray,
};
use arrow::datatypes::Int32Type;

use super::*;

/// A value of a test row: NULL, or a number from -5 to 5.
pub(super) type Value = Option<i64>;

/// Texts for which the numbers from -5 to 5 stand, in the order of their bytes.
const TEXTS: [&str; 11] = ["", "a", "aa", "b", "z", "ß", "é", "日", "日本", "🦀", "🦀🦀"];

/// Maps a test number to the least number that stands for an equal value of the type. BOOLEAN has only two
/// values.
pub(super) fn canonical(of: &SqlType, number: i64) -> i64 {
    if of == &SqlType::Boolean { i64::from(number > 0) } else { number }
}

/// Builds a column of the values for which test numbers stand. Values are ordered as their numbers, and
/// differ where canonical numbers differ.
pub(super) fn column(of: &SqlType, values: &[Value]) -> ArrayRef {
    let text = |number: i64| TEXTS[(number + 5) as usize];
    let all = values.iter().copied();
    match of {
        SqlType::Boolean => Arc::new(all.map(|value| value.map(|value| value > 0)).collect::<BooleanArray>()),
        SqlType::TinyInt => Arc::new(all.map(|value| value.map(|value| value as i8)).collect::<Int8Array>()),
        SqlType::SmallInt => {
            Arc::new(all.map(|value| value.map(|value| value as i16)).collect::<Int16Array>())
        }
        SqlType::Int => Arc::new(all.map(|value| value.map(|value| value as i32)).collect::<Int32Array>()),
        SqlType::BigInt => Arc::new(all.collect::<Int64Array>()),
        SqlType::Float => {
            Arc::new(all.map(|value| value.map(|value| value as f32 / 2.0)).collect::<Float32Array>())
        }
        SqlType::Double => {
            Arc::new(all.map(|value| value.map(|value| value as f64 / 2.0)).collect::<Float64Array>())
        }
        &SqlType::Decimal { precision, scale } => {
            let column: Decimal128Array = all.map(|value| value.map(i128::from)).collect();
            Arc::new(column.with_precision_and_scale(precision, scale as i8).unwrap())
        }
        SqlType::Varchar(_) => Arc::new(all.map(|value| value.map(text)).collect::<StringArray>()),
        SqlType::Date => Arc::new(all.map(|value| value.map(|value| value as i32)).collect::<Date32Array>()),
        SqlType::Time(_) => {
            Arc::new(all.map(|value| value.map(|value| value as i32)).collect::<Time32MillisecondArray>())
        }
        SqlType::Timestamp(3) => Arc::new(all.collect::<TimestampMillisecondArray>()),
        SqlType::Timestamp(6) => Arc::new(all.collect::<TimestampMicrosecondArray>()),
        SqlType::TimestampLtz(9) => Arc::new(all.collect::<TimestampNanosecondArray>().with_timezone("UTC")),
        SqlType::Array(_) => {
            let lists = all.map(|value| value.map(|value| vec![Some(value as i32), None]));
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
        }
        other => unreachable!("no case has values of {other}"),
    }
}

/// Returns the values of a group after rows were added (`true`) and retracted (`false`). If values are equal,
/// the oldest is retracted.
pub(super) fn remaining(events: &[(bool, Value)]) -> Vec<Value> {
    let mut values: Vec<Value> = Vec::new();
    for &(comes, value) in events {
        if comes {
            values.push(value);
        } else if let Some(place) = values.iter().position(|&other| other == value) {
            values.remove(place);
        }
    }
    values
}

/// Returns the distinct values of a group that are left. A value appears with the first row that has it, and
/// disappears with the last.
pub(super) fn remaining_distinct(events: &[(bool, Value)]) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for end in 0..events.len() {
        let value = events[end].1;
        let there = remaining(&events[..=end]).contains(&value);
        match distinct.iter().position(|&other| other == value) {
            None if there => distinct.push(value),
            Some(place) if !there => drop(distinct.remove(place)),
            _ => {}
        }
    }
    distinct
}

/// Returns the expected results of an aggregate over groups of values, as text.
pub(super) fn expected(name: &str, of: &SqlType, groups: &[Vec<Value>]) -> Vec<String> {
    groups.iter().map(|values| one(name, of, values)).collect()
}

fn one(name: &str, of: &SqlType, all: &[Value]) -> String {
    let values: Vec<i64> = all.iter().copied().flatten().collect();
    let show = |value: Value| shown(&column(of, &[value])).remove(0);
    let null = || "NULL".to_owned();
    match name {
        "COUNT" | "APPROX_COUNT_DISTINCT" => values.len().to_string(),
        "MIN" => show(values.iter().copied().reduce(|left, right| if right < left { right } else { left })),
        "MAX" => show(values.iter().copied().reduce(|left, right| if right > left { right } else { left })),
        "FIRST_VALUE" => show(values.first().copied()),
        "LAST_VALUE" => show(values.last().copied()),
        "SUM" | "AVG" | "VAR_POP" | "VAR_SAMP" if values.is_empty() => null(),
        "$SUM0" if values.is_empty() => numeric("SUM", of, &[0]),
        "$SUM0" => numeric("SUM", of, &values),
        "SUM" | "AVG" => numeric(name, of, &values),
        "VAR_SAMP" if values.len() == 1 => null(),
        "VAR_POP" | "VAR_SAMP" => {
            let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
            let squares: f64 = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum();
            let divisor = values.len() - usize::from(name == "VAR_SAMP");
            // The DOUBLE for which a test number stands is half the number, so the squares are divided by 4.
            (squares / divisor as f64 / 4.0).to_string()
        }
        "LISTAGG" if values.is_empty() => null(),
        "LISTAGG" => values.iter().map(|&value| show(Some(value))).collect::<Vec<_>>().join(","),
        "ARRAY_AGG" if all.is_empty() => null(),
        "ARRAY_AGG" => {
            let items = all.iter().map(|&value| if value.is_some() { show(value) } else { String::new() });
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        "JSON_ARRAYAGG" => {
            format!("[{}]", values.iter().map(|&value| show(Some(value))).collect::<Vec<_>>().join(","))
        }
        "COLLECT" => {
            let mut entries = Vec::new();
            for value in -5..=5 {
                let count = values.iter().filter(|&&other| other == value).count();
                if count > 0 {
                    entries.push(format!("{}: {count}", show(Some(value))));
                }
            }
            format!("{{{}}}", entries.join(", "))
        }
        "PERCENTILE" if values.is_empty() => null(),
        "PERCENTILE" => {
            let mut sorted = values;
            sorted.sort_unstable();
            // The expected percentile at 0.3 is computed with its place in tenths. The values are halves of
            // the test numbers.
            let tenths = 3 * (sorted.len() - 1);
            let (place, part) = (tenths / 10, tenths % 10);
            let next = sorted[(place + 1).min(sorted.len() - 1)];
            let twenty_times = sorted[place] * (10 - part as i64) + next * part as i64;
            (twenty_times as f64 / 20.0).to_string()
        }
        "SINGLE_VALUE" if all.len() > 1 => "NOT_ONE_ROW".to_owned(),
        "SINGLE_VALUE" => show(all.first().copied().flatten()),
        other => unreachable!("{other} has no oracle"),
    }
}

fn numeric(name: &str, of: &SqlType, values: &[i64]) -> String {
    let (sum, count) = (values.iter().map(|&value| i128::from(value)).sum::<i128>(), values.len() as i128);
    let as_type = |number: i128| match of {
        SqlType::TinyInt => (number as i8).to_string(),
        SqlType::SmallInt => (number as i16).to_string(),
        SqlType::Int => (number as i32).to_string(),
        _ => (number as i64).to_string(),
    };
    let of_scale = |number: i128, scale: usize| {
        let digits = format!("{:0width$}", number.abs(), width = scale + 1);
        let (whole, behind) = digits.split_at(digits.len() - scale);
        let sign = if number < 0 { "-" } else { "" };
        if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{behind}") }
    };
    match (of, name) {
        (&SqlType::Decimal { scale, .. }, "SUM") => of_scale(sum, scale.into()),
        (&SqlType::Decimal { scale, .. }, _) => {
            let to = scale.max(6);
            let dividend = sum * 10i128.pow(u32::from(to - scale));
            // Adding half the divisor with the sign of the sum, and then cutting, rounds half away from zero.
            of_scale((2 * dividend + count * sum.signum()) / (2 * count), to.into())
        }
        (SqlType::Double, "SUM") => format!("{:?}", sum as f64 / 2.0),
        (SqlType::Double, _) => format!("{:?}", sum as f64 / 2.0 / count as f64),
        (SqlType::Float, "SUM") => format!("{:?}", sum as f32 / 2.0),
        (SqlType::Float, _) => format!("{:?}", (sum as f64 / 2.0 / count as f64) as f32),
        (_, "SUM") => as_type(sum),
        _ => as_type(sum / count),
    }
}
