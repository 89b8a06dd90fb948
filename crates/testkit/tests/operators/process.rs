//! Tests of a user's process function with state per key and timers: it raises an alarm when a key has no
//! more readings.

use thalweg_model::{EventTime, Record, Span};
use thalweg_operators::{KeyedProcess, Process, ProcessContext};
use thalweg_testkit::hostile::Reading;
use thalweg_testkit::oracle;

use crate::inputs::{key_of, union, without_memory};

/// Process function that emits an alarm for each key that has had no reading for this span of time.
struct Silence(Span);

type Context<'a> = ProcessContext<'a, u64, Vec<EventTime>, u64>;

impl KeyedProcess<u64, Reading> for Silence {
    /// Event times of the readings of a key for which a timer is still set.
    type State = Vec<EventTime>;
    type Out = u64;

    const HOLDS: bool = true;

    fn held_bytes(&self, stamps: &Vec<EventTime>) -> usize {
        stamps.capacity() * size_of::<EventTime>()
    }

    fn on_record(&self, _key: &u64, record: Record<Reading>, context: &mut Context<'_>) {
        if record.event_time >= context.late_by() {
            context.state().push(record.event_time);
            context.set_timer(record.event_time.plus(self.0));
        }
    }

    fn on_timer(&self, key: &u64, at: EventTime, context: &mut Context<'_>) {
        let last = at.minus(self.0);
        let stamps = context.state();
        let is_silent = !stamps.iter().any(|&stamp| last < stamp && stamp < at);
        stamps.retain(|&stamp| last < stamp);
        if stamps.is_empty() {
            context.clear();
        }
        if is_silent {
            context.emit(*key);
        }
    }
}

#[test]
fn a_timer_fires_when_the_watermark_reaches_it() {
    union(|sides, bed| {
        let gap_us = sides.sides[0].gap_us;
        let ran = bed.drive(|| Process::new("process", key_of, Silence(Span::from_micros(gap_us))));
        let expected = oracle::alarms(&ran.arrived, gap_us, key_of);
        ran.assert_results(expected.alarms, |row| oracle::Alarm { at_us: row.at_us.into(), key: row.value });
        assert_eq!(ran.total(|counts| counts.folded), ran.arrived.len() as u64);
        ran.assert_keeps_its_promise();
        ran.assert_fires_at(|row| Some(row.at_us));
    });
}

#[test]
fn a_process_without_memory() {
    without_memory(|sides| {
        Process::new("process", key_of, Silence(Span::from_micros(sides.sides[0].gap_us)))
    });
}
