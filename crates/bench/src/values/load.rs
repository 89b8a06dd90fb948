//! Loads that change: steps, bursts, messages, delays and skew, in the syntax of the command line.

use thalweg::Span;
use thalweg_cli::options::span;
use thalweg_connectors::{Arrivals, Delay, RateStep, check_message_records, check_steps};

use super::{INPUTS_MAX, rate_per_second};

/// Highest exponent of a skew by Zipf's law.
const SKEW_MAX: f64 = thalweg_connectors::ZIPF_EXPONENT_MAX;

/// Values that change at given times, written as `2s:20k,4s:5k`.
#[derive(Clone, PartialEq, Debug)]
pub struct Steps<T>(pub Vec<T>);

/// Share of the records that passes a filter, from a time after the start on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareStep {
    /// Time of the change, which must be above that of the previous step.
    pub from: Span,
    /// Share of the records that passes from then on, from 0 to 1.
    pub share: f64,
}

/// Splits `2s:20k,4s:5k` into times and the values after them; `example` is a step for the error message.
fn steps<T>(
    text: &str,
    example: &str,
    step: impl Fn(Span, &str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let each = |text: &str| match text.split_once(':') {
        Some((from, value)) => step(span(from)?, value),
        None => Err(format!("`{text}` is no step: write a time and a value, such as {example}")),
    };
    text.split(',').map(each).collect()
}

/// Parses times and rates, such as `2s:20k,4s:5k`.
pub fn rate_steps(text: &str) -> Result<Steps<RateStep>, String> {
    let step = |from, rate: &str| Ok(RateStep { from, rate_per_s: rate_per_second(rate)? });
    let steps = steps(text, "2s:20k", step)?;
    check_steps(&steps).map_err(|error| error.to_string())?;
    Ok(Steps(steps))
}

/// Parses times and shares from 0 to 1, such as `2s:0.5`.
pub fn share_steps(text: &str) -> Result<Steps<ShareStep>, String> {
    let step = |from, text: &str| {
        let share = text.parse().map_err(|_| format!("`{text}` is no number; write 0.5 for one of two"))?;
        let is_within = (0.0..=1.0).contains(&share);
        if is_within {
            Ok(ShareStep { from, share })
        } else {
            Err(format!("{text} is no share, but must be from 0 to 1; write 0.5 for one of two"))
        }
    };
    let steps = steps(text, "2s:0.5", step)?;
    // Steps of the share of views obey the same rules as steps of a rate: their times ascend, and their
    // number is bounded. So the function that checks steps of a rate checks them, too.
    let times: Vec<RateStep> = steps.iter().map(|step| RateStep { from: step.from, rate_per_s: 1 }).collect();
    check_steps(&times).map_err(|error| error.to_string())?;
    Ok(Steps(steps))
}

/// Parses `constant`, `poisson` or `pareto:SHAPE`.
pub fn arrivals(text: &str) -> Result<Arrivals, String> {
    let arrivals = match (text, text.strip_prefix("pareto:")) {
        ("constant", _) => Arrivals::Constant,
        ("poisson", _) => Arrivals::Poisson,
        ("pareto" | "pareto:", _) => {
            return Err("of which shape? write pareto:SHAPE, such as pareto:1.5".to_owned());
        }
        (_, Some(shape)) => Arrivals::Pareto { shape: number(shape, "1.5")? },
        _ => return Err(format!("`{text}` is none of constant, poisson, pareto:SHAPE")),
    };
    arrivals.check().map_err(|error| error.to_string())?;
    Ok(arrivals)
}

/// Parses `none`, `uniform:SPAN` or `zipf:EXPONENT`.
pub fn delay(text: &str) -> Result<Delay, String> {
    let delay = match (text, text.strip_prefix("uniform:"), text.strip_prefix("zipf:")) {
        ("none", ..) => Delay::None,
        ("uniform" | "uniform:", ..) => {
            return Err("how long at most? write uniform:SPAN, such as uniform:50ms".to_owned());
        }
        ("zipf" | "zipf:", ..) => {
            return Err("with which exponent? write zipf:EXPONENT, such as zipf:0.99".to_owned());
        }
        (_, Some(max), _) => Delay::Uniform { max: span(max)? },
        (.., Some(exponent)) => Delay::Zipf { exponent: number(exponent, "0.99")? },
        _ => return Err(format!("`{text}` is none of none, uniform:SPAN, zipf:EXPONENT")),
    };
    delay.check().map_err(|error| error.to_string())?;
    Ok(delay)
}

/// Delays of the inputs of a query, which have them by turns: written as `0s,200ms`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputDelays(pub Vec<Span>);

/// Parses the delays of inputs, such as `0s,200ms`.
pub fn input_delays(text: &str) -> Result<InputDelays, String> {
    let delay = |text: &str| {
        let max = span(text)?;
        // The delay of an input has the bound of any delay in transit.
        Delay::Uniform { max }.check().map_err(|error| error.to_string())?;
        Ok(max)
    };
    let delays = text.split(',').map(delay).collect::<Result<Vec<_>, String>>()?;
    let (count, most) = (delays.len() as u64, INPUTS_MAX);
    if most < count {
        return Err(format!("there are {count} delays, but a query has at most {most} inputs"));
    }
    Ok(InputDelays(delays))
}

/// Parses the number of records of a message.
pub fn message_records(text: &str) -> Result<u64, String> {
    let records = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
    check_message_records(records).map_err(|error| error.to_string())?;
    Ok(records)
}

/// Parses the exponent of `--skew`, by which the load is shared unevenly.
pub fn skew(text: &str) -> Result<f64, String> {
    let exponent = number(text, "1")?;
    let is_within = (0.0..=SKEW_MAX).contains(&exponent);
    if is_within { Ok(exponent) } else { Err(format!("must be from 0 to {SKEW_MAX}")) }
}

fn number(text: &str, example: &str) -> Result<f64, String> {
    text.parse().map_err(|_| format!("`{text}` is no number such as {example}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_of_inputs() {
        let delays = |millis: &[i64]| InputDelays(millis.iter().copied().map(Span::from_millis).collect());
        assert_eq!(input_delays("0s,50ms,200ms"), Ok(delays(&[0, 50, 200])));
        assert_eq!(input_delays("60s"), Ok(delays(&[60_000])));
        for (text, told) in [
            ("0,50ms", "`0` has no unit: write 0s, 0ms or 0us"),
            ("50ms,61s", "the longest delay is 61000000 us, but must be from 0 to 60000000 us"),
        ] {
            assert_eq!(input_delays(text), Err(told.to_owned()), "{text}");
        }
        assert!(input_delays("").is_err() && input_delays("5ms,").is_err() && input_delays("-5ms").is_err());
        assert!(input_delays(&["5ms"; 64].join(",")).is_ok());
        let told = "there are 65 delays, but a query has at most 64 inputs";
        assert_eq!(input_delays(&["5ms"; 65].join(",")), Err(told.to_owned()));
    }

    #[test]
    fn changes_at_given_times() {
        let step = |millis, rate_per_s| RateStep { from: Span::from_millis(millis), rate_per_s };
        assert_eq!(rate_steps("2s:20k"), Ok(Steps(vec![step(2_000, 20_000)])));
        assert_eq!(rate_steps("500ms:1,1m:2M"), Ok(Steps(vec![step(500, 1), step(60_000, 2_000_000)])));
        let share = |seconds, share| ShareStep { from: Span::from_secs(seconds), share };
        assert_eq!(
            share_steps("1s:0,2s:0.25,3s:1"),
            Ok(Steps(vec![share(1, 0.0), share(2, 0.25), share(3, 1.0)]))
        );
        for (text, told) in [
            ("", "`` is no step: write a time and a value, such as 2s:20k"),
            ("2s", "`2s` is no step: write a time and a value, such as 2s:20k"),
            ("2:20k", "`2` has no unit: write 2s, 2ms or 2us"),
            ("2s:max", "`max` is no number of records/s"),
            ("2s:5,1s:7", "a step at 1s does not lie behind 2s; write steps by rising time, above 0s"),
            ("0s:5", "a step at 0s does not lie behind 0s; write steps by rising time, above 0s"),
        ] {
            assert_eq!(rate_steps(text), Err(told.to_owned()), "{text}");
        }
        let many = (1..66).map(|seconds| format!("{seconds}s:5")).collect::<Vec<_>>().join(",");
        let told = "the number of steps is 65, but must be from 0 to 64";
        assert_eq!(rate_steps(&many), Err(told.to_owned()));
        for text in ["1s:1.5", "1s:-0.1", "1s:NaN"] {
            assert!(share_steps(text).unwrap_err().contains("must be from 0 to 1"), "{text}");
        }
        assert!(share_steps("2s:0.5,2s:0.6").unwrap_err().contains("does not lie behind"));
        assert_eq!(share_steps("2s:half"), Err("`half` is no number; write 0.5 for one of two".to_owned()));
    }

    #[test]
    fn bursts_and_delays() {
        assert_eq!(
            (arrivals("constant"), arrivals("poisson")),
            (Ok(Arrivals::Constant), Ok(Arrivals::Poisson))
        );
        assert_eq!(arrivals("pareto:1.5"), Ok(Arrivals::Pareto { shape: 1.5 }));
        assert_eq!(
            (delay("none"), delay("zipf:0.99")),
            (Ok(Delay::None), Ok(Delay::Zipf { exponent: 0.99 }))
        );
        assert_eq!(delay("uniform:50ms"), Ok(Delay::Uniform { max: Span::from_millis(50) }));
        for (text, told) in [
            ("pareto", "of which shape? write pareto:SHAPE, such as pareto:1.5"),
            ("pareto:1", "the shape is 1, but must be from 1.01 to 100"),
            ("pareto:x", "`x` is no number such as 1.5"),
            ("bursts", "`bursts` is none of constant, poisson, pareto:SHAPE"),
        ] {
            assert_eq!(arrivals(text), Err(told.to_owned()), "{text}");
        }
        for (text, told) in [
            ("uniform", "how long at most? write uniform:SPAN, such as uniform:50ms"),
            ("zipf:", "with which exponent? write zipf:EXPONENT, such as zipf:0.99"),
            ("uniform:2m", "the longest delay is 120000000 us, but must be from 0 to 60000000 us"),
            ("uniform:5", "`5` has no unit: write 5s, 5ms or 5us"),
            ("zipf:9", "the exponent is 9, but must be from 0 to 8"),
            ("5ms", "`5ms` is none of none, uniform:SPAN, zipf:EXPONENT"),
        ] {
            assert_eq!(delay(text), Err(told.to_owned()), "{text}");
        }
    }

    #[test]
    fn messages_and_skew() {
        assert_eq!((message_records("1000"), skew("0.99"), skew("0")), (Ok(1_000), Ok(0.99), Ok(0.0)));
        let told = "the message's size is 0 records, but must be from 1 to 100000 records";
        assert_eq!(message_records("0"), Err(told.to_owned()));
        assert_eq!(message_records("1k"), Err("`1k` is not a whole number".to_owned()));
        assert_eq!(skew("9"), Err("must be from 0 to 8".to_owned()));
        assert_eq!(skew("much"), Err("`much` is no number such as 1".to_owned()));
    }
}
