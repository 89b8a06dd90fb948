//! A generator goes on exactly from a saved position, at every pace and in every disorder, as a whole or as splits that are
//! saved at different moments.

use std::panic::{AssertUnwindSafe, catch_unwind};

use thalweg_model::{Entropy, SeededEntropy};

use super::*;

const RECORDS: u64 = 20_000;

type Made = Vec<(EventTime, (u64, EventTime))>;

/// One split, as its task has it.
struct Running {
    source: Paced<Indices<false>>,
    made: Made,
    has_ended: bool,
}

fn running(sources: Vec<Paced<Indices<false>>>) -> Vec<Running> {
    sources.into_iter().map(|source| Running { source, made: Vec::new(), has_ended: false }).collect()
}

impl Running {
    fn poll(&mut self, now_ns: u64, limit: usize) {
        let (records, polled) = poll(&mut self.source, Poll { now_ns, limit, room: usize::MAX });
        self.made.extend(records.into_iter().map(|record| (record.event_time, record.value)));
        self.has_ended = polled.status == SourceStatus::Ended;
    }
}

/// Polls drawn splits to their ends.
fn read_on(splits: &mut [Running], draws: &mut SeededEntropy, now_ns: &mut u64) {
    for _ in 0..100_000 {
        let left: Vec<usize> = (0..splits.len()).filter(|one| !splits[*one].has_ended).collect();
        let Some(one) = left.get(draws.below(left.len().max(1) as u64) as usize) else { return };
        *now_ns += draws.below(10) * MILLI;
        splits[*one].poll(*now_ns, 1 + draws.below(3_000) as usize);
    }
    panic!("no end");
}

fn check(about: &str, sources: &dyn Fn() -> Vec<Paced<Indices<false>>>) {
    let mut whole = running(sources());
    read_on(&mut whole, &mut SeededEntropy::new(0), &mut 0);
    let all: usize = whole.iter().map(|one| one.made.len()).sum();
    assert_eq!(all as u64, RECORDS, "{about}");
    for seed in 0..20 {
        let mut draws = SeededEntropy::new(seed);
        let (mut before, mut now_ns) = (running(sources()), 9 * SECOND);
        let moments: Vec<u64> = before.iter().map(|_| draws.below(3) * draws.below(20)).collect();
        let mut saved_at: Vec<Option<(Vec<u8>, usize, bool)>> = vec![None; before.len()];
        let mut turn = 0;
        while saved_at.contains(&None) {
            for (one, moment) in moments.iter().enumerate() {
                let running = &before[one];
                if saved_at[one].is_none() && (*moment <= turn || running.has_ended) {
                    saved_at[one] = Some((saved(&running.source), running.made.len(), running.has_ended));
                }
            }
            turn += 1;
            now_ns += draws.below(30) * MILLI;
            let one = draws.below(before.len() as u64) as usize;
            before[one].poll(now_ns, 1 + draws.below(3_000) as usize);
        }
        let mut after = running(sources());
        for (one, position) in saved_at.iter().enumerate() {
            let Some((bytes, count, has_ended)) = position else { continue };
            after[one].made = before[one].made[..*count].to_vec();
            // The engine leaves out a source whose stream had ended.
            after[one].has_ended = *has_ended;
            if !has_ended {
                let mut state = StateReader::new(bytes);
                after[one].source.load(&mut state).unwrap();
                state.finish().unwrap();
                assert_eq!(saved(&after[one].source), *bytes, "{about} {seed}");
            }
            let mut damaged = bytes.clone();
            let place = draws.below(bytes.len() as u64) as usize;
            damaged[place] ^= 1 << draws.below(8);
            let mut other = running(sources()).swap_remove(one);
            let poll = AssertUnwindSafe(|| {
                if other.source.load(&mut StateReader::new(&damaged)).is_ok() {
                    (0..5).for_each(|turn| other.poll(10 * SECOND + turn, 100));
                }
            });
            assert!(catch_unwind(poll).is_ok(), "{about} {seed}: {damaged:?}");
            let short = &bytes[..place];
            assert!(other.source.load(&mut StateReader::new(short)).is_err(), "{about} {seed}");
        }
        read_on(&mut after, &mut draws, &mut now_ns);
        for (one, whole) in after.iter().zip(&whole) {
            assert!(one.made == whole.made, "{about} {seed}: other records than without a restart");
        }
    }
}

#[test]
fn positions_of_generators() {
    for splits in [1, 3] {
        for is_paced in [false, true] {
            for (bound_ms, percent) in [(0, 0.0), (3, 0.0), (0, 10.0), (3, 10.0)] {
                let about = format!("{splits} splits, paced {is_paced}, {bound_ms} ms, {percent} % early");
                check(&about, &|| {
                    let source = if is_paced { rate(70_000) } else { drain(200_000) };
                    let source = source.with_disorder(Span::from_millis(bound_ms), 7);
                    let early = EarlyShare { percent, epoch: Span::from_millis(5), seed: 3 };
                    let source = if percent > 0.0 { source.with_early(early) } else { source };
                    source.with_limit(RECORDS).splits(splits)
                });
            }
        }
    }
}

/// A split that is restored without the others, because they had ended, does not wait for them.
#[test]
fn splits_that_had_ended_are_not_waited_for() {
    let splits = || drain(200_000).with_limit(1_000_000).splits(3);
    let bytes = saved(&splits()[1]);
    let mut alone = running(splits());
    alone[1].source.load(&mut StateReader::new(&bytes)).unwrap();
    for _ in 0..1_000 {
        alone[1].poll(0, 10_000);
    }
    assert!(alone[1].has_ended);
}
