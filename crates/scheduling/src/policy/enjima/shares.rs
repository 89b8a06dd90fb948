//! Even shares between queries of about equal priority. Ours: the paper has no such rule.
//!
//! Take eight equal queries that all have more to do than the workers can. Their priorities differ by what their costs
//! were measured apart, a few percent. The paper's rule gives everything to the first of them, whatever stands in it
//! has input, and nothing to the others until the measurements change order; the starvation bound gives each of
//! them one run in 10 ms.
//!
//! So the priorities of all operators of a query are multiplied by one factor, like W, which falls from 1 to 1 / band
//! as the query gets ahead of the one that received least:
//!
//! ```text
//!   received(q)  time of its runs since the last round, over W(q)
//!   lead(q)      grows by received(q); then the least lead of those that contend is taken off all,
//!                and what is left is kept between 0 and the lead at which the band is used up
//!   factor(q)    1 / (1 + (band - 1) * lead(q) / that lead)
//! ```
//!
//! Inside a query nothing changes order, since the factor is common to it and stands still between rounds. Between
//! queries whose priorities differ by more than the band the paper's order stays. Within the band, leads come to rest
//! where the factors make up for the difference in priority; from then on all receive the same, over W: a query
//! that gets slower still receives up to 22 % more than one that gets faster.
//!
//! A query contends while something of it runs or could run. One that does not is carried along with the least: it
//! comes back with no lead and no claim to what it missed.

use super::EnjimaSettings;

/// What one query has received.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Time received beyond what the least served query has, in ns.
    lead_ns: f64,
    /// Since the last round, in ns.
    received_ns: u64,
    /// Since the last round.
    contends: bool,
}

impl Share {
    /// Takes note of a run.
    pub(super) fn receive(&mut self, run_ns: u64) {
        self.received_ns = self.received_ns.saturating_add(run_ns);
    }

    /// Takes note that something of the query runs or could run.
    pub(super) fn contend(&mut self) {
        self.contends = true;
    }

    /// Adds what was received since the last round. Its lead, if it contends; else more than any.
    pub(super) fn settle(&mut self, weight: f64) -> f64 {
        self.lead_ns += self.received_ns as f64 / weight;
        self.received_ns = 0;
        if std::mem::take(&mut self.contends) { self.lead_ns } else { f64::INFINITY }
    }

    /// The factor of its priorities, where `least_ns` is the least lead of those that contend.
    pub(super) fn factor(&mut self, settings: &EnjimaSettings, least_ns: f64) -> f64 {
        let most_ns = settings.share_lead_ns.max(1.0);
        let band = settings.share_band.max(1.0);
        // If nobody contends, nobody waits for anybody: leads are as good as gone.
        self.lead_ns = (self.lead_ns - least_ns).clamp(0.0, most_ns);
        1.0 / (1.0 + (band - 1.0) * self.lead_ns / most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two queries and a third that comes later; what each has received in ms and whether it contends, round by
    /// round, and the leads in ms that are left.
    fn check(rounds: &[([(u64, bool); 3], [f64; 3])]) {
        let settings = EnjimaSettings::default();
        let mut shares = [Share::default(); 3];
        for (round, (received, leads_ms)) in rounds.iter().enumerate() {
            for (share, (received_ms, contends)) in shares.iter_mut().zip(received) {
                share.receive(received_ms * 1_000_000);
                if *contends {
                    share.contend();
                }
            }
            let least_ns = shares.iter_mut().map(|share| share.settle(1.0)).fold(f64::INFINITY, f64::min);
            let factors = shares.each_mut().map(|share| share.factor(&settings, least_ns));
            assert_eq!(shares.map(|share| share.lead_ns / 1e6), *leads_ms, "round {round}");
            assert_eq!(factors, leads_ms.map(|lead_ms| 1.0 / (1.0 + lead_ms / 5.0)), "round {round}");
        }
    }

    #[test]
    fn a_lead_counts_from_the_least_served() {
        let (yes, no) = (true, false);
        check(&[
            ([(1, yes), (0, yes), (0, no)], [1.0, 0.0, 0.0]),
            ([(1, yes), (0, yes), (0, no)], [2.0, 0.0, 0.0]),
            ([(0, yes), (3, yes), (0, no)], [0.0, 1.0, 0.0]),
            // The third joins as if it had received as little as the least served, and no less.
            ([(0, yes), (0, yes), (0, yes)], [0.0, 1.0, 0.0]),
            ([(2, yes), (2, yes), (1, yes)], [1.0, 2.0, 0.0]),
            // Alone, nobody is ahead of anybody; whoever comes back owes nothing and is owed nothing.
            ([(9, yes), (0, no), (0, no)], [0.0, 0.0, 0.0]),
            // A lead is forgotten beyond the band: so long may another catch up, and no longer.
            ([(90, yes), (0, yes), (0, no)], [5.0, 0.0, 0.0]),
            ([(0, no), (0, no), (0, no)], [0.0, 0.0, 0.0]),
        ]);
    }

    /// Settings that make no sense switch it off rather than turn priorities round.
    #[test]
    fn factors_stay_within_the_band() {
        for (share_band, share_lead_ns) in
            [(1.0, 5e6), (0.0, 5e6), (f64::NAN, 5e6), (3.0, 0.0), (3.0, f64::NAN)]
        {
            let settings = EnjimaSettings { share_band, share_lead_ns, ..EnjimaSettings::default() };
            let mut share = Share::default();
            share.receive(u64::MAX);
            share.receive(u64::MAX);
            share.settle(0.9);
            let factor = share.factor(&settings, 0.0);
            assert!((1.0 / 3.0..=1.0).contains(&factor), "{factor} at {share_band}, {share_lead_ns}");
        }
    }
}
