//! Formats numbers for people: counts are grouped; other figures have three significant digits and
//! a unit.

/// Formats a count, such as `12,345,678`.
pub fn count(count: u64) -> String {
    let digits = count.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Formats a rate, such as `1.00 M/s`.
pub fn rate(per_s: f64) -> String {
    match per_s {
        ..999.5 => format!("{} /s", three_digits(per_s)),
        ..999.5e3 => format!("{} k/s", three_digits(per_s / 1e3)),
        _ => format!("{} M/s", three_digits(per_s / 1e6)),
    }
}

/// Formats a latency, such as `85.0 us`.
pub fn latency(nanos: f64) -> String {
    match nanos {
        ..999.5e3 => format!("{} us", three_digits(nanos / 1e3)),
        ..999.5e6 => format!("{} ms", three_digits(nanos / 1e6)),
        _ => format!("{} s", three_digits(nanos / 1e9)),
    }
}

/// Formats a latency, or a dash if there is none.
pub fn latency_or_none(nanos: Option<u64>) -> String {
    nanos.map_or("-".to_owned(), |nanos| latency(nanos as f64))
}

fn three_digits(number: f64) -> String {
    let decimals = match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        let cases =
            [(0, "0"), (999, "999"), (1_000, "1,000"), (123_456, "123,456"), (12_345_678, "12,345,678")];
        for (number, shown) in cases {
            assert_eq!(count(number), shown);
        }
    }

    #[test]
    fn three_digits_count_whatever_the_unit() {
        for (per_s, shown) in [
            (0.0, "0.00 /s"),
            (9.996, "10.0 /s"),
            (999.4, "999 /s"),
            (999.6, "1.00 k/s"),
            (200_000.0, "200 k/s"),
            (999_600.0, "1.00 M/s"),
            (165.53e6, "166 M/s"),
            (2.5e9, "2500 M/s"),
        ] {
            assert_eq!(rate(per_s), shown);
        }
        for (nanos, shown) in [
            (850.0, "0.85 us"),
            (85_012.0, "85.0 us"),
            (999.6e3, "1.00 ms"),
            (2.5e9, "2.50 s"),
            (3.6e12, "3600 s"),
        ] {
            assert_eq!(latency(nanos), shown);
        }
    }
}
