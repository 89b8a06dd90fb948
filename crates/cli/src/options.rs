//! Values on the command line that the programs share: durations, bytes, and settings of the engine.
//!
//! Each parser's error states the value, the allowed range, and the unit. Settings of the engine are checked
//! against the engine's own table of limits, so that all ways to run a query have the same bounds.

use thalweg::Span;
use thalweg_runtime::Limit;

/// Longest run that a command accepts, in seconds: one day.
const SECONDS_MAX: f64 = 86_400.0;

/// Shortest time over which a command measures figures, in seconds.
const MEASURED_SECONDS_MIN: f64 = 0.001;

/// Parses a duration such as `10s`, `500ms`, `20us`, `2m`.
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
    if micros > 1e15 {
        return Err(format!("{text} is too long: at most 277777h"));
    }
    if micros.fract() != 0.0 {
        return Err(format!("{text} is {micros} us, but times are whole microseconds"));
    }
    Ok(Span::from_micros(micros as i64))
}

/// Returns a parser for a duration within these bounds, both included.
pub fn span_within([min, max]: [Span; 2]) -> impl Fn(&str) -> Result<Span, String> + Clone {
    move |text| match span(text)? {
        found if (min..=max).contains(&found) => Ok(found),
        _ => Err(format!("{text} must be from {min} to {max}")),
    }
}

/// Returns a parser for a share in per cent, such as `40` or `12.5`, within these bounds, both included.
pub fn percent_within([min, max]: [f64; 2]) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let percent = text.parse::<f64>().map_err(|_| format!("`{text}` is no number; write 40 for 40 %"))?;
        let is_within = (min..=max).contains(&percent);
        if is_within { Ok(percent) } else { Err(format!("must be from {min} to {max} per cent")) }
    }
}

/// Parses a number of seconds such as `5`, `0.5`, or a duration such as `500ms`; at most a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    seconds_from(0.0, text)
}

/// Parses a number of seconds from 0.001 to a day, for a run that is measured.
pub fn measured_seconds(text: &str) -> Result<f64, String> {
    seconds_from(MEASURED_SECONDS_MIN, text)
}

fn seconds_from(min: f64, text: &str) -> Result<f64, String> {
    let seconds = match text.parse::<f64>() {
        Ok(seconds) => seconds,
        Err(_) => span(text)?.as_micros() as f64 / 1e6,
    };
    let is_within = (min..=SECONDS_MAX).contains(&seconds);
    if is_within { Ok(seconds) } else { Err(format!("must be from {min} to {SECONDS_MAX} seconds")) }
}

/// Returns a parser for a setting of the engine, such as `384`, within its bounds.
pub fn within(limit: &'static Limit) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| {
        let number = text.parse::<f64>().map_err(|_| format!("`{text}` is not a whole number"))?;
        if number.fract() != 0.0 {
            return Err(format!("{text} is not a whole number"));
        }
        check(limit, text, number)
    }
}

/// Returns a parser for bytes such as `1048576`, `256MiB`, `1GiB`, within the bounds of a setting.
pub fn bytes_within(limit: &'static Limit) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| {
        let (number, unit) = number_and_unit(text)?;
        let factor: f64 = match unit {
            "" | "B" => 1.0,
            "KiB" => 1024.0,
            "MiB" => 1_048_576.0,
            "GiB" => 1_073_741_824.0,
            _ => return Err(format!("`{unit}` is no unit of memory: take KiB, MiB or GiB")),
        };
        let bytes = number * factor;
        if bytes.fract() != 0.0 {
            return Err(format!("{text} is {bytes} bytes, but must be a whole number"));
        }
        check(limit, text, bytes)
    }
}

/// Checks that a setting is within its bounds. The value is compared as a double, which is exact up to 2^53,
/// and no bound is above that.
fn check(limit: &Limit, text: &str, number: f64) -> Result<u64, String> {
    let Limit { min, max, unit, .. } = limit;
    if (*min as f64..=*max as f64).contains(&number) {
        Ok(number as u64)
    } else {
        Err(format!("{}must be from {min} to {max} {unit}", converted(text, number, unit)))
    }
}

/// Splits a text such as `12.5ms` into its number and its unit.
pub fn number_and_unit(text: &str) -> Result<(f64, &str), String> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let is_below_zero =
        || text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let number = number.parse().map_err(|_| {
        if is_below_zero() {
            format!("{text} is below zero")
        } else {
            format!("`{text}` does not start with a number")
        }
    })?;
    Ok((number, unit))
}

/// Returns the beginning of an error message that gives the converted value of `text`, such as `1k is 1000
/// records, but `. Returns an empty text if `text` already has this value.
pub fn converted(text: &str, number: f64, unit: &str) -> String {
    if text == number.to_string() { String::new() } else { format!("{text} is {number} {unit}, but ") }
}

#[cfg(test)]
mod tests;
