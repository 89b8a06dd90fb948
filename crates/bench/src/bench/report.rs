//! The figures of a run, as one JSON object with stable field names, or as text for people.

use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use thalweg_cli::show;

use super::ablate;
use super::args::BenchArgs;
use super::chain;
use super::drive::{Driven, Overdue};
use super::latency::Latency;
use super::modes::ExecutionOption;
use super::parameters::PolicyParameters;
use super::steer::{Steered, SteeredOperator};

/// Least share of the offered load that sources must read, so that a run counts as having kept up. A little
/// may be missing, because a run ends within a step of the source.
pub const KEPT_UP: f64 = 0.98;

/// Settings and measurements of a run, as they are printed. Rates are totals over all queries.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    pub workload: &'static str,
    pub api: &'static str,
    pub policy: Option<String>,
    /// Parameters of the policy by name, as the policy reports them; `null` if no policy chose the tasks.
    pub policy_parameters: Option<PolicyParameters>,
    pub memory: Option<&'static str>,
    pub execution: Option<&'static str>,
    pub parallel: Option<&'static str>,
    /// Names of the mechanisms that were switched off.
    pub ablate: Vec<String>,
    pub chain: Option<&'static str>,
    pub workers: u64,
    pub queries: u64,
    /// Rate that was offered on average during the measured time; `null` if no rate was offered.
    pub offered_per_s: Option<u64>,
    pub throughput_per_s: f64,
    /// Throughput of the slowest query and of the fastest query.
    pub query_throughput_per_s: Option<[f64; 2]>,
    /// Records per second that each operator processed, summed over all operators. A source processes what it
    /// makes and a sink what it writes.
    pub operator_throughput_per_s: Option<f64>,
    pub events_in: u64,
    pub results_out: u64,
    pub late: u64,
    pub bad: u64,
    pub filtered: u64,
    /// Number of requests without an answer; `null` for workloads without requests.
    pub unanswered: Option<u64>,
    /// Length of the measured time in seconds.
    pub seconds: f64,
    pub latency_us: Option<Latency>,
    /// Delay from the instant at which a source emits a watermark that closes a window until the sinks have
    /// seen this watermark; `null` if no window was closed during the measured time.
    pub output_delay_us: Option<Latency>,
    /// Bound of the mean output delay in microseconds, if the rate was found by this bound.
    pub target_delay_us: Option<i64>,
    /// Delay from the end of a window, by the event times of records, until the sinks have seen the watermark
    /// that closes it. It is `null` if no window was closed or if any instant may be the end of a window. It
    /// is also `null` if event times have nothing to do with the clock: if no rate was offered, or under a
    /// time scale.
    pub result_latency_us: Option<Latency>,
    /// Delay from the instant at which a source could first have read the last event that a result was made
    /// of, until the result has reached the sinks; `null` if no window was closed during the measured time.
    pub event_latency_us: Option<Latency>,
    /// Results, watermarks that close windows, and latency markers that were due when the measurement ended
    /// and had not reached a sink, as in [`Overdue`]; `null` if no rate was offered.
    pub overdue: Option<OverdueFigures>,
    /// Latency of latency markers from the instant at which a source read the record before the marker.
    /// Unlike `latency_us`, it leaves out the time for which this record waited to be read; `null` if no rate
    /// is offered.
    pub processing_latency_us: Option<Latency>,
    /// Mean time in microseconds for which records waited in front of the engine: the mean of `latency_us` less that of
    /// `processing_latency_us` (Lachesis, CF 2023, section 5.2.1), of delivered markers only; `null` if one of the two
    /// is `null`.
    pub waiting_outside_us: Option<f64>,
    pub deadlines_met: Option<f64>,
    /// Share of results that were delivered within the latency target from the arrival of their last event,
    /// of queries with a target. Results that are due for longer and not delivered count as missed. It is
    /// `null` if no rate was offered, and under a time scale.
    pub success_rate: Option<f64>,
    /// Measurements of each group of queries, for workloads whose queries are not all alike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupFigures>,
    /// Slowdown (Klink, section 6.1.2): the latency of results from the end of a window, divided by the sum of the
    /// costs of one record at each operator of the query; the mean over the queries. Results that are due and not
    /// delivered count with their age. Costs include the choice of the task. It is `null` where `result_latency_us` of
    /// `overdue` is `null`, and if no operator of a query with results read a record during the measured time.
    pub slowdown: Option<f64>,
    /// Coefficient of variation of the lengths of all queues at one instant, on average over samples every
    /// 100 ms in which some queue was not empty. It is `null` if there is no such sample.
    pub queue_cv: Option<f64>,
    pub cpu_s: f64,
    pub rss_peak_bytes: u64,
    /// Time that workers spent choosing tasks, as a share of the time during which they did not sleep.
    pub scheduling_share: Option<f64>,
    /// Outcome of the steering of the threads; missing if the operating system alone scheduled them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steer: Option<Steered>,
    pub ok: bool,
    /// The way in which the results were checked: `oracle-equal` (compared with the reference),
    /// `conservation` (only for lost records) or `none`.
    pub check: &'static str,
    /// Whether Ctrl-C ended the run early.
    pub interrupted: bool,
    /// Description of the first problem with the results, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// File to which bad lines were diverted, if there were any.
    #[serde(skip)]
    pub diverted: Option<PathBuf>,
}

