//! Lookups, on the released engine: answers come from another thread, or at times that the simulation chooses,
//! in any order. Every record gets its own answer, none passes a watermark, and no worker waits for an answer.
#![forbid(unsafe_code)]

use std::num::NonZeroU32;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread::JoinHandle;

use thalweg::{
    Chaining, Count, EdgeLimits, Engine, EventTime, Fault, Lookup, LookupOptions, LookupOrder, Query,
    QueryError, Record, Span, Ticket, TumblingWindows, WatermarkStrategy, source::Given,
};
use thalweg_connectors::Collect;
use thalweg_model::Entropy;
use thalweg_testkit::gather::{Expects, Gather};
use thalweg_testkit::sabotage::{Injected, Place};
use thalweg_testkit::seed::entropy_for;
use thalweg_testkit::watchdog::within_bounds;
use thalweg_testkit::{Sabotage, Seeds, Simulation};

const RECORDS: i64 = 2_000;

fn records() -> Given<i64> {
    Given::new((0..RECORDS).map(|n| Record::new(EventTime::from_micros(n), n)).collect())
}

fn options(in_flight_max: u32, order: LookupOrder) -> LookupOptions {
    LookupOptions { in_flight_max: NonZeroU32::new(in_flight_max).unwrap(), order }
}

type Asked = (Ticket, i64);

/// Lookup that squares numbers on a thread of its own. It answers a few questions at a time, in reverse
/// order.
struct Squares {
    questions: Option<Sender<Asked>>,
    answers: Receiver<Asked>,
    waker: Arc<Mutex<Option<Waker>>>,
    thread: Option<JoinHandle<()>>,
}

impl Squares {
    fn new() -> Self {
        let (questions, asked) = channel::<Asked>();
        let (answer, answers) = channel();
        let waker = Arc::new(Mutex::new(None::<Waker>));
        let wakes = Arc::clone(&waker);
        let thread = std::thread::spawn(move || {
            while let Ok(first) = asked.recv() {
                let mut at_hand = vec![first];
                at_hand.extend(asked.try_iter().take(6));
                for (ticket, number) in at_hand.into_iter().rev() {
                    // Sending an answer fails if the query has ended early and dropped the receiver.
                    let _ = answer.send((ticket, number * number));
                }
                let waker = wakes.lock().unwrap().clone();
                waker.expect("it is named before the first question").wake();
            }
        });
        Squares { questions: Some(questions), answers, waker, thread: Some(thread) }
    }
}

impl Lookup for Squares {
    type Question = i64;
    type Answer = i64;

    fn wakes_by(&mut self, waker: &Waker) {
        *self.waker.lock().unwrap() = Some(waker.clone());
    }

    fn ask(&mut self, ticket: Ticket, question: i64) {
        self.questions.as_ref().unwrap().send((ticket, question)).unwrap();
    }

    fn poll(&mut self) -> Option<(Ticket, Result<i64, Fault>)> {
        self.answers.try_recv().ok().map(|(ticket, answer)| (ticket, Ok(answer)))
    }
}

impl Drop for Squares {
    fn drop(&mut self) {
        self.questions = None;
        self.thread.take().unwrap().join().unwrap();
    }
}

#[test]
fn answers_from_another_thread_find_their_records() {
    for (in_flight, order, chaining) in [
        (1, LookupOrder::AsAsked, Chaining::All),
        (7, LookupOrder::AsAsked, Chaining::None),
        (128, LookupOrder::AsAnswered, Chaining::Default),
    ] {
        let found = within_bounds("lookups", move || {
            let edges =
                EdgeLimits { block_records: 7, chunk_blocks: 1, chunks_max: 2, ..EdgeLimits::default() };
            let engine = Engine::builder().workers(2).edges(edges).build().unwrap();
            let (query, sink) = (Query::new("squares"), Collect::new(RECORDS as usize));
            let found = sink.records();
            query
                .source("numbers", records(), WatermarkStrategy::ascending().with_step(Span::from_micros(50)))
                .lookup(Squares::new(), options(in_flight, order), |n| *n, |n, square| Ok((n, square?)))
                .filter(|(n, _)| *n >= 0)
                .sink("squares", sink);
            let report = engine.submit(query.plan(chaining).unwrap()).unwrap().wait().unwrap();
            assert_eq!(report.conservation_error(), None);
            std::mem::take(&mut *found.lock().unwrap())
        });
        let mut values: Vec<(i64, i64)> = found.iter().map(|record| record.value).collect();
        if order == LookupOrder::AsAnswered {
            values.sort_unstable();
        }
        assert_eq!(values, (0..RECORDS).map(|n| (n, n * n)).collect::<Vec<_>>(), "{order:?}");
        assert!(found.iter().all(|record| record.event_time.as_micros() == record.value.0));
    }
}

