//! Lookup join: hand-made cases, and comparison with a list of past events. The question about a value is the value.
//! `=7` says that the answer to question 7 comes, 70, which makes 77 of the record; `!7` that there is none, which
//! makes -7 of it.
//!
//! The bed behaves as a task should: it runs the join only when the waker was called or there is input and room for
//! it. So a wake-up that the contract loses leaves records unprocessed in the end.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use std::task::Wake;

use proptest::prelude::*;
use thalweg_model::{Coded, EventTime};

use super::*;
use crate::bounded_grant::BoundedGrant;
use crate::test_bed::Collected;

/// The error that a lookup returns when there is no answer to a question.
#[derive(Debug)]
struct Unknown;

impl std::fmt::Display for Unknown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("nobody knows")
    }
}

impl std::error::Error for Unknown {}

impl Coded for Unknown {
    fn code(&self) -> &'static str {
        "UNKNOWN"
    }
}

/// The outside service that a lookup asks: its open questions, and its answers that the join has not fetched.
#[derive(Default)]
struct World {
    asked: Vec<(Ticket, i64)>,
    answered: VecDeque<(Ticket, Result<i64, Fault>)>,
    waker: Option<Waker>,
}

#[derive(Clone, Default)]
struct Outside(Arc<Mutex<World>>);

impl Lookup for Outside {
    type Question = i64;
    type Answer = i64;

    fn wakes_by(&mut self, waker: &Waker) {
        self.0.lock().unwrap().waker = Some(waker.clone());
    }

    fn ask(&mut self, ticket: Ticket, question: i64) {
        self.0.lock().unwrap().asked.push((ticket, question));
    }

    fn poll(&mut self) -> Option<(Ticket, Result<i64, Fault>)> {
        self.0.lock().unwrap().answered.pop_front()
    }
}

impl Outside {
    /// Answers the first open question with this number; returns `false` if there is none.
    fn answer(&self, question: i64, is_known: bool) -> bool {
        let mut world = self.0.lock().unwrap();
        let Some(place) = world.asked.iter().position(|&(_, asked)| asked == question) else { return false };
        let (ticket, _) = world.asked.remove(place);
        world.answered.push_back((ticket, if is_known { Ok(10 * question) } else { Err(Unknown.into()) }));
        let waker = world.waker.clone();
        drop(world);
        waker.expect("named before the first question").wake();
        true
    }
}

/// A waker that notes whether it was called.
#[derive(Default)]
struct Called(Mutex<bool>);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap() = true;
    }
}

type Join = LookupJoin<i64, i64, Outside, fn(&i64) -> i64, fn(i64, Result<i64, Fault>) -> Result<i64, Fault>>;

fn options(order: LookupOrder, in_flight_max: u32) -> LookupOptions {
    LookupOptions { in_flight_max: NonZeroU32::new(in_flight_max).unwrap(), order }
}

/// A task with a lookup join at its head, its input edge and its output.
struct Stand {
    join: Join,
    outside: Outside,
    called: Arc<Called>,
    /// The part of the input that the join has not read yet.
    edge: VecDeque<String>,
    room: usize,
    shown: Vec<String>,
}

impl Stand {
    fn new(options: LookupOptions, room: usize) -> Self {
        let outside = Outside::default();
        let combine =
            |value: i64, answer: Result<i64, Fault>| Ok(answer.map_or(-value, |answer| value + answer));
        let mut join: Join = LookupJoin::new("lookup", outside.clone(), options, |value| *value, combine);
        let called = Arc::<Called>::default();
        join.wakes_by(&Waker::from(Arc::clone(&called)));
        Stand { join, outside, called, edge: VecDeque::new(), room, shown: Vec::new() }
    }

    /// Returns whether the task has work: the waker was called, or the join has input and room for it.
    fn has_work(&self) -> bool {
        let can_read = !self.edge.is_empty() && self.join.room() > 0;
        can_read || *self.called.0.lock().unwrap()
    }

    /// Runs the task until it has no more work.
    fn run(&mut self) {
        while self.has_work() {
            *self.called.0.lock().unwrap() = false;
            self.emit();
            while self.join.room() > 0
                && let Some(token) = self.edge.pop_front()
            {
                self.take(&token);
            }
            self.emit();
        }
    }

