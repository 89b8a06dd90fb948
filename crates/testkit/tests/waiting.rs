//! Tasks that wait for external answers run after they are notified, and not before: none polls.
//!
//! In the simulation the external world is another query of the same engine, whose source answers one question
//! whenever it is polled. So notifications come in the middle of other steps, from any worker, as the seed
//! decides. With threads there is one thread per query. `lookups.rs` checks that answers are right; this file
//! checks how often a task polls in vain.
#![forbid(unsafe_code)]

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::thread;

use thalweg::{
    Chaining, Engine, EventTime, Graph, Lookup, LookupOptions, LookupOrder, Query, Record, Ticket,
    WatermarkStrategy,
};
use thalweg_model::{
    Entropy, Fault, Output, Polled, ProcessingTime, SeededEntropy, Source, SourceStatus, Span, StateError,
    StateReader, StateWriter,
};
use thalweg_testkit::Seeds;
use thalweg_testkit::gather::{Expects, Gather, Gathered};
use thalweg_testkit::script::Script;
use thalweg_testkit::seed::entropy_for;
use thalweg_testkit::sim::{Event, Simulation};
use thalweg_testkit::watchdog::within_bounds;

const RECORDS: i64 = 200;

/// Largest number of polls of lookups without an answer in one run: some for each record and mark that is
/// read, for each answer, and each time that room is made. A task that polls without being notified makes
/// more than five times as many.
const VAIN_POLLS_MAX: u64 = 4_000;

/// The outside service of a lookup: its open questions, its answers, and the number of polls that found no
/// answer.
#[derive(Default)]
struct World {
    asked: Vec<(Ticket, i64)>,
    answered: VecDeque<(Ticket, i64)>,
    waker: Option<Waker>,
    answer_count: i64,
    vain_polls: u64,
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
        let mut world = self.0.lock().unwrap();
        let answer = world.answered.pop_front();
        world.vain_polls += u64::from(answer.is_none());
        answer.map(|(ticket, answer)| (ticket, Ok(answer)))
    }
}

impl Outside {
    /// Answers a random question among those that the lookup has asked, if there is one.
    fn answer_one(&self, entropy: &mut dyn Entropy) {
        let mut world = self.0.lock().unwrap();
        if world.asked.is_empty() {
            return;
        }
        let place = entropy.below(world.asked.len() as u64) as usize;
        let (ticket, question) = world.asked.swap_remove(place);
        world.answered.push_back((ticket, 10 * question));
        world.answer_count += 1;
        let waker = world.waker.clone().expect("named before the first question");
        drop(world);
        waker.wake();
    }
}

/// Source that answers one question of the lookup in each poll, until all records are answered.
struct Answers(Outside, SeededEntropy);

impl Source for Answers {
    type Item = i64;

    fn poll<O: Output<i64>>(&mut self, now: ProcessingTime, _: usize, _: &mut O) -> Result<Polled, Fault> {
        let Answers(outside, entropy) = self;
        outside.answer_one(entropy);
        let is_over = outside.0.lock().unwrap().answer_count == RECORDS;
        let next = SourceStatus::IdleUntil(now.plus_nanos(1 + entropy.below(10_000)));
        Ok(Polled::new(if is_over { SourceStatus::Ended } else { next }))
    }

    fn save(&self, _state: &mut StateWriter) -> Result<(), StateError> {
        Ok(())
    }

    fn load(&mut self, _state: &mut StateReader<'_>) -> Result<(), StateError> {
        Ok(())
    }
}

fn records() -> impl Iterator<Item = Record<i64>> {
    (0..RECORDS).map(|value| Record::new(EventTime::from_micros(value / 3), value))
}

/// Creates a query of a source, a lookup, a map and a sink. Each is a task of its own, so that the lookup may
/// run out of room.
fn asking<L: Lookup<Question = i64, Answer = i64>>(
    lookup: L,
    order: LookupOrder,
    in_flight_max: u32,
    source: Script<i64>,
) -> (Graph, Gathered<i64>) {
    let options = LookupOptions { in_flight_max: NonZeroU32::new(in_flight_max).unwrap(), order };
    let sink = Gather::new(Expects::Anything, &Arc::default());
    let (seen, query) = (sink.gathered(), Query::new("asking"));
    query
        .source("source", source, WatermarkStrategy::ascending().with_step(Span::ZERO))
        .lookup(lookup, options, |value| *value, |value, answer| Ok(value + answer?))
        .map(|value| value + 1)
        .sink("sink", sink);
    (query.plan(Chaining::None).expect("the stream ends in a sink"), seen)
}

