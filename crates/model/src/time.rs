//! Instants and spans: event time (when something happened, by its own stamp) and processing time (when the
//! engine handled it, by the injected clock). The two are different types, so they cannot be mixed.
//!
//! Arithmetic saturates at the ends of the range: a stamp in the far future may be absurd, but it must not wrap
//! into the past. `EventTime::MIN` and `EventTime::MAX` are valid instants.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An instant of event time: microseconds since the Unix epoch, negative before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct EventTime(i64);

impl EventTime {
    /// The earliest instant; a watermark of this instant promises nothing.
    pub const MIN: EventTime = EventTime(i64::MIN);
    /// The latest instant; a watermark of this instant says that the stream has ended.
    pub const MAX: EventTime = EventTime(i64::MAX);
    /// The Unix epoch, 1970-01-01 at 00:00 UTC.
    pub const EPOCH: EventTime = EventTime(0);

    /// Returns the instant `micros` microseconds after the Unix epoch.
    #[inline]
    pub const fn from_micros(micros: i64) -> Self {
        EventTime(micros)
    }

    /// Returns the instant `seconds` seconds after the Unix epoch, or the end of the range if there is no
    /// such instant.
    pub const fn from_secs(seconds: i64) -> Self {
        EventTime(seconds.saturating_mul(1_000_000))
    }

    /// Returns the microseconds since the Unix epoch.
    #[inline]
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns this instant plus `span`; at most [`EventTime::MAX`].
    #[inline]
    pub const fn plus(self, span: Span) -> Self {
        EventTime(self.0.saturating_add(span.0))
    }

    /// Returns this instant minus `span`; at least [`EventTime::MIN`].
    #[inline]
    pub const fn minus(self, span: Span) -> Self {
        EventTime(self.0.saturating_sub(span.0))
    }

    /// Returns the span from `earlier` to this instant; negative if `earlier` is later. The span is bounded
    /// by the range of [`Span`].
    #[inline]
    pub const fn since(self, earlier: EventTime) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

/// A length of time in microseconds. Signed, because the span between two instants may be negative.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Span(i64);

impl Span {
    /// The span of length zero.
    pub const ZERO: Span = Span(0);
    /// The longest span that can be represented.
    pub const MAX: Span = Span(i64::MAX);

    /// Returns a span of `micros` microseconds.
    #[inline]
    pub const fn from_micros(micros: i64) -> Self {
        Span(micros)
    }

    /// Returns a span of `millis` milliseconds, or the longest span if it cannot be represented.
    pub const fn from_millis(millis: i64) -> Self {
        Span(millis.saturating_mul(1_000))
    }

    /// Returns a span of `seconds` seconds, or the longest span if it cannot be represented.
    pub const fn from_secs(seconds: i64) -> Self {
        Span(seconds.saturating_mul(1_000_000))
    }

    /// Returns the length of the span of time in microseconds.
    #[inline]
    pub const fn as_micros(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => write!(f, "0s"),
            micros if micros % 1_000_000 == 0 => write!(f, "{}s", micros / 1_000_000),
            micros if micros % 1_000 == 0 => write!(f, "{}ms", micros / 1_000),
            micros => write!(f, "{micros}us"),
        }
    }
}

/// An instant of processing time: nanoseconds since the Unix epoch, from the injected [`crate::Clock`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct ProcessingTime(u64);

impl ProcessingTime {
    /// The earliest instant of processing time.
    pub const ZERO: ProcessingTime = ProcessingTime(0);
    /// An instant later than any reading of a clock; stands for "never".
    pub const NEVER: ProcessingTime = ProcessingTime(u64::MAX);

    /// Returns the instant `nanos` nanoseconds after the Unix epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        ProcessingTime(nanos)
    }

    /// Returns the nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the instant `nanos` nanoseconds after this one, at most [`ProcessingTime::NEVER`].
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        ProcessingTime(self.0.saturating_add(nanos))
    }

    /// Returns the nanoseconds from `earlier` to this instant; zero if `earlier` is later.
    pub const fn nanos_since(self, earlier: ProcessingTime) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arithmetic with stamps at the ends of the range does not wrap: a stamp in the far future never becomes
    /// one in the past.
    #[test]
    fn arithmetic_saturates_at_both_ends() {
        assert_eq!(EventTime::MAX.plus(Span::from_secs(1)), EventTime::MAX);
        assert_eq!(EventTime::MIN.minus(Span::from_secs(1)), EventTime::MIN);
        assert_eq!(EventTime::MAX.since(EventTime::MIN), Span::MAX);
        assert_eq!(Span::from_secs(i64::MAX), Span::MAX);
        assert_eq!(ProcessingTime::NEVER.plus_nanos(1), ProcessingTime::NEVER);
        assert_eq!(ProcessingTime::ZERO.nanos_since(ProcessingTime::NEVER), 0);
    }

    #[test]
    fn spans_print_in_the_largest_whole_unit() {
        let shown: Vec<String> = [0, 7, 2_000, 3_000_000, 1_500_000, -1_000]
            .into_iter()
            .map(|micros| Span::from_micros(micros).to_string())
            .collect();
        assert_eq!(shown, ["0s", "7us", "2ms", "3s", "1500ms", "-1ms"]);
    }
}