    fn emit(&mut self) {
        let mut output = Collected::new(self.room);
        loop {
            let emitted = self.join.emit(&mut output).expect("what fails is made good");
            let show = |record: Record<i64>| format!("{}@{}", record.value, record.event_time.as_micros());
            self.shown.extend(output.take().into_iter().map(show));
            match emitted {
                Emitted::All => return,
                Emitted::Mark(Mark::Watermark(watermark)) => {
                    self.shown.push(format!("W{}", watermark.as_micros()));
                }
                Emitted::Mark(Mark::InputWatermark(watermark)) => {
                    self.shown.push(format!("I{}", watermark.as_micros()));
                }
                Emitted::Mark(mark) => self.shown.push(format!("{mark:?}").to_uppercase()),
                Emitted::NoRoom => (),
            }
        }
    }

    fn take(&mut self, token: &str) {
        let instant = |micros: &str| EventTime::from_micros(micros.parse().unwrap());
        if let Some((value, stamp)) = token.split_once('@') {
            return self.join.take(Record::new(instant(stamp), value.parse().unwrap()));
        }
        self.join.mark(match (token, token.split_at(1)) {
            ("END", _) => Mark::End,
            ("IDLE", _) => Mark::Idle,
            ("BARRIER", _) => Mark::Barrier(1),
            (_, ("W", micros)) => Mark::Watermark(instant(micros)),
            (_, ("I", micros)) => Mark::InputWatermark(instant(micros)),
            _ => panic!("{token} is no mark"),
        });
    }

    /// Appends a token of input to the edge or gives an answer, and then runs the task if it has work.
    fn on(&mut self, token: &str) {
        let is_answered = match token.split_at(1) {
            ("=", question) => self.outside.answer(question.parse().unwrap(), true),
            ("!", question) => self.outside.answer(question.parse().unwrap(), false),
            _ => {
                self.edge.push_back(token.to_owned());
                true
            }
        };
        assert!(is_answered, "{token} was not asked");
        self.run();
    }
}

/// A barrier comes out behind all records before it, so nothing is in flight when the state is saved. State with records in
/// flight is refused.
#[test]
fn nothing_is_in_flight_behind_a_barrier() {
    let mut stand = Stand::new(options(LookupOrder::AsAnswered, 4), 9);
    for token in ["1@1", "2@2", "BARRIER"] {
        stand.on(token);
    }
    let error = stand.join.save(&mut StateWriter::default()).unwrap_err();
    assert!(error.to_string().contains("`lookup` has records in flight"), "{error}");
    stand.on("=2");
    stand.on("=1");
    assert_eq!(stand.shown.last().map(String::as_str), Some("BARRIER(1)"));
    let mut state = StateWriter::default();
    stand.join.save(&mut state).unwrap();
    let bytes = state.into_bytes();
    let mut other = Stand::new(options(LookupOrder::AsAnswered, 4), 9);
    other.join.load(&mut StateReader::new(&bytes)).unwrap();
    other.on("3@3");
    other.on("=3");
    assert_eq!(other.shown, ["33@3"]);
}

const ORDERS: [LookupOrder; 2] = [LookupOrder::AsAsked, LookupOrder::AsAnswered];

#[track_caller]
fn check_with(options: LookupOptions, input: &str, expected: &str) {
    for room in [1, 2, 1_000] {
        let mut stand = Stand::new(options, room);
        input.split_whitespace().for_each(|token| stand.on(token));
        assert_eq!(stand.shown.join(" "), expected, "{options:?} with room for {room}");
    }
}

#[track_caller]
fn check(order: LookupOrder, input: &str, expected: &str) {
    check_with(options(order, 10), input, expected);
}

#[test]
fn answers_go_on_in_the_order_of_questions_or_as_they_come() {
    check(LookupOrder::AsAsked, "1@5 2@3 3@9 =2 =1 =3", "11@5 22@3 33@9");
    check(LookupOrder::AsAnswered, "1@5 2@3 3@9 =2 =1 =3", "22@3 11@5 33@9");
    check(LookupOrder::AsAsked, "1@5 2@3 3@9 =3 =2", "");
    check(LookupOrder::AsAnswered, "1@5 2@3 3@9 =3 =2", "33@9 22@3");
}

#[test]
fn no_answer_goes_past_a_mark_and_no_mark_past_a_question() {
    check(LookupOrder::AsAnswered, "1@5 2@5 W6 3@7 =3 =2", "22@5");
    check(LookupOrder::AsAnswered, "1@5 2@5 W6 3@7 =3 =2 =1", "22@5 11@5 W6 33@7");
    check(LookupOrder::AsAsked, "1@5 2@5 W6 3@7 =3 =2", "");
    check(LookupOrder::AsAsked, "1@5 2@5 W6 3@7 =3 =2 =1", "11@5 22@5 W6 33@7");
    for order in ORDERS {
        check(order, "W4 1@5 END =1", "W4 11@5 END");
        check(order, "W4 END", "W4 END");
    }
}