fn check(seen: &Gathered<i64>, order: LookupOrder) {
    assert_eq!(seen.broken_rule(), None);
    assert!(seen.is_published());
    let mut got = seen.each(|record| (record.event_time, record.value));
    if order == LookupOrder::AsAnswered {
        // A watermark follows the first record of every event time, and no record passes a watermark. So each
        // record comes before those records whose event time is at least two microseconds later.
        let mut latest = EventTime::MIN;
        for &(event_time, _) in &got {
            assert!(latest <= event_time.plus(Span::from_micros(1)), "{event_time:?} behind {latest:?}");
            latest = latest.max(event_time);
        }
        got.sort_unstable();
    }
    let expected: Vec<_> = records().map(|record| (record.event_time, 11 * record.value + 1)).collect();
    assert_eq!(got, expected);
}

#[test]
fn every_answer_is_seen_whatever_the_interleaving() {
    Seeds::from_env("waiting").each(|seed| {
        let mut entropy = entropy_for(seed, "waiting");
        let order = [LookupOrder::AsAsked, LookupOrder::AsAnswered][entropy.below(2) as usize];
        // With many questions in flight, one answer releases more results than the output has room for.
        let in_flight_max = [1, 3, 20, 300][entropy.below(4) as usize];
        let outside = Outside::default();
        let mut simulation = Simulation::new(seed);
        let source = Script::new(records(), &Arc::default()).with_pauses(&mut entropy);
        let (graph, seen) = asking(outside.clone(), order, in_flight_max, source);
        let asking = match simulation.submit(graph) {
            Ok(asking) => asking,
            // The seed drew a memory budget that is too small for the query.
            Err(_) => return,
        };
        let (query, sink) = (Query::new("answers"), Gather::new(Expects::Anything, &Arc::default()));
        let source = Answers(outside.clone(), entropy_for(seed, "answers"));
        query.source("answers", source, WatermarkStrategy::ascending()).sink("sink", sink);
        simulation.submit(query.plan(Chaining::All).unwrap()).expect("it has no edges");
        if entropy.below(4) == 0 {
            let at = entropy.below(2_000);
            simulation.at_action(at, Event::Pause(asking));
            simulation.at_action(at + entropy.below(2_000), Event::Resume(asking));
        }
        simulation.run();
        simulation.outcome(asking).expect("it ends");
        check(&seen, order);
        let world = outside.0.lock().unwrap();
        assert!(world.vain_polls < VAIN_POLLS_MAX, "{} polls in vain", world.vain_polls);
    });
}

/// A query that waits for an answer which never comes can be cancelled, and takes no processor time while it
/// waits.
#[test]
fn who_waits_for_ever_can_be_cancelled() {
    let outside = Outside::default();
    let mut simulation = Simulation::new(1);
    let source = Script::new(records(), &Arc::default());
    let (graph, _) = asking(outside.clone(), LookupOrder::AsAsked, 5, source);
    let asking = simulation.submit(graph).expect("the budget is ample");
    simulation.run_for(100_000);
    assert!(simulation.actions() < 20_000, "{} actions", simulation.actions());
    assert_eq!(outside.0.lock().unwrap().asked.len(), 5);
    simulation.at_action(0, Event::Cancel(asking));
    simulation.run();
    simulation.outcome(asking).expect_err("it was cancelled");
    // An answer that comes after the cancel is accepted and has no effect.
    outside.answer_one(&mut SeededEntropy::new(1));
}

/// Lookup that answers questions on threads of its own.
struct Threads {
    world: Outside,
    wanted: Sender<u64>,
}

impl Lookup for Threads {
    type Question = i64;
    type Answer = i64;

    fn wakes_by(&mut self, waker: &Waker) {
        self.world.wakes_by(waker);
    }

    fn ask(&mut self, ticket: Ticket, question: i64) {
        self.world.ask(ticket, question);
        let _ = self.wanted.send(question as u64);
    }

    fn poll(&mut self) -> Option<(Ticket, Result<i64, Fault>)> {
        self.world.poll()
    }
}

#[test]
fn threads_answer() {
    for workers in 1..=3 {
        for order in [LookupOrder::AsAsked, LookupOrder::AsAnswered] {
            within_bounds("a lookup with threads", move || {
                let engine = Engine::builder().workers(workers).build().expect("settings lie in their range");
                for round in 0..20 {
                    let world = Outside::default();
                    let (wanted, tasks) = channel::<u64>();
                    let answering = world.clone();
                    let thread = thread::spawn(move || {
                        let mut entropy = SeededEntropy::new(round);
                        while tasks.recv().is_ok() {
                            (0..entropy.below(50)).for_each(|_| thread::yield_now());
                            answering.answer_one(&mut entropy);
                        }
                    });
                    let source = Script::new(records(), &Arc::default());
                    let lookup = Threads { world: world.clone(), wanted };
                    let (graph, seen) = asking(lookup, order, 1 + round as u32, source);
                    engine.submit(graph).expect("the budget is ample").wait().expect("it ends");
                    thread.join().expect("it ends when nobody asks any more");
                    check(&seen, order);
                    let world = world.0.lock().unwrap();
                    assert!(world.vain_polls < VAIN_POLLS_MAX, "{} polls in vain", world.vain_polls);
                }
            });
        }
    }
}