/// Returns the mean wait in front of the engine, from the end-to-end latency and the latency inside the engine, in
/// microseconds. Both are of the same markers. It is not below zero, although the two are measured apart.
fn waiting_outside(latency: Option<Latency>, inside: Option<Latency>) -> Option<f64> {
    Some((latency?.mean - inside?.mean).max(0.0))
}

/// The figures of an [`Overdue`] in the form of the JSON output: results, window closings and latency markers
/// that were due at the end of the measurement and had not arrived.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OverdueFigures {
    /// Number of windows that had ended by the clock and whose results were not delivered; `null` under a
    /// time scale, where no window ends by the clock.
    pub results: Option<u64>,
    /// Number of latency markers that were to be sent and had not reached a sink; `null` if markers of some
    /// query come at irregular intervals.
    pub markers: Option<u64>,
    /// Number of watermarks that close windows and that a source had emitted, but that had not reached all
    /// sinks. At most 64 of them are followed in a query.
    pub closings: u64,
    /// Number of watermarks that close windows and were emitted by a source during the measured time, while
    /// 64 others of their query were on their way. They count in no output delay, event latency or success
    /// rate, in no latency of delivered results, and not in [`closings`](Self::closings).
    pub unmeasured_closings: u64,
    /// Output delays. Watermarks that have not reached all sinks are included, with the time since a source
    /// emitted them.
    pub output_delay_us: Option<Latency>,
    /// Latency of results, those that are due and not delivered included with their age; `null` where the
    /// latency without them is `null`.
    pub result_latency_us: Option<Latency>,
    /// Latency of results from the arrival of their last event, those that are due and not delivered included
    /// with their age; `null` under a time scale.
    pub event_latency_us: Option<Latency>,
    /// Latency of markers, those that are due and not at a sink included with their age; `null` where
    /// `markers` is `null`.
    pub latency_us: Option<Latency>,
    /// Share of results that were delivered within the latency target after the end of their window, of
    /// queries with such a target. Counted are the results that were delivered, and those not delivered that
    /// are due for longer than the target. It is `null` under a time scale.
    pub results_in_time: Option<f64>,
}

impl OverdueFigures {
    /// Returns the measurements of overdue (due, not yet delivered) results, window closings and latency markers for
    /// the JSON output. The counts and latencies of results are `None` unless event time goes by the clock.
    pub fn of(overdue: Overdue, is_by_clock: bool) -> Self {
        let Overdue { results, result_latency, event_latency, latency, results_in_time, .. } = overdue;
        OverdueFigures {
            results: is_by_clock.then_some(results),
            markers: overdue.markers,
            closings: overdue.closings,
            unmeasured_closings: overdue.unmeasured_closings,
            output_delay_us: overdue.output_delay.map(Into::into),
            result_latency_us: result_latency.filter(|_| is_by_clock).map(Into::into),
            event_latency_us: event_latency.filter(|_| is_by_clock).map(Into::into),
            latency_us: latency.map(Into::into),
            results_in_time: results_in_time.filter(|_| is_by_clock),
        }
    }
}

