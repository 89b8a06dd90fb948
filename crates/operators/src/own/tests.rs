//! Operators as a user would write them: names, blame for panics, and chains in which several operators expand.

use proptest::prelude::*;
use thalweg_model::{Blame, EventTime, Then};

use super::*;
use crate::filter::Filter;
use crate::map::Map;
use crate::test_bed::Bed;

/// A user's operator that emits, for the value `v`, the values `v-1`, ..., `1`, `0`, or nothing for `v` below
/// zero. It emits one `7` at a watermark, and panics at the value 13.
#[derive(Default)]
struct Countdown {
    /// The next value left to emit for the current record, and its event time.
    left: Option<(EventTime, i64)>,
    read: u64,
}

impl Countdown {
    fn begin(&mut self, event_time: EventTime, value: i64) {
        assert!(self.left.is_none(), "an operator that is stalled takes nothing (O3)");
        self.left = (value > 0).then_some((event_time, value - 1));
    }

    fn emit<O: Output<i64>>(&mut self, output: &mut O) -> Flow {
        while let Some((event_time, value)) = self.left {
            if output.room() == 0 {
                return Flow::More;
            }
            output.push(Record::new(event_time, value));
            self.left = (value > 0).then_some((event_time, value - 1));
        }
        Flow::Done
    }
}

impl Operator<i64> for Countdown {
    type Out = i64;
    const EXPANDS: bool = true;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
        while self.left.is_none() && output.room() > 0 {
            let Some(record) = input.take() else { return };
            self.process_one(record, output);
            self.read += 1;
        }
    }

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        assert!(record.value != 13, "thirteen");
        self.begin(record.event_time, record.value);
        let _stalled_or_done = self.emit(output);
    }

    fn note_read(&mut self, count: u64) {
        self.read += count;
    }

    fn on_mark<O: Output<i64>>(&mut self, mark: Mark, output: &mut O) -> Flow {
        if let Mark::Watermark(watermark) = mark {
            self.begin(watermark, 2);
        }
        self.emit(output)
    }

    fn is_stalled(&self) -> bool {
        self.left.is_some()
    }

    fn resume<O: Output<i64>>(&mut self, output: &mut O) -> Flow {
        self.emit(output)
    }

    fn visit_counts(&self, each: &mut dyn FnMut(&str, Counts)) {
        each("whatever", Counts { read: self.read, forwarded: self.read, ..Counts::default() });
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn countdown(name: &str) -> Own<Countdown> {
    Own::new(name, Countdown::default())
}

/// A user's operator appears under the name that the query gives it, not under its own.
#[test]
fn it_goes_by_the_name_that_it_is_given() {
    let mut bed = Bed::new(countdown("down"));
    assert_eq!(bed.run("2@5 0@6 W6 3@7"), "1@5 0@5 1@6 0@6 W6 2@7 1@7 0@7");
    assert_eq!(bed.counts(), "down: 3 read, 3 forwarded");
}

#[test]
fn a_panic_is_blamed_on_it() {
    assert_eq!(Bed::new(countdown("down")).panics("1@1 13@2"), "down");
    // While a panic unwinds, a user's operator in a chain is told how many records it has read; this call
    // does not change which operator is blamed.
    let same = || Map::new("same", |value: i64| value);
    assert_eq!(Bed::new(Then::new(same(), countdown("down"))).panics("1@1 13@2"), "down");
    let chain = Then::new(same(), Then::new(countdown("first"), Then::new(same(), countdown("down"))));
    assert_eq!(Bed::new(chain).panics("1@1 14@2"), "down");
}

/// A panic in an operator that the user's operator takes records from or pushes records into is not blamed on
/// the user's operator.
#[test]
fn a_panic_of_a_neighbour_is_not_blamed_on_it() {
    let inverse = || Map::new("inverse", |value: i64| 12 / value);
    assert_eq!(Bed::new(Then::new(countdown("down"), inverse())).panics("2@1"), "inverse");
    assert_eq!(Bed::new(Then::new(inverse(), countdown("down"))).panics("0@1"), "inverse");
    assert_eq!(Bed::new(Then::new(inverse(), countdown("down"))).panics("1@1 W2 0@2"), "inverse");

    /// An output that panics and belongs to no operator of the chain, such as a sink.
    struct Broken(Blame);
    impl<T> Output<T> for Broken {
        fn room(&self) -> usize {
            1
        }
        fn push(&mut self, _record: Record<T>) {
            self.0.on(|| panic!("the sink is broken"));
        }
    }
    let mut operator = countdown("down");
    let mut broken = Broken(Blame::default());
    let pushed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        operator.process_one(Record::new(EventTime::EPOCH, 1), &mut broken);
    }));
    assert!(pushed.is_err() && broken.0.is_set());
    assert_eq!(Operator::<i64>::faulted(&operator), None);
}

