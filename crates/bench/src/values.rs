//! Values on the command line that only `bench` has: rates, shares, the handling of bad lines, and changes of
//! the [`load`].

pub mod load;

use std::path::PathBuf;

use thalweg::{SlidingWindows, Span};
use thalweg_cli::options::{converted, number_and_unit, percent_within, span};
use thalweg_workloads::lrb::LrbWindows;
use thalweg_workloads::tenants::SOURCES;

const REPEAT_MAX: u32 = 1_000;

/// A rate in records per second, or the highest rate possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rate {
    /// No rate: generators emit records as fast as queries read them.
    Max,
    /// The rate is this number of records per second.
    PerSecond(u64),
}

/// Load that is offered to the bulk group of the workload `tenants`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Aggressor {
    /// The load is this number of records per second, for all queries of the group together.
    PerSecond(u64),
    /// The load is this multiple of the records per second that the group reads when it runs alone.
    Times(f64),
}

/// Allowed multiples of the capacity of the bulk group: from almost nothing to more than any experiment asks
/// for.
const TIMES: (f64, f64) = (0.01, 100.0);

/// The way in which bad input lines are handled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnBadOption {
    /// A bad line fails the query.
    Fail,
    /// Bad lines are counted and skipped.
    Skip,
    /// Bad lines are written to this file, with their line numbers and reasons.
    Divert(PathBuf),
}

/// Parses a share in per cent, such as `40` or `12.5`.
pub fn percent(text: &str) -> Result<f64, String> {
    percent_within([0.0, 100.0])(text)
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

/// Parses the windows of Linear Road's short form (speed, toll and accidents), such as `5s/3s,6s,2s`: size
/// and slide of the windows of accidents, then the sizes of the windows of tolls and of the last windows.
pub fn lrb_windows(text: &str) -> Result<LrbWindows, String> {
    let parts = || {
        let (accidents, sizes) = text.split_once(',')?;
        let ((size, slide), (tolls, last)) = (accidents.split_once('/')?, sizes.split_once(',')?);
        Some([size, slide, tolls, last])
    };
    let parts = parts()
        .ok_or_else(|| format!("`{text}` is not SIZE/SLIDE,TOLLS,LAST; write 5s/3s,6s,2s, for example"))?;
    let mut spans = [Span::ZERO; 4];
    for (found, part) in spans.iter_mut().zip(parts) {
        *found = span(part)?;
        if *found < Span::from_secs(1) || found.as_micros() % 1_000_000 != 0 {
            return Err(format!("{part} is no whole number of seconds from 1s on"));
        }
    }
    let [accidents, accidents_slide, tolls, last] = spans;
    if accidents < accidents_slide {
        return Err(format!(
            "the slide {accidents_slide} must be at most the windows' size, {accidents}, or reports fall between them"
        ));
    }
    if tolls < last {
        return Err(format!(
            "the last window of {last} must be at most as long as that of tolls, {tolls}, or it has several tolls of a segment"
        ));
    }
    SlidingWindows::of_size(accidents).every(accidents_slide).map_err(|error| error.to_string())?;
    Ok(LrbWindows { accidents, accidents_slide, tolls, last })
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

/// Largest number of inputs of a query: that of the sources of a job in Cameo's experiments.
const INPUTS_MAX: u64 = SOURCES;

/// Parses the number of inputs of a query.
pub fn inputs(text: &str) -> Result<u64, String> {
    let inputs = text.parse().ok().filter(|inputs| (1..=INPUTS_MAX).contains(inputs));
    inputs.ok_or_else(|| format!("`{text}` is no whole number from 1 to {INPUTS_MAX}"))
}

/// Largest number of keys of generated records.
const KEYS_MAX: f64 = 1e9;

/// Parses the number of keys of generated records, such as `1000`, `100k`, `1M`.
pub fn keys(text: &str) -> Result<u64, String> {
    let (number, unit) = number_and_unit(text)?;
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return Err(format!("`{unit}` is no unit of a number of keys: take k, M or G")),
    };
    let keys = number * factor;
    if keys.fract() == 0.0 && (1.0..=KEYS_MAX).contains(&keys) {
        Ok(keys as u64)
    } else {
        let bound = "must be a whole number from 1 to 1000000000 keys";
        Err(format!("{}{bound}", converted(text, keys, "keys")))
    }
}

/// Parses the number of times that a run is repeated.
pub fn times(text: &str) -> Result<u32, String> {
    let times = text.parse().ok().filter(|times| (1..=REPEAT_MAX).contains(times));
    times.ok_or_else(|| format!("`{text}` is no whole number from 1 to {REPEAT_MAX}"))
}

/// Largest time scale, in seconds of event time per second of the clock: a day in a minute and a half.
const TIME_SCALE_MAX: u64 = 1_000;

/// Parses a time scale, the number of seconds of event time in one second of the clock.
pub fn time_scale(text: &str) -> Result<u64, String> {
    let times = text.parse().ok().filter(|times| (1..=TIME_SCALE_MAX).contains(times));
    times.ok_or_else(|| format!("`{text}` is no whole number from 1 to {TIME_SCALE_MAX}"))
}

/// Parses the seed of random numbers.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("`{text}` is no whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests;