/// Measurements of one group of queries of a benchmark run, whose queries are alike.
#[derive(Clone, Debug, Serialize)]
pub struct GroupFigures {
    pub name: &'static str,
    pub queries: u64,
    /// Rate that was offered on average during the measured time; `null` if no rate was offered.
    pub offered_per_s: Option<u64>,
    pub throughput_per_s: f64,
    /// Throughput of the slowest query and of the fastest query of the group.
    pub query_throughput_per_s: Option<[f64; 2]>,
    /// Latency from the intended send time of a record to the sink, measured by latency markers.
    pub latency_us: Option<Latency>,
    /// Delay from the instant at which a source emits a watermark that closes a window until the sinks have
    /// seen this watermark.
    pub output_delay_us: Option<Latency>,
    /// Latency from the end of a window, by the event times of records, until its results have reached the
    /// sinks.
    pub result_latency_us: Option<Latency>,
    /// Latency from the instant at which a source could first have read the last event that a result was made
    /// of, until the result has reached the sinks.
    pub event_latency_us: Option<Latency>,
    /// Results, watermarks that close windows, and latency markers that were due when the measurement ended
    /// and had not reached a sink, as in [`Overdue`](super::drive::Overdue); `null` if no rate was offered.
    pub overdue: Option<OverdueFigures>,
    /// Latency target: the time within which results are to reach the sink, in microseconds.
    pub latency_target_us: Option<i64>,
    /// Share of closed windows whose results were delivered within the latency target; share of markers if no
    /// window was closed.
    pub deadlines_met: Option<f64>,
    /// Share of results that were delivered within the latency target from the arrival of their last event.
    /// Results that are due for longer and not delivered count as missed.
    pub success_rate: Option<f64>,
    /// Share of the offered load that was delivered within the latency target from its intended send time. It
    /// is the share of markers. If sources lag by more than the target, this share is multiplied by the share
    /// of the load that they have read, because records that are due and not read have no marker yet.
    pub in_time: Option<f64>,
}

impl GroupFigures {
    /// Returns the latency of results, in which results that are due and not delivered count with their age.
    pub fn results_us(&self) -> Option<Latency> {
        self.overdue.and_then(|overdue| overdue.result_latency_us)
    }

    /// Returns the latency of results from the arrival of their last event, in which results that are due and not
    /// delivered count with their age.
    pub fn events_us(&self) -> Option<Latency> {
        self.overdue.and_then(|overdue| overdue.event_latency_us)
    }

    /// Returns throughput, latencies and the like of the group of queries, as a few lines of text.
    pub fn text(&self) -> String {
        let throughput = show::rate(self.throughput_per_s);
        let mut text = format!("  {:11} {throughput} by {} queries", self.name, self.queries);
        for (name, share) in [
            ("deadlines met", self.deadlines_met),
            ("success rate", self.success_rate),
            ("in time", self.in_time),
        ] {
            text += &share.map_or(String::new(), |share| format!(", {:.1} % {name}", share * 100.0));
        }
        text += "\n";
        let overdue = self.overdue.and_then(|overdue| overdue.results).unwrap_or(0);
        let overdue = if overdue == 0 { String::new() } else { format!(", {overdue} overdue") };
        for (name, latency, what) in [
            ("latency", self.latency_us, "markers".to_owned()),
            ("results", self.result_latency_us, format!("closings{overdue}")),
            ("last event", self.event_latency_us, "closings".to_owned()),
        ] {
            let Some(latency) = latency else { continue };
            text += &format!("              {name} {}\n", latency.text(&what));
        }
        text
    }
}

/// The way in which results were checked, and the outcome.
pub struct Checked {
    /// Kind of the check: `oracle-equal` (compared with the reference), `conservation` (only for lost
    /// records) or `none`.
    how: &'static str,
    /// Description of the first problem with the results, if there is one.
    error: Option<String>,
}

impl Checked {
    /// Creates the outcome of a check by the reference, with its error if there is one.
    pub fn by_reference(error: Option<String>) -> Self {
        Checked { how: "oracle-equal", error }
    }

    /// Creates the outcome of a check that only shows that no records were lost.
    pub fn by_conservation() -> Self {
        Checked { how: "conservation", error: None }
    }