/// The questions of records behind a watermark are asked while that watermark waits for answers, also where a
/// watermark follows every record.
#[test]
fn watermarks_hold_no_question_back() {
    for order in ORDERS {
        check(order, "1@1 W1 2@2 W2 3@3 W3 =3 =2", "");
        check(order, "1@1 W1 2@2 W2 3@3 W3 =3 =2 =1", "11@1 W1 22@2 W2 33@3 W3");
    }
}

#[test]
fn watermarks_with_nothing_between_them_become_one() {
    for order in ORDERS {
        check(order, "W1 W2 1@5 W3 W4 W5 =1 W6", "W1 W2 11@5 W5 W6");
        check(order, "1@5 I3 I4 W3 IDLE W3 I7 =1", "11@5 I4 W3 IDLE W3 I7");
    }
}

/// No more questions than the limit are open at any time, in any order of input and answers.
#[test]
fn so_many_questions_are_in_flight() {
    for order in ORDERS {
        let two = options(order, 2);
        check_with(
            two,
            "1@1 2@2 3@3 4@4 =2 =1 =3 =4",
            match order {
                LookupOrder::AsAsked => "11@1 22@2 33@3 44@4",
                LookupOrder::AsAnswered => "22@2 11@1 33@3 44@4",
            },
        );
        check_with(options(order, 1), "1@1 2@2 W2 3@3 =1 =2 =3", "11@1 22@2 W2 33@3");
        let mut stand = Stand::new(two, 1);
        "1@1 2@2 3@3 W3 4@4".split_whitespace().for_each(|token| stand.on(token));
        assert_eq!((stand.outside.0.lock().unwrap().asked.len(), stand.edge.len()), (2, 3));
    }
    // With results in the order of the records, an answer that must wait keeps its slot. With results in the
    // order of the answers, it makes room at once.
    let mut stand = Stand::new(options(LookupOrder::AsAsked, 2), 1);
    "1@1 2@2 3@3 =2".split_whitespace().for_each(|token| stand.on(token));
    assert_eq!(stand.outside.0.lock().unwrap().asked.len(), 1);
    let mut stand = Stand::new(options(LookupOrder::AsAnswered, 2), 1);
    "1@1 2@2 3@3 =2 4@4 =3 5@5 =4".split_whitespace().for_each(|token| stand.on(token));
    assert_eq!(stand.outside.0.lock().unwrap().asked.len(), 2);
}

/// Marks that cannot be merged, such as idleness, are limited in number as well.
#[test]
fn marks_take_room_too() {
    let mut stand = Stand::new(options(LookupOrder::AsAnswered, 3), 1);
    stand.on("1@1");
    (0..100).for_each(|_| stand.on("IDLE"));
    assert!((90..100).contains(&stand.edge.len()), "{} are left to read", stand.edge.len());
    stand.on("=1");
    assert_eq!((stand.shown.len(), stand.edge.len()), (101, 0));
}

#[test]
fn counts_are_of_what_was_taken() {
    let mut stand = Stand::new(options(LookupOrder::AsAsked, 2), 1);
    "1@1 2@2 3@3 =2".split_whitespace().for_each(|token| stand.on(token));
    stand.join.visit_counts(&mut |name, counts| {
        assert!(counts.is_conserved());
        assert_eq!((name, counts.read, counts.forwarded), ("lookup", 2, 2));
    });
    assert!(!stand.join.is_empty());
}

#[test]
fn what_fails_is_seen_by_the_function() {
    check(LookupOrder::AsAsked, "1@5 2@3 !1 =2", "-1@5 22@3");
    // If the function that makes results returns an error, the query ends with this error.
    let outside = Outside::default();
    let combine = |value: i64, answer: Result<i64, Fault>| Ok(value + answer?);
    let mut join =
        LookupJoin::new("strict", outside.clone(), LookupOptions::default(), |value: &i64| *value, combine);
    join.wakes_by(Waker::noop());
    (1..=2).for_each(|value| join.take(Record::new(EventTime::EPOCH, value)));
    assert!(outside.answer(2, true) && outside.answer(1, false));
    let fault = join.emit(&mut Collected::new(10)).unwrap_err();
    assert_eq!((fault.code(), join.faulted()), ("UNKNOWN", None));
}