/// Lookup whose questions wait until the test answers them.
#[derive(Clone, Default)]
struct Desk(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    waker: Option<Waker>,
    asked: Vec<Asked>,
    answered: Vec<(Ticket, Result<i64, Fault>)>,
    in_flight_most: usize,
}

impl Desk {
    /// Answers some of the open questions, in any order. Returns `false` if there is none. Sometimes calls
    /// the waker without an answer.
    fn answer(&self, entropy: &mut dyn Entropy, fails_at: Option<i64>) -> bool {
        let mut files = self.0.lock().unwrap();
        let mut is_any = false;
        while !files.asked.is_empty() && entropy.below(4) > 0 {
            let place = entropy.below(files.asked.len() as u64) as usize;
            let (ticket, number) = files.asked.swap_remove(place);
            let answer = if fails_at == Some(number) {
                Err(Injected { place: Place::Source, visit: 0 }.into())
            } else {
                Ok(-number)
            };
            files.answered.push((ticket, answer));
            is_any = true;
        }
        let waker = files.waker.clone();
        drop(files);
        waker.into_iter().for_each(|waker| waker.wake());
        is_any
    }
}

impl Lookup for Desk {
    type Question = i64;
    type Answer = i64;

    fn wakes_by(&mut self, waker: &Waker) {
        self.0.lock().unwrap().waker = Some(waker.clone());
    }

    fn ask(&mut self, ticket: Ticket, question: i64) {
        let mut files = self.0.lock().unwrap();
        files.asked.push((ticket, question));
        files.in_flight_most = files.in_flight_most.max(files.asked.len() + files.answered.len());
    }

    fn poll(&mut self) -> Option<(Ticket, Result<i64, Fault>)> {
        self.0.lock().unwrap().answered.pop()
    }
}

/// Runs a query that looks up its records and counts the answers per window. The answers come at times that
/// the seed chooses. Returns the counts by the starts of windows, and the outcome of the query.
fn simulate(
    seed: u64,
    order: LookupOrder,
    fails_at: Option<i64>,
) -> (Vec<(i64, u64)>, Result<u64, QueryError>) {
    let mut simulation = Simulation::new(seed);
    let mut entropy = entropy_for(seed, "answers");
    let (query, desk) = (Query::new("negated"), Desk::default());
    let sink = Gather::new(Expects::WindowResults, &Arc::new(Sabotage::default()));
    let gathered = sink.gathered();
    query
        .source("numbers", records(), WatermarkStrategy::ascending().with_step(Span::from_micros(100)))
        .lookup(desk.clone(), options(20, order), |n| *n, |_, negated| negated)
        .key_by(|_| ())
        .tumbling(TumblingWindows::new(Span::from_micros(300)).unwrap())
        .aggregate(Count)
        .sink("counts", sink);
    let index = simulation.submit(query.plan(Chaining::Default).unwrap()).unwrap();
    let mut quiet = 0;
    while quiet < 100 {
        simulation.run_for(20);
        quiet = if desk.answer(&mut entropy, fails_at) { 0 } else { quiet + 1 };
        simulation.disturb();
    }
    simulation.run();
    assert!(desk.0.lock().unwrap().in_flight_most <= 20);
    let counts = gathered.each(|record| (record.value.window.start.as_micros(), record.value.value));
    (counts, simulation.outcome(index).map(|report| report.total(|counts| counts.late)))
}