    /// Combines the outcomes of several checks: the weakest kind of them, and the first error.
    pub fn of_all(all: Vec<Checked>) -> Self {
        let is_compared = all.iter().all(|checked| checked.how == "oracle-equal");
        let error = all.into_iter().find_map(|checked| checked.error);
        if is_compared {
            Checked::by_reference(error)
        } else {
            Checked { error, ..Checked::by_conservation() }
        }
    }
}

impl Figures {
    /// Creates the figures of a run that has measured nothing yet, with its settings only.
    pub fn new(args: &BenchArgs, api: &'static str, checked: Checked) -> Self {
        Figures {
            workload: args.workload().facts().name,
            api,
            policy: None,
            policy_parameters: None,
            memory: None,
            execution: None,
            parallel: None,
            ablate: Vec::new(),
            chain: None,
            workers: args.workers,
            queries: 1,
            offered_per_s: None,
            throughput_per_s: 0.0,
            query_throughput_per_s: None,
            operator_throughput_per_s: None,
            events_in: 0,
            results_out: 0,
            late: 0,
            bad: 0,
            filtered: 0,
            unanswered: None,
            seconds: 0.0,
            latency_us: None,
            output_delay_us: None,
            target_delay_us: None,
            result_latency_us: None,
            event_latency_us: None,
            overdue: None,
            processing_latency_us: None,
            waiting_outside_us: None,
            deadlines_met: None,
            success_rate: None,
            groups: Vec::new(),
            slowdown: None,
            queue_cv: None,
            cpu_s: 0.0,
            rss_peak_bytes: 0,
            scheduling_share: None,
            steer: None,
            ok: checked.error.is_none(),
            check: checked.how,
            interrupted: false,
            error: checked.error,
            diverted: None,
        }
    }

    /// Creates the printed figures of a run of the engine from its measurements and its check. Lost records
    /// are an error, too.
    pub fn of_engine(
        args: &BenchArgs,
        driven: &Driven,
        offered_per_s: Option<u64>,
        checked: Checked,
    ) -> Self {
        let checked = Checked { error: checked.error.or_else(|| driven.conservation_error()), ..checked };
        let measured = &driven.measured;
        let by_clock = offered_per_s.filter(|_| args.is_by_clock());
        let policy = match args.execution {
            ExecutionOption::Workers => args.policy(),
            ExecutionOption::Threads => ExecutionOption::NO_POLICY,
        };
        Figures {
            policy: Some(policy.to_owned()),
            policy_parameters: args.policy_parameters(),
            memory: Some(args.memory.name()),
            execution: Some(args.execution.name()),
            parallel: Some(args.parallel().name()),
            ablate: ablate::names(&args.ablate),
            chain: Some(chain::name(args.chaining())),
            queries: args.queries(),
            offered_per_s,
            throughput_per_s: measured.throughput_per_s,
            query_throughput_per_s: Some(measured.query_throughput_per_s),
            operator_throughput_per_s: Some(measured.operator_throughput_per_s),
            events_in: driven.total(|report| report.events_in),
            results_out: driven.total(|report| report.results_out),
            late: driven.total(|report| report.total(|counts| counts.late)),
            bad: driven.total(|report| report.bad),
            filtered: driven.total(|report| report.total(|counts| counts.filtered)),
            seconds: measured.seconds,
            latency_us: measured.latency.map(Into::into),
            processing_latency_us: measured.processing_latency.map(Into::into),
            waiting_outside_us: waiting_outside(
                measured.latency.map(Into::into),
                measured.processing_latency.map(Into::into),
            ),
            output_delay_us: measured.output_delay.map(Into::into),
            result_latency_us: by_clock.and(measured.result_latency).map(Into::into),
            event_latency_us: measured.event_latency.map(Into::into),
            overdue: offered_per_s.map(|_| OverdueFigures::of(measured.overdue, args.is_by_clock())),
            deadlines_met: measured.deadlines_met,
            success_rate: by_clock.and(measured.success_rate),
            slowdown: by_clock.and(measured.slowdown),
            queue_cv: measured.queue_cv,
            cpu_s: measured.cpu_s,
            rss_peak_bytes: driven.rss_peak_bytes,
            scheduling_share: Some(driven.scheduling_share),
            steer: driven.steered.clone(),
            interrupted: driven.is_interrupted,
            ..Figures::new(args, "typed", checked)
        }
    }