#[test]
fn panics_are_blamed_on_it() {
    let blamed = |question: fn(&i64) -> i64, combine: fn(i64) -> i64, answers: &[usize]| {
        let outside = Outside::default();
        let combine = move |value: i64, _: Result<i64, Fault>| Ok(combine(value));
        let mut join = LookupJoin::new("own", outside.clone(), LookupOptions::default(), question, combine);
        join.wakes_by(Waker::noop());
        let mut run = || {
            (0..3).for_each(|value| join.take(Record::new(EventTime::EPOCH, value)));
            let tickets: Vec<Ticket> = outside.0.lock().unwrap().asked.iter().map(|asked| asked.0).collect();
            for &place in answers {
                outside.0.lock().unwrap().answered.push_back((tickets[place], Ok(0)));
                let _emitted = join.emit(&mut Collected::new(10));
            }
        };
        let result = catch_unwind(AssertUnwindSafe(&mut run));
        assert_eq!(result.is_err(), join.faulted().is_some());
        join.faulted().map(str::to_owned)
    };
    assert_eq!(blamed(|value| *value, |value| value, &[0, 1, 2]), None);
    assert_eq!(blamed(|value| 1 / value, |value| value, &[]), Some("own".to_owned()));
    assert_eq!(blamed(|value| *value, |value| 1 / value, &[0]), Some("own".to_owned()));
    // A lookup that answers one question twice panics in the join, and the join is blamed. The second answer
    // comes before the slot is used again, and after.
    assert_eq!(blamed(|value| *value, |value| value, &[1, 1]), Some("own".to_owned()));
    assert_eq!(blamed(|value| *value, |value| value, &[0, 0]), Some("own".to_owned()));
}

/// The ticket of an earlier use of a slot is not valid for the later use.
#[test]
fn a_ticket_is_good_for_one_answer() {
    let mut in_flight = InFlight::<i64, i64>::new(options(LookupOrder::AsAsked, 1), Allowance::default());
    let record = |value| Record::new(EventTime::EPOCH, value);
    let first = in_flight.put(record(1)).unwrap();
    in_flight.answer(first, Ok).unwrap();
    assert_eq!(in_flight.next_record(), Some(record(1)));
    let second = in_flight.put(record(2)).unwrap();
    assert_ne!(first, second);
    let again = catch_unwind(AssertUnwindSafe(|| in_flight.answer(first, Ok).is_ok()));
    assert!(again.is_err());
    in_flight.answer(second, Ok).unwrap();
    assert_eq!(in_flight.next_record(), Some(record(2)));
}

#[test]
fn memory_is_asked_for_and_bounded() {
    let bounded_grant = BoundedGrant::of(usize::MAX);
    let mut stand = Stand::new(options(LookupOrder::AsAnswered, 16), 10);
    stand.join.fund(&bounded_grant.allowance());
    for value in 0..1_000 {
        stand.on(&format!("{value}@{value}"));
        stand.on(&format!("W{value}"));
        if value % 3 > 0 {
            stand.on(&format!("={value}"));
        }
        assert!(stand.join.state_bytes() <= bounded_grant.granted());
        if value % 3 == 2 {
            stand.on(&format!("={}", value - 2));
        }
    }
    assert!(bounded_grant.granted() <= 16 * 128, "{} bytes for 16 records", bounded_grant.granted());
    // A lookup join that is refused memory drops records without a panic; the query is about to fail.
    let mut stand = Stand::new(options(LookupOrder::AsAsked, 16), 10);
    stand.join.fund(&BoundedGrant::of(100).allowance());
    (0..10).for_each(|value| stand.on(&format!("{value}@{value}")));
}

/// A model of the join: a list of all records and marks that came, with a note which of them are emitted.
#[derive(Default)]
struct List {
    items: Vec<Item>,
    answered: usize,
    shown: Vec<String>,
}

struct Item {
    text: String,
    value: Option<i64>,
    /// For an answered item of the list: the number of answers that had come by then, its own included.
    answered: Option<usize>,
    is_through: bool,
}

impl List {
    fn on(&mut self, token: &str, order: LookupOrder) {
        if let Some(question) = token.strip_prefix('=') {
            let question = question.parse().unwrap();
            let is_open = |item: &&mut Item| item.value == Some(question) && item.answered.is_none();
            self.answered += 1;
            self.items.iter_mut().find(is_open).unwrap().answered = Some(self.answered);
        } else {
            let value = token.split_once('@').map(|(value, _)| value.parse().unwrap());
            self.items.push(Item { text: token.to_owned(), value, answered: None, is_through: false });
        }
        while let Some(place) = self.next(order) {
            let item = &mut self.items[place];
            item.is_through = true;
            let text =
                item.text.split_once('@').map(|(_, stamp)| format!("{}@{stamp}", 11 * item.value.unwrap()));
            self.shown.push(text.unwrap_or_else(|| item.text.clone()));
        }
    }

