//! Even shares of processing time between queries of about equal priority. Ours: the paper has no such rule.
//!
//! Take eight equal queries that all have more work than the workers can do. Their priorities differ by the error of
//! their measured costs, a few percent. The paper's rule gives everything to the first query while any of its
//! operators has input, and nothing to the others until the measurements change order. The starvation bound gives
//! each of the others one run in 10 ms.
//!
//! So the priorities of all operators of a query are multiplied by one factor, like W. The band is the ratio of
//! priorities within which queries share evenly. The factor falls from 1 to 1 / band as the query gets ahead of the
//! least served query:
//!
//! ```text
//!   received(q)  run time since the last round, divided by W(q)
//!   lead(q)      grows by received(q); then the least lead of the contending queries is subtracted from all leads,
//!                and the rest is clamped to 0 and the lead at which the band is used up
//!   factor(q)    1 / (1 + (band - 1) * lead(q) / that lead)
//! ```
//!
//! The order inside a query does not change, because the factor is the same for all its operators and constant
//! between rounds. Between queries whose priorities differ by more than the band the paper's order stays. Within the
//! band, leads settle where the factors make up for the difference in priority. From then on all queries receive the
//! same, in proportion to W: a query whose latency rises still receives up to 22 % more than one whose latency falls.
//!
//! A query contends while one of its operators runs or could run. A query that does not contend keeps no lead: it
//! comes back equal to the least served query, and does not make up for what it missed.

use super::EnjimaSettings;

/// Processing time that one query has received, as its lead over the query that received the least.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Time that the query has received beyond that of the least served query, in ns.
    lead_ns: f64,
    /// Time that the query has received since the last round of ranking, in ns.
    received_ns: u64,
    /// True if an operator of the query ran or could run since the last round of ranking, so that the query
    /// contends for time.
    contends: bool,
}

impl Share {
    /// Adds the time of a run of one of the query's operators to the time that the query has received.
    pub(super) fn receive(&mut self, run_ns: u64) {
        self.received_ns = self.received_ns.saturating_add(run_ns);
    }

    /// Records that an operator of the query runs or could run, so that the query contends for time.
    pub(super) fn contend(&mut self) {
        self.contends = true;
    }

    /// Adds the time received since the last round of ranking, divided by `weight`, to the query's lead over
    /// the least served query. Returns the lead in ns if the query contends for time, else infinity.
    pub(super) fn settle(&mut self, weight: f64) -> f64 {
        self.lead_ns += self.received_ns as f64 / weight;
        self.received_ns = 0;
        if std::mem::take(&mut self.contends) { self.lead_ns } else { f64::INFINITY }
    }

    /// Returns the factor by which the priorities of the query are multiplied; `least_ns` is the least lead,
    /// in ns, that [`settle`](Self::settle) has returned for a query in this round of ranking.
    pub(super) fn factor(&mut self, settings: &EnjimaSettings, least_ns: f64) -> f64 {
        let most_ns = settings.share_lead_ns.max(1.0);
        let band = settings.share_band.max(1.0);
        // If no query contends for time, the least lead `least_ns` is infinite, and the lead of every query
        // becomes 0.
        self.lead_ns = (self.lead_ns - least_ns).clamp(0.0, most_ns);
        1.0 / (1.0 + (band - 1.0) * self.lead_ns / most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks by how much CPU time each of three queries is ahead of its fair share; the third query joins later. Each
    /// round gives, for each query, the CPU time in ms that it received and whether it had work, and then the
    /// expected lead of each query in ms.
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
            // The third query joins with the lead of the least served query, and with no less.
            ([(0, yes), (0, yes), (0, yes)], [0.0, 1.0, 0.0]),
            ([(2, yes), (2, yes), (1, yes)], [1.0, 2.0, 0.0]),
            // While a query is alone it has no lead. A query that comes back is treated like the least served
            // query.
            ([(9, yes), (0, no), (0, no)], [0.0, 0.0, 0.0]),
            // A lead beyond the band is forgotten, which bounds how long another query may catch up.
            ([(90, yes), (0, yes), (0, no)], [5.0, 0.0, 0.0]),
            ([(0, no), (0, no), (0, no)], [0.0, 0.0, 0.0]),
        ]);
    }

    /// Settings out of range switch even sharing off and do not invert priorities.
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