/// An operator that claims to emit at most one record per record taken, and wrongly leaves records in its
/// input.
struct Lazy;

impl Operator<i64> for Lazy {
    type Out = i64;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, _input: &mut I, _output: &mut O) {}

    fn process_one<O: Output<i64>>(&mut self, _record: Record<i64>, _output: &mut O) {}

    fn note_read(&mut self, _count: u64) {}

    fn visit_counts(&self, _each: &mut dyn FnMut(&str, Counts)) {}

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

#[test]
fn whoever_breaks_the_rules_of_operators_is_told() {
    assert_eq!(Bed::new(Own::new("lazy", Lazy)).panics("1@1"), "lazy");
}

/// A user's operator that emits the sum of all values so far.
#[derive(Default)]
struct Total(i64);

impl Operator<i64> for Total {
    type Out = i64;

    fn process<I: Input<i64>, O: Output<i64>>(&mut self, input: &mut I, output: &mut O) {
        while let Some(record) = input.take() {
            self.process_one(record, output);
        }
    }

    fn process_one<O: Output<i64>>(&mut self, record: Record<i64>, output: &mut O) {
        self.0 += record.value;
        output.push(Record::new(record.event_time, self.0));
    }

    fn note_read(&mut self, _count: u64) {}

    fn visit_counts(&self, _each: &mut dyn FnMut(&str, Counts)) {}

    fn state_bytes(&self) -> usize {
        size_of::<i64>()
    }

    fn faulted(&self) -> Option<&str> {
        None
    }

    fn save(&self, state: &mut StateWriter) -> Result<(), StateError> {
        state.put(&self.0)
    }

    fn load(&mut self, state: &mut StateReader<'_>) -> Result<(), StateError> {
        state.take().map(|total| self.0 = total)
    }
}

#[test]
fn its_state_is_saved_and_counted() {
    let total = || Own::new("total", Total::default());
    let mut bed = Bed::new(total());
    assert_eq!(bed.run("1@1 2@2 W2"), "1@1 3@2 W2");
    assert_eq!(bed.restore_into(total()).run("4@3"), "7@3");
    assert_eq!(Operator::<i64>::state_bytes(&total()), 8);
}

/// Recomputes the output of a countdown operator for the given records and marks.
fn count_down(input: &[String]) -> Vec<String> {
    let mut output = Vec::new();
    for token in input {
        let (value, stamp) = match token.split_once('@') {
            Some((value, stamp)) => (value.parse::<i64>().unwrap(), stamp),
            None => (2, &token[1..]),
        };
        output.extend((0..value).rev().map(|value| format!("{value}@{stamp}")));
        output.extend(token.starts_with('W').then(|| token.clone()));
    }
    output
}

proptest! {
    /// A chain with several operators that expand, also at marks, gives the same output as running the
    /// operators one after the other. The output has as little room as one record.
    #[test]
    fn a_chain_of_operators_that_expand_equals_one_after_the_other(
        room in 1..6usize,
        input in proptest::collection::vec((0..5i64, 0..4u8), 0..20),
    ) {
        let input: Vec<String> = input
            .iter()
            .zip(0..)
            .map(|(&(value, kind), at)| if kind == 0 { format!("W{at}") } else { format!("{value}@{at}") })
            .collect();
        let expected = count_down(&count_down(&count_down(&input)));
        let all = || Filter::new("all", |_: &i64| true);
        let same = || Map::new("same", |value: i64| value);
        let chain = Then::new(
            all(),
            Then::new(
                countdown("first"),
                Then::new(
                    all(),
                    Then::new(countdown("second"), Then::new(countdown("third"), Then::new(same(), all()))),
                ),
            ),
        );
        let mut bed = Bed::new(chain).with_room(room);
        prop_assert_eq!(bed.run(&input.join(" ")), expected.join(" "));
        // Every operator of the chain has read each of its input records once.
        let records = |tokens: &[String]| tokens.iter().filter(|token| token.contains('@')).count();
        let (once, twice) = (count_down(&input), count_down(&count_down(&input)));
        let read = [("first", records(&input)), ("second", records(&once)), ("third", records(&twice))];
        for (name, count) in read.into_iter().filter(|(_, count)| *count > 0) {
            let told = format!("{name}: {count} read, ");
            prop_assert!(bed.counts().contains(&told), "{} lacks {}", bed.counts(), told);
        }
    }
}
