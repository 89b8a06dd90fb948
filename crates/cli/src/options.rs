//! Values on the command line: durations, rates, bytes, settings of the engine, the handling of bad lines, and
//! changes of the [`load`].
//!
//! Each parser's error states the value, the allowed range, and the unit. Settings of the engine are checked
//! against the engine's own table of limits, so that all ways to run a workload have the same bounds.

mod load;

use std::path::PathBuf;

use thalweg::Span;
use thalweg_runtime::Limit;

pub use load::{ShareStep, Steps, arrivals, delay, message_records, rate_steps, share_steps, skew};

/// Longest run in seconds: a day.
const SECONDS_MAX: f64 = 86_400.0;

/// Shortest time in seconds over which figures are measured.
const MEASURED_SECONDS_MIN: f64 = 0.001;

/// Largest number of runs of one command.
const REPEAT_MAX: u32 = 1_000;

/// A rate in records per second, or the highest possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// As fast as records are taken.
    Max,
    /// This number of records per second.
    PerSecond(u64),
}

/// Load of the bulk group of `tenants`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Aggressor {
    /// This number of records per second for all its queries together.
    PerSecond(u64),
    /// This multiple of what the group takes alone.
    Times(f64),
}

/// Range of multiples of the capacity: from almost nothing to more than any experiment asks for.
const TIMES: (f64, f64) = (0.01, 100.0);

/// Handling of bad input lines.
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

/// Parses a number of seconds such as `5`, `0.5`, or a duration such as `500ms`; at most a day.
pub fn seconds(text: &str) -> Result<f64, String> {
    seconds_from(0.0, text)
}

/// Parses a number of seconds that is long enough for a measurement.
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

/// Parses a share in per cent, such as `40` or `12.5`.
pub fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse::<f64>().map_err(|_| format!("`{text}` is no number; write 40 for 40 %"))?;
    let is_within = (0.0..=100.0).contains(&percent);
    if is_within { Ok(percent) } else { Err("must be from 0 to 100 per cent".to_owned()) }
}

/// Parses `max`, or records per second such as `1000`, `2.5M`, `10k`.
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
        let bound = "must be a whole number from 1 to 1000000000 records/s, or `max`";
        Err(format!("{}{bound}", converted(text, rate, "records/s")))
    }
}

/// Parses records per second, such as `1000`, `2.5M`, `10k`.
pub fn rate_per_second(text: &str) -> Result<u64, String> {
    match rate(text)? {
        Rate::PerSecond(rate_per_s) => Ok(rate_per_s),
        Rate::Max => Err("`max` is no number of records/s".to_owned()),
    }
}

/// Parses records per second, such as `20M`, or a multiple of the capacity, such as `2x`.
pub fn aggressor(text: &str) -> Result<Aggressor, String> {
    let Some(times) = text.strip_suffix('x') else {
        let of_rate = |error| format!("{error}; or a multiple of the capacity, such as 2x");
        let (number, unit) = number_and_unit(text).map_err(of_rate)?;
        let factor = match unit {
            "" => 1.0,
            "k" | "K" => 1e3,
            "m" | "M" => 1e6,
            "g" | "G" => 1e9,
            _ => return Err(of_rate(format!("`{unit}` is no unit of a rate: take k, M or G"))),
        };
        let rate = number * factor;
        return if rate.fract() == 0.0 && (1.0..=1e12).contains(&rate) {
            Ok(Aggressor::PerSecond(rate as u64))
        } else {
            let bound = "must be a whole number from 1 to 1000000000000 records/s";
            Err(of_rate(format!("{}{bound}", converted(text, rate, "records/s"))))
        };
    };
    let (least, most) = TIMES;
    let times =
        times.parse().map_err(|_| format!("`{times}` is no number; write 2x for twice the capacity"))?;
    if (least..=most).contains(&times) {
        Ok(Aggressor::Times(times))
    } else {
        Err(format!("{text} must be from {least}x to {most}x, in multiples of the capacity"))
    }
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

/// Checks a value as a double, which is exact up to 2^53: no limit lies above.
fn check(limit: &Limit, text: &str, number: f64) -> Result<u64, String> {
    let Limit { min, max, unit, .. } = limit;
    if (*min as f64..=*max as f64).contains(&number) {
        Ok(number as u64)
    } else {
        Err(format!("{}must be from {min} to {max} {unit}", converted(text, number, unit)))
    }
}

/// Returns the converted value of `text` for a message; empty if `text` already says it.
fn converted(text: &str, number: f64, unit: &str) -> String {
    if text == number.to_string() { String::new() } else { format!("{text} is {number} {unit}, but ") }
}

/// Parses `fail`, `skip` or `divert:FILE`.
pub fn on_bad(text: &str) -> Result<OnBadOption, String> {
    match (text, text.strip_prefix("divert:")) {
        ("fail", _) => Ok(OnBadOption::Fail),
        ("skip", _) => Ok(OnBadOption::Skip),
        ("divert" | "divert:", _) => Err("where to? write divert:FILE, such as divert:bad.csv".to_owned()),
        (_, Some(file)) => Ok(OnBadOption::Divert(file.into())),
        _ => Err(format!("`{text}` is none of fail, skip, divert:FILE")),
    }
}

/// Parses the number of runs.
pub fn times(text: &str) -> Result<u32, String> {
    let times = text.parse().ok().filter(|times| (1..=REPEAT_MAX).contains(times));
    times.ok_or_else(|| format!("`{text}` is no whole number from 1 to {REPEAT_MAX}"))
}

/// Largest number of seconds of event time in one second of the clock: a day in a minute and a half.
const TIME_SCALE_MAX: u64 = 1_000;

/// Parses the number of seconds of event time in one second of the clock.
pub fn time_scale(text: &str) -> Result<u64, String> {
    let times = text.parse().ok().filter(|times| (1..=TIME_SCALE_MAX).contains(times));
    times.ok_or_else(|| format!("`{text}` is no whole number from 1 to {TIME_SCALE_MAX}"))
}

/// Parses a seed.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests;
