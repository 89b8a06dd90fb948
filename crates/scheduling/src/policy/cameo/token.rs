//! `cameo_token`: records admitted with a token go first, ordered by the tags of the tokens, so that queries receive
//! in proportion to their rates.
//!
//! Paper      Cameo (NSDI 2021), section 5.4, "Proportional Fair Scheduling"
//! Class      0: operators that have waited for longer than the starvation bound, the longest first; 1: the head has
//!            a token; 2: it has none
//! Score      in class 1 the earlier the tag, the higher; in class 2 the earlier the head was observed at its source
//! Eligible   pending > 0 and every output has room
//! Quantum    one block
//! Starves    none, by class 0; heads with a token would not starve without it either, as tags are instants
//! Symbols    PRI_global: the tag, `head.token`
//! Differs    Tags order blocks of all queries, so beyond capacity the shares of all shrink alike, as in the paper;
//!            records without a token have no order there. Within an operator the first arrival runs first, where the
//!            paper goes by the interval of the tag: tags of one source only rise. Class 0 is ours: in the paper
//!            traffic without a token may starve. Its bound is one interval of tokens, not the 10 ms of other
//!            policies: an operator with 12 tokens per second has its turn every 83 ms, and if it counted as starving
//!            it would get as much as operators with 24. The grain of 1 ms does not apply here for the same reason:
//!            within it an operator would take what others have tokens for

use crate::parameters::Parameter;
use crate::policy::ageing::Patience;
use crate::policy::{Policy, Scale};
use crate::rank::{Origin, Rank};
use crate::snapshot::{Fields, OperatorId, Snapshot};

/// The name by which users choose this policy, in which tokens order the records.
pub const NAME: &str = "cameo_token";

/// Class of ranks for operators whose next record has a token. Class 0 is that of starving operators.
const WITH_TOKEN: u8 = 1;
const WITHOUT_TOKEN: u8 = 2;

/// The starvation bound in ns: the interval over which tokens are spread (section 5.4, "e.g., 1 sec").
const STARVATION_NS: u64 = 1_000_000_000;

/// Cameo's token policy: records with tokens run before records without.
#[derive(Clone, Copy, Debug, Default)]
pub struct CameoToken {
    origin: Origin,
    patience: Patience,
}

impl Policy for CameoToken {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reads(&self) -> Fields {
        Fields::PENDING | Fields::CONTEXTS | Fields::OLDEST_PENDING | Fields::LAST_RUN
    }

    fn scale(&self) -> Scale {
        Scale::Ordinal
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![Parameter::whole("round_ns", self.round_ns()), Parameter::whole("starvation_ns", STARVATION_NS)]
    }

    fn prepare(&mut self, snapshot: &Snapshot) {
        self.origin.renew(snapshot.now);
        self.patience.begin_round(snapshot.now);
    }

    #[inline]
    fn rank(&self, snapshot: &Snapshot, operator: OperatorId) -> Option<Rank> {
        let state = snapshot.operator(operator).filter(|state| state.can_run())?;
        let starving = self.patience.rank(snapshot.now, state, STARVATION_NS, operator.0);
        let (class, instant) = match state.head.token {
            Some(tag) => (WITH_TOKEN, tag),
            None => (WITHOUT_TOKEN, state.head.observed),
        };
        starving.or_else(|| Some(Rank { class, score: self.origin.score(instant), tie: operator.0 }))
    }
}

#[cfg(test)]
mod tests {
    use thalweg_model::ProcessingTime;

    use super::*;
    use crate::policy::cameo::tests::waits::Told;
    use crate::rank::Quantum;
    use crate::snapshot::{Context, OperatorState};
    use crate::test_bed::{Bed, Task};

    fn at_ms(ms: u64) -> ProcessingTime {
        ProcessingTime::from_nanos(ms * 1_000_000)
    }

    /// Checks the order and the classes of operators at 5 s. Each operator has a tag, the time its record was
    /// observed, and the time since which it waits, all in ms.
    #[track_caller]
    fn check(operators: &[(Option<u64>, u64, u64)], expected: &[(u8, u32)]) {
        let state = |&(tag_ms, observed_ms, since_ms): &(Option<u64>, u64, u64)| {
            Some(OperatorState {
                pending: 1,
                oldest_pending: at_ms(since_ms),
                head: Context { observed: at_ms(observed_ms), token: tag_ms.map(at_ms) },
                ..OperatorState::default()
            })
        };
        let operators: Vec<_> = operators.iter().map(state).collect();
        let snapshot = Snapshot { now: at_ms(5_000), block_records: 384, operators, ..Snapshot::default() };
        let mut policy = CameoToken::default();
        policy.prepare(&snapshot);
        let ids = (0..snapshot.operators.len() as u32).map(OperatorId);
        let mut ranked: Vec<_> = ids.filter_map(|id| Some((policy.rank(&snapshot, id)?, id.0))).collect();
        ranked.sort_unstable_by_key(|(rank, _)| rank.word());
        let ranked: Vec<_> = ranked.into_iter().map(|(rank, id)| (rank.class, id)).collect();
        assert_eq!(ranked, expected);
        assert_eq!(policy.quantum(&snapshot, OperatorId(0)), Quantum { records: 384 });
    }