#[test]
fn no_answer_is_lost_or_late_whenever_it_comes() {
    Seeds::from_env("lookups").one_in(5).each(|seed| {
        let order = if seed % 2 == 0 { LookupOrder::AsAsked } else { LookupOrder::AsAnswered };
        let (counts, outcome) = simulate(seed, order, None);
        let expected: Vec<(i64, u64)> = (0..7).map(|n| (n * 300, if n == 6 { 200 } else { 300 })).collect();
        assert_eq!(counts, expected);
        assert_eq!(outcome.unwrap(), 0);
    });
}

#[test]
fn an_error_that_nobody_makes_a_result_of_fails_the_query() {
    let (_, outcome) = simulate(3, LookupOrder::AsAsked, Some(700));
    assert!(matches!(outcome, Err(QueryError::Connector { .. })), "{outcome:?}");
}

/// A way in which a lookup breaks its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Breach {
    NeverAnswers,
    PanicsWhenAsked,
    PanicsWhenPolled,
    AnswersTwice,
    PanicsWhenDropped,
}

/// Lookup that answers at once, except where it breaks its contract.
struct Breaching(Breach, Vec<Ticket>);

impl Lookup for Breaching {
    type Question = i64;
    type Answer = i64;

    fn wakes_by(&mut self, _waker: &Waker) {}

    fn ask(&mut self, ticket: Ticket, _question: i64) {
        assert!(self.0 != Breach::PanicsWhenAsked, "injected");
        let times = if self.0 == Breach::AnswersTwice { 2 } else { 1 };
        self.1.extend(std::iter::repeat_n(ticket, times));
    }

    fn poll(&mut self) -> Option<(Ticket, Result<i64, Fault>)> {
        assert!(self.0 != Breach::PanicsWhenPolled || self.1.is_empty(), "injected");
        let ticket = self.1.pop().filter(|_| self.0 != Breach::NeverAnswers)?;
        Some((ticket, Ok(7)))
    }
}

impl Drop for Breaching {
    fn drop(&mut self) {
        assert!(self.0 != Breach::PanicsWhenDropped, "injected");
    }
}

/// A lookup that breaks its contract fails only its own query, and the error names the operator. If all
/// questions are answered by then, no query fails. A query that waits forever can be cancelled. The query
/// beside it ends as usual.
#[test]
fn a_lookup_that_breaks_its_contract_breaks_its_query_alone() {
    for breach in [
        Breach::NeverAnswers,
        Breach::PanicsWhenAsked,
        Breach::PanicsWhenPolled,
        Breach::AnswersTwice,
        Breach::PanicsWhenDropped,
    ] {
        within_bounds(&format!("{breach:?}"), move || {
            let engine = Engine::builder().workers(2).build().unwrap();
            let submit = |breach: Option<Breach>| {
                let query = Query::new("squares");
                let numbers = query.source("numbers", records(), WatermarkStrategy::ascending());
                let sink = Collect::new(RECORDS as usize);
                match breach {
                    None => numbers
                        .lookup(Squares::new(), options(7, LookupOrder::AsAsked), |n| *n, |_, square| square)
                        .sink("squares", sink),
                    Some(breach) => numbers
                        .lookup(
                            Breaching(breach, Vec::new()),
                            options(7, LookupOrder::AsAsked),
                            |n| *n,
                            |_, n| n,
                        )
                        .sink("squares", sink),
                }
                engine.submit(query.plan(Chaining::Default).unwrap()).unwrap()
            };
            let (broken, bystander) = (submit(Some(breach)), submit(None));
            assert_eq!(bystander.wait().unwrap().results_out, RECORDS as u64);
            if breach == Breach::NeverAnswers {
                assert_eq!(broken.progress().results_out, 0);
                broken.cancel();
            }
            match (breach, broken.wait()) {
                (Breach::NeverAnswers, Err(error)) => assert_eq!(error.code(), "CANCELLED"),
                (Breach::PanicsWhenDropped, ended) => assert_eq!(ended.unwrap().results_out, RECORDS as u64),
                (_, Err(QueryError::Panicked { operator, .. })) => assert_eq!(operator, "lookup"),
                (_, ended) => panic!("{breach:?}: {ended:?}"),
            }
        });
    }
}
