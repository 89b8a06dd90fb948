//! Values with units on the command line: durations, rates, bytes, and what to do with bad lines.

use std::fmt;
use std::path::PathBuf;

use thalweg::Span;

/// Options that do not go together, or do not fit a workload: exit code 2.
#[derive(Debug)]
pub struct WrongOption(pub String);

impl fmt::Display for WrongOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongOption {}

/// A rate in records per second, or as fast as can be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// As fast as records are taken.
    Max,
    /// So many per second.
    PerSecond(u64),
}

/// What to do with input that is not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnBadOption {
    /// Fail the query.
    Fail,
    /// Count and skip.
    Skip,
    /// Write to this file, with line number and reason.
    Divert(PathBuf),
}

/// Splits `12.5ms` into number and unit.
fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number = number.parse().map_err(|_| format!("`{text}` does not start with a number"))?;
    Ok((number, unit))
}

/// A duration such as `10s`, `500ms`, `20us`, `2m`.
pub fn span(text: &str) -> Result<Span, String> {
    let (number, unit) = number_and_unit(text)?;
    let micros_per_unit = match unit {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3_600e6,
        "" => return Err(format!("`{text}` has no unit: write {text}s, {text}ms or {text}us")),
        _ => return Err(format!("`{unit}` is no unit of time: take us, ms, s, m or h")),
    };
    let micros = number * micros_per_unit;
    if micros.fract() != 0.0 {
        return Err(format!("{text} is {micros} us, but times are whole microseconds"));
    }
    if micros > 1e15 {
        return Err(format!("{text} is too long: at most 277777h"));
    }
    Ok(Span::from_micros(micros as i64))
}

/// A number of seconds such as `5`, `0.5`, or a duration such as `500ms`; above zero, at most a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => span(text)?.as_micros() as f64 / 1e6,
    };
    if seconds.is_finite() && (0.0..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err(format!("{text} is out of range: from 0 to 86400 seconds"))
    }
}

/// `max`, or records per second such as `1000`, `2.5M`, `10k`.
pub fn rate(text: &str) -> Result<Rate, String> {
    if text == "max" {
        return Ok(Rate::Max);
    }
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        _ => return Err(format!("`{unit}` is no unit of a rate: take k or M, or `max`")),
    };
    let rate = number * factor;
    if rate.fract() == 0.0 && (1.0..=1e9).contains(&rate) {
        Ok(Rate::PerSecond(rate as u64))
    } else {
        Err(format!("{text} is {rate} records/s, but must be whole and from 1 to 1000000000 records/s"))
    }
}

/// Bytes such as `1048576`, `256MiB`, `1GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text)?;
    let factor: f64 = match unit {
        "" | "B" => 1.0,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        _ => return Err(format!("`{unit}` is no unit of memory: take KiB, MiB or GiB")),
    };
    let bytes = number * factor;
    if bytes.fract() == 0.0 && bytes < 9e15 {
        Ok(bytes as u64)
    } else {
        Err(format!("{text} is no number of bytes"))
    }
}

/// `fail`, `skip` or `divert:FILE`.
pub fn on_bad(text: &str) -> Result<OnBadOption, String> {
    match text.split_once(':') {
        None if text == "fail" => Ok(OnBadOption::Fail),
        None if text == "skip" => Ok(OnBadOption::Skip),
        Some(("divert", file)) if !file.is_empty() => Ok(OnBadOption::Divert(file.into())),
        _ => Err(format!("`{text}` is none of fail, skip, divert:FILE")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, micros) in
            [("60s", 60_000_000), ("1.5ms", 1_500), ("20us", 20), ("2m", 120_000_000), ("0s", 0)]
        {
            assert_eq!(span(text), Ok(Span::from_micros(micros)), "{text}");
        }
        for (text, error) in [
            ("60", "`60` has no unit: write 60s, 60ms or 60us"),
            ("5days", "`days` is no unit of time: take us, ms, s, m or h"),
            ("fast", "`fast` does not start with a number"),
            ("0.5us", "0.5us is 0.5 us, but times are whole microseconds"),
        ] {
            assert_eq!(span(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn rates_bytes_and_bad_lines() {
        assert_eq!((rate("max"), rate("2.5M")), (Ok(Rate::Max), Ok(Rate::PerSecond(2_500_000))));
        assert!(rate("0").is_err() && rate("1.5").is_err() && rate("2G").is_err());
        assert_eq!((bytes("256MiB"), bytes("7")), (Ok(256 << 20), Ok(7)));
        assert!(bytes("1TB").is_err());
        assert_eq!(on_bad("divert:a.csv"), Ok(OnBadOption::Divert("a.csv".into())));
        assert!(on_bad("divert:").is_err() && on_bad("drop").is_err());
        assert_eq!((seconds("5"), seconds("500ms")), (Ok(5.0), Ok(0.5)));
        assert!(seconds("-1").is_err() && seconds("inf").is_err());
    }
}