    /// Operators whose record has a token run by the tag of the token, whenever the record was observed. Then
    /// the others run by the time at which their record was observed.
    #[test]
    fn tokens_go_first_and_by_their_tags() {
        check(
            &[(Some(4_900), 4_100, 4_999), (None, 4_200, 4_999), (Some(4_300), 4_950, 4_999)],
            &[(1, 2), (1, 0), (2, 1)],
        );
        check(
            &[(None, 4_900, 4_999), (None, 4_200, 4_999), (Some(9_000), 4_950, 4_999)],
            &[(1, 2), (2, 1), (2, 0)],
        );
    }

    /// Operators that have waited for more than a second run first, with or without a token, the longest wait
    /// first.
    #[test]
    fn who_waits_for_an_interval_comes_first() {
        check(
            &[(Some(3_000), 0, 4_001), (None, 0, 3_999), (Some(3_500), 0, 3_998), (None, 0, 4_000)],
            &[(0, 2), (0, 1), (1, 0), (2, 3)],
        );
    }

    /// With present-day instants, too, tags and waits that differ by a nanosecond are distinct.
    #[test]
    fn instants_of_today_are_exact() {
        const TODAY_NS: u64 = 1_800_000_000_000_000_000;
        let state = |(tag, since): (Option<u64>, u64)| {
            let [tag, since] = [tag.unwrap_or(0), since].map(|ns| ProcessingTime::from_nanos(TODAY_NS + ns));
            let head = Context { observed: since, token: Some(tag).filter(|tag| tag.as_nanos() > TODAY_NS) };
            Some(OperatorState { pending: 1, oldest_pending: since, head, ..OperatorState::default() })
        };
        let recent = 5_000_000_000;
        // Two operators starve, two have a token, and two have none. In each pair the second instant is a
        // nanosecond earlier.
        let operators =
            [(None, 9), (None, 8), (Some(9), recent), (Some(8), recent), (None, recent + 1), (None, recent)];
        let operators = operators.map(state).to_vec();
        let now = ProcessingTime::from_nanos(TODAY_NS + recent + 100);
        let snapshot = Snapshot { now, operators, ..Snapshot::default() };
        let mut policy = CameoToken::default();
        policy.prepare(&snapshot);
        let word = |id| policy.rank(&snapshot, OperatorId(id)).unwrap().word();
        assert!([1, 0, 3, 2, 5, 4].map(word).is_sorted());
    }

    /// Returns the numbers of records that sources make in 4 s, one record per run. Each source has the given
    /// number of tokens per second, and one worker makes a record in `cost_ms`. Tags are spread evenly over a
    /// second; a source whose next tag is in the future has no token.
    fn made(tokens: [u64; 3], cost_ms: u64) -> [u64; 3] {
        let source = Task { is_on_demand: true, room_records: 1, ..Task::new(cost_ms * 1_000_000, 1.0, &[]) };
        let give = move |snapshot: &mut Snapshot, runs: &[u64]| {
            let now = snapshot.now;
            for ((state, rate), taken) in snapshot.operators.iter_mut().flatten().zip(tokens).zip(runs) {
                let tag = (taken * 1_000).checked_div(rate).map(at_ms);
                state.head.token = tag.filter(|tag| *tag <= now);
            }
        };
        let policy = Told::new(CameoToken::default(), 3, give);
        let mut bed = Bed::new(Box::new(policy), 1, vec![source; 3]);
        while bed.now_ns() < 4_000_000_000 {
            bed.step();
        }
        [0, 1, 2].map(|id| bed.tasks[id].records_in)
    }

    /// Figure 6 of the paper, with 12, 24 and 24 tokens per second. With capacity for 40 of the 60 records,
    /// the sources make 8, 16 and 16 per second. With capacity for 100, each source gets its tokens, and the
    /// other 40 records go by turns.
    #[test]
    fn beyond_capacity_all_shrink_alike() {
        let is_near = |made: u64, expected: u64| made.abs_diff(expected) <= 2;
        let scarce = made([12, 24, 24], 25);
        assert!(
            scarce.into_iter().zip([32, 64, 64]).all(|(made, expected)| is_near(made, expected)),
            "{scarce:?}"
        );
        let ample = made([12, 24, 24], 10);
        assert!(ample.into_iter().zip([48, 96, 96]).all(|(made, tokens)| tokens < made), "{ample:?}");
        assert_eq!(ample.into_iter().sum::<u64>(), 400);
    }

    /// A source without tokens, beside two sources that take all capacity, gets one run per second.
    #[test]
    fn without_a_token_a_turn_comes_after_an_interval() {
        let beside = made([50, 50, 0], 25);
        assert!((3..=5).contains(&beside[2]), "{beside:?}");
    }
}
