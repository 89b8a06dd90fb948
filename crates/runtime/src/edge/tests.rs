//! A source's watermarks stand behind the same records in every case: whether the records come one by one or
//! in batches, with any number of batches in one poll, and whether a batch is scanned or bisected.

use thalweg_model::{Span, WatermarkStrategy, WatermarkTracker};

use super::*;

struct Batch<const ASCENDING: bool> {
    stamps: Vec<i64>,
    next: usize,
}

impl<const ASCENDING: bool> Input<i64> for Batch<ASCENDING> {
    fn is_ascending(&self) -> bool {
        ASCENDING
    }
    fn remaining(&self) -> usize {
        self.stamps.len() - self.next
    }
    fn inspect<Q>(&self, offset: usize, look: impl FnOnce(&Record<i64>) -> Q) -> Q {
        let stamp = self.stamps[self.next + offset];
        look(&Record::new(EventTime::from_micros(stamp), stamp))
    }
    fn taken(&mut self, count: usize) -> impl Iterator<Item = Record<i64>> {
        let stamps = &self.stamps[self.next..self.next + count];
        self.next += count;
        stamps.iter().map(|stamp| Record::new(EventTime::from_micros(*stamp), *stamp))
    }
    fn taken_selected(&mut self, count: usize, selection: &[u16]) -> impl Iterator<Item = Record<i64>> {
        let taken: Vec<_> = self.taken(count).collect();
        selection.iter().map(move |&offset| taken[usize::from(offset)])
    }
}

#[derive(Default)]
struct Written(Vec<String>);

impl Output<i64> for Written {
    fn room(&self) -> usize {
        usize::MAX
    }
    fn push(&mut self, record: Record<i64>) {
        self.0.push(record.value.to_string());
    }
}

/// Settings of a test: microseconds of event time from one watermark to the next, and the least watermark
/// that makes a difference to any operator.
#[derive(Clone, Copy)]
struct Setting {
    step: i64,
    floor: EventTime,
}

/// Pushes records with these stamps in batches of the given size, or one by one if there is no size. A poll
/// continues with the next batch as long as batches are taken completely. Returns the records and watermarks
/// as text.
fn run<const ASCENDING: bool>(stamps: &[i64], setting: Setting, batch_records: Option<usize>) -> String {
    let Setting { step, floor } = setting;
    let strategy = WatermarkStrategy::ascending().with_step(Span::from_micros(step));
    let mut tracker = WatermarkTracker::new(strategy);
    let mut written = Written::default();
    let mut next = 0;
    while next < stamps.len() {
        let mut watched = Watched::new(&mut tracker, &mut written, floor);
        let mut is_whole = true;
        while is_whole && next < stamps.len() {
            let end = batch_records.map_or(stamps.len(), |records| stamps.len().min(next + records));
            let mut batch = Batch::<ASCENDING> { stamps: stamps[next..end].to_vec(), next: 0 };
            if batch_records.is_some() {
                watched.push_all(&mut batch);
            } else {
                while watched.room() > 0 && batch.remaining() > 0 {
                    batch.take_each(1, |record| watched.push(record));
                }
            }
            next += batch.next;
            is_whole = batch.remaining() == 0;
        }
        if let Some(watermark) = watched.due {
            written.0.push(format!("W{}", watermark.as_micros()));
        }
    }
    written.0.join(" ")
}

fn check(stamps: &[i64], step: i64, expected: &str) {
    check_above(stamps, Setting { step, floor: EventTime::MIN }, expected);
}

fn check_above(stamps: &[i64], setting: Setting, expected: &str) {
    assert_eq!(run::<false>(stamps, setting, None), expected, "one by one");
    for records in 1..=stamps.len() {
        assert_eq!(run::<false>(stamps, setting, Some(records)), expected, "{records} at a time, scanned");
        if stamps.is_sorted() {
            assert_eq!(run::<true>(stamps, setting, Some(records)), expected, "{records} at a time, halved");
        }
    }
}

#[test]
fn marks_stand_behind_the_record_that_makes_them_due() {
    check(&[1, 2, 3, 11, 12, 20, 21, 22], 10, "1 W1 2 3 11 W11 12 20 21 W21 22");
    check(&[5, 5, 5, 6], 1, "5 W5 5 5 6 W6");
    check(&[7], 1, "7 W7");
    check(&[9, 3, 20, 1, 21], 10, "9 W9 3 20 W20 1 21");
}

/// A watermark that no operator needs is not placed on the edge. The watermarks after it keep their
/// positions.
#[test]
fn marks_that_make_no_difference_end_no_run() {
    let above = |step, floor| Setting { step, floor: EventTime::from_micros(floor) };
    check_above(&[1, 2, 3, 11, 12, 20, 21, 22], above(10, 12), "1 2 3 11 12 20 21 W21 22");
    check_above(&[1, 2, 3, 11, 12, 20, 21, 22], above(10, 11), "1 2 3 11 W11 12 20 21 W21 22");
    // The watermark comes behind the record at 14, although the record at 13 has reached the floor.
    // Watermarks are 4 us apart, and the one before, which was left out, was at 10.
    check_above(&[0, 2, 4, 6, 10, 13, 14, 15, 19], above(4, 13), "0 2 4 6 10 13 14 W14 15 19 W19");
    check_above(&[1, 2, 3], above(1, 7), "1 2 3");
    check_above(&[9, 3, 20, 1, 21, 35], above(10, 21), "9 3 20 1 21 35 W35");
    let many: Vec<i64> = (0..300).map(|n| n / 3).collect();
    let shown: Vec<String> = many.iter().map(i64::to_string).collect();
    check_above(&many, above(7, 1_000), &shown.join(" "));
}