    /// Returns the means of the steered operator with the given name; `None` if the run was not steered, or has no such
    /// operator.
    pub fn steered_operator(&self, name: &str) -> Option<&SteeredOperator> {
        self.steer.as_ref()?.operators.iter().find(|operator| operator.name == name)
    }

    /// Returns the settings and measurements of the run as one line of JSON.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Returns the settings and measurements of the run as a few lines of text.
    pub fn text(&self) -> String {
        let Figures { results_out, filtered, late, bad, cpu_s, .. } = self;
        let [results, filtered, late, bad] = [*results_out, *filtered, *late, *bad].map(show::count);
        let offered = self.offered_per_s.map(|per_s| format!("{} offered", show::rate(per_s as f64)));
        let mut text = format!(
            "{} ({}{}{}, {} worker{}{}, {})\n",
            self.workload,
            self.api,
            self.chain.map_or(String::new(), |chain| format!(", chain {chain}")),
            self.parallel.map_or(String::new(), |parallel| format!(", {parallel}")),
            self.workers,
            if self.workers == 1 { "" } else { "s" },
            if self.queries == 1 { String::new() } else { format!(", {} queries", self.queries) },
            offered.unwrap_or("as fast as can be".to_owned()),
        );
        if let (Some(policy), Some(parameters)) = (&self.policy, &self.policy_parameters) {
            let others = parameters.other_than_defaults(policy);
            if !others.0.is_empty() {
                text += &format!("  policy      {policy}: {}\n", others.text());
            }
        }
        let (throughput, events) = (show::rate(self.throughput_per_s), show::count(self.events_in));
        text += &format!("  throughput  {throughput} over {:.2} s; {events} events in all\n", self.seconds);
        if let (Some(extremes), true) = (self.query_throughput_per_s, self.queries > 1) {
            let [least, most] = extremes.map(show::rate);
            text += &format!("  per query   {least} at least, {most} at most\n");
        }
        text += &format!("  results     {results} rows; {filtered} filtered, {late} late, {bad} bad\n");
        if let Some(unanswered) = self.unanswered {
            let requests = if unanswered == 1 { "request" } else { "requests" };
            text += &format!("  unanswered  {} {requests}\n", show::count(unanswered));
        }
        if let Some(path) = &self.diverted {
            text += &format!("  bad lines   in {}\n", path.display());
        }
        for (name, delays, what) in [
            ("latency     ", self.latency_us, "markers"),
            ("inside      ", self.processing_latency_us, "markers"),
            ("delay       ", self.output_delay_us, "closings"),
            ("results out ", self.result_latency_us, "closings, from the end of the window"),
            ("last event  ", self.event_latency_us, "closings, from the arrival of the last event"),
        ] {
            if let Some(latency) = delays {
                text += &format!("  {name}{}\n", latency.text(what));
            }
        }
        if let Some(met) = self.deadlines_met {
            text += &format!("  deadlines   {:.1} % met\n", met * 100.0);
        }
        if let Some(success_rate) = self.success_rate {
            text +=
                &format!("  success     {:.1} % of results, overdue ones included\n", success_rate * 100.0);
        }
        for group in &self.groups {
            text += &group.text();
        }
        text += &self.steer.as_ref().map_or(String::new(), Steered::text);
        let peak_mib = self.rss_peak_bytes >> 20;
        text += &format!("  cost        {cpu_s:.2} s of CPU, {peak_mib} MiB at most\n");
        if self.interrupted {
            text += "  ended       early, by Ctrl-C\n";
        }
        match &self.error {
            None => text += &format!("  check       ok ({})\n", self.check),
            Some(error) => text += &format!("  check       FAILED ({}): {error}\n", self.check),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_outside_is_the_difference_of_means() {
        let of = |mean| {
            let [p50, p90, p95, p99, max] = [9.0; 5];
            Some(Latency { mean, stdev: 0.0, p50, p90, p95, p99, p999: None, max, count: 1 })
        };
        assert_eq!(waiting_outside(of(5.0), of(3.5)), Some(1.5));
        assert_eq!(waiting_outside(of(3.5), of(5.0)), Some(0.0), "measured apart");
        assert_eq!((waiting_outside(None, of(1.0)), waiting_outside(of(1.0), None)), (None, None));
    }
}