    /// Returns the index of the item that may be emitted next: the first one, or, with results in the order
    /// of the answers, the first one answered before the next mark.
    fn next(&self, order: LookupOrder) -> Option<usize> {
        let first = self.items.iter().position(|item| !item.is_through)?;
        let is_mark = |item: &Item| item.value.is_none();
        let rest = &self.items[first..];
        if is_mark(&rest[0]) {
            return Some(first);
        }
        let until = match order {
            LookupOrder::AsAsked => 1,
            LookupOrder::AsAnswered => rest.iter().position(is_mark).unwrap_or(rest.len()),
        };
        (first..first + until)
            .filter(|&place| !self.items[place].is_through && self.items[place].answered.is_some())
            .min_by_key(|&place| self.items[place].answered)
    }
}

proptest! {
    /// After every step, the join has emitted the same results as the list; there is room for all questions.
    #[test]
    fn equals_a_list(
        room in 1..5usize,
        is_ordered: bool,
        acts in proptest::collection::vec((0..100i64, 0..10u8), 0..80),
    ) {
        let order = if is_ordered { LookupOrder::AsAsked } else { LookupOrder::AsAnswered };
        let (mut stand, mut list) = (Stand::new(options(order, 100), room), List::default());
        for &(number, kind) in &acts {
            let open: Vec<i64> = stand.outside.0.lock().unwrap().asked.iter().map(|asked| asked.1).collect();
            let token = match kind {
                // A mark that cannot be merged with the mark next to it.
                0..2 => "IDLE".to_owned(),
                2..6 => format!("{number}@{}", number - 50),
                _ if open.is_empty() => continue,
                _ => format!("={}", open[number as usize % open.len()]),
            };
            stand.on(&token);
            list.on(&token, order);
            prop_assert_eq!(&stand.shown, &list.shown);
        }
    }

    /// With few questions in flight, everything is emitted in its order in the end, and nothing is lost.
    #[test]
    fn nothing_is_forgotten(
        room in 1..4usize,
        in_flight_max in 1..5u32,
        is_ordered: bool,
        acts in proptest::collection::vec((0..100i64, 0..10u8), 0..80),
    ) {
        let order = if is_ordered { LookupOrder::AsAsked } else { LookupOrder::AsAnswered };
        let mut stand = Stand::new(options(order, in_flight_max), room);
        let (mut written, mut watermark) = (Vec::new(), 0);
        let answer = |stand: &mut Stand, number: i64| {
            let open: Vec<i64> = stand.outside.0.lock().unwrap().asked.iter().map(|asked| asked.1).collect();
            prop_assert!(open.len() <= in_flight_max as usize);
            if !open.is_empty() {
                stand.on(&format!("={}", open[number as usize % open.len()]));
            }
            Ok(())
        };
        for &(number, kind) in &acts {
            match kind {
                0..3 => {
                    watermark += 1;
                    written.push(format!("W{watermark}"));
                    stand.on(written.last().unwrap());
                }
                3..7 => {
                    written.push(format!("{}@{number}", written.len()));
                    stand.on(written.last().unwrap());
                }
                _ => answer(&mut stand, number)?,
            }
        }
        for number in 0..acts.len() as i64 {
            answer(&mut stand, number)?;
        }
        prop_assert!(stand.edge.is_empty() && stand.join.is_empty() && !stand.has_work());
        // A watermark that was replaced by the next one is missing from the output; all others are in their
        // places.
        let shown: Vec<&str> = stand.shown.iter().map(String::as_str).collect();
        let mut marks = shown.iter().filter(|token| token.starts_with('W')).peekable();
        let mut expected: Vec<Vec<String>> = vec![Vec::new()];
        for (place, token) in written.iter().enumerate() {
            let is_last = written.get(place + 1).is_none_or(|next| next.contains('@'));
            if let Some((value, stamp)) = token.split_once('@') {
                expected.last_mut().unwrap().push(format!("{}@{stamp}", 11 * value.parse::<i64>().unwrap()));
            } else if marks.next_if(|mark| *mark == token).is_some() {
                expected.push(Vec::new());
            } else {
                prop_assert!(!is_last, "{token} is missing");
            }
        }
        prop_assert!(marks.peek().is_none());
        let mut got: Vec<Vec<String>> = vec![Vec::new()];
        for token in shown {
            if token.starts_with('W') {
                got.push(Vec::new());
            } else {
                got.last_mut().unwrap().push(token.to_owned());
            }
        }
        if !is_ordered {
            got.iter_mut().chain(&mut expected).for_each(|part| part.sort_unstable());
        }
        prop_assert_eq!(got, expected);
    }
}
