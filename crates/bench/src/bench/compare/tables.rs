//! The CSV files of `--out`: `figures.csv` has one row per run, `groups.csv` one row per run and group of queries, and
//! `series.csv` one row per sample that was taken while a run went on, and `queues.csv` one row per run and task. `run` is the number of a run in `figures.csv`.

use crate::bench::comparison::Run;
use crate::bench::latency::Latency;
use crate::bench::parameters::PolicyParameters;

/// Header of the CSV file `figures.csv`, which has one row of measurements for each run.
const FIGURES: &str = "label,at,repetition,workload,policy,policy_parameters,execution,memory,parallel,chain,workers,queries,offered_per_s,throughput_per_s,\
                       latency_mean_us,latency_p50_us,latency_p99_us,latency_p999_us,processing_latency_mean_us,\
                       processing_latency_p50_us,processing_latency_p99_us,processing_latency_p999_us,waiting_outside_us,output_delay_mean_us,\
                       output_delay_p99_us,result_latency_mean_us,result_latency_p99_us,overdue_markers,overdue_results,deadlines_met,queue_cv,cpu_s,rss_peak_bytes,scheduling_share,results_out,ok,check";

/// Returns the measurements of all runs as CSV, one row per run: throughput, latencies and the like.
pub fn figures(runs: &[Run]) -> String {
    let mut text = format!("{FIGURES}\n");
    for Run { label, at, repetition, figures, .. } in runs {
        let of = |latency: Option<Latency>, figure: fn(&Latency) -> f64| number(latency.as_ref().map(figure));
        let p999 = |latency: Option<Latency>| number(latency.and_then(|latency| latency.p999));
        let (latency, delay) = (figures.latency_us, figures.output_delay_us);
        let inside = figures.processing_latency_us;
        let row = [
            field(label),
            number(*at),
            repetition.to_string(),
            figures.workload.to_owned(),
            figures.policy.clone().unwrap_or_default(),
            field(&figures.policy_parameters.as_ref().map(PolicyParameters::field).unwrap_or_default()),
            figures.execution.unwrap_or_default().to_owned(),
            figures.memory.unwrap_or_default().to_owned(),
            figures.parallel.unwrap_or_default().to_owned(),
            figures.chain.unwrap_or_default().to_owned(),
            figures.workers.to_string(),
            figures.queries.to_string(),
            figures.offered_per_s.map_or(String::new(), |per_s| per_s.to_string()),
            number(Some(figures.throughput_per_s)),
            of(latency, |latency| latency.mean),
            of(latency, |latency| latency.p50),
            of(latency, |latency| latency.p99),
            p999(latency),
            of(inside, |latency| latency.mean),
            of(inside, |latency| latency.p50),
            of(inside, |latency| latency.p99),
            p999(inside),
            number(figures.waiting_outside_us),
            of(delay, |delay| delay.mean),
            of(delay, |delay| delay.p99),
            of(figures.result_latency_us, |latency| latency.mean),
            of(figures.result_latency_us, |latency| latency.p99),
            number(figures.overdue.and_then(|overdue| Some(overdue.markers? as f64))),
            number(figures.overdue.and_then(|overdue| Some(overdue.results? as f64))),
            number(figures.deadlines_met),
            number(figures.queue_cv),
            number(Some(figures.cpu_s)),
            figures.rss_peak_bytes.to_string(),
            number(figures.scheduling_share),
            figures.results_out.to_string(),
            figures.ok.to_string(),
            figures.check.to_owned(),
        ];
        text += &format!("{}\n", row.join(","));
    }
    text
}

/// Returns the measurements of groups of queries as CSV, one row for each run and each group.
pub fn groups(runs: &[Run]) -> String {
    let mut text = "label,at,run,group,queries,offered_per_s,throughput_per_s,latency_mean_us,latency_p50_us,latency_p99_us,\
                    output_delay_p99_us,result_latency_p50_us,result_latency_p99_us,\
                    event_latency_p50_us,event_latency_p99_us,overdue_results,latency_target_us,deadlines_met,in_time\n"
        .to_owned();
    for (number_of, Run { label, at, figures, .. }) in runs.iter().enumerate() {
        for group in &figures.groups {
            let of = |figure: fn(&Latency) -> f64| number(group.latency_us.as_ref().map(figure));
            let row = [
                field(label),
                number(*at),
                number_of.to_string(),
                group.name.to_owned(),
                group.queries.to_string(),
                group.offered_per_s.map_or(String::new(), |per_s| per_s.to_string()),
                number(Some(group.throughput_per_s)),
                of(|latency| latency.mean),
                of(|latency| latency.p50),
                of(|latency| latency.p99),
                number(group.output_delay_us.map(|delay| delay.p99)),
                number(group.results_us().map(|latency| latency.p50)),
                number(group.results_us().map(|latency| latency.p99)),
                number(group.events_us().map(|latency| latency.p50)),
                number(group.events_us().map(|latency| latency.p99)),
                number(group.overdue.and_then(|overdue| Some(overdue.results? as f64))),
                group.latency_target_us.map_or(String::new(), |target_us| target_us.to_string()),
                number(group.deadlines_met),
                number(group.in_time),
            ];
            text += &format!("{}\n", row.join(","));
        }
    }
    text
}

/// Returns the samples taken during the runs as CSV, one row per sample, in the order of the runs.
pub fn series(runs: &[Run]) -> String {
    let mut text = "label,at,run,seconds,throughput_per_s,latency_p50_us,latency_p99_us,pending\n".to_owned();
    for (number_of, Run { label, at, series, .. }) in runs.iter().enumerate() {
        for sample in &series.samples {
            let row = [
                field(label),
                number(*at),
                number_of.to_string(),
                number(Some(sample.at_s)),
                number(Some(sample.throughput_per_s)),
                number(sample.latency_us.map(|latency| latency.p50)),
                number(sample.latency_us.map(|latency| latency.p99)),
                sample.pending.iter().sum::<u64>().to_string(),
            ];
            text += &format!("{}\n", row.join(","));
        }
    }
    text
}

/// Returns the mean length of each queue as CSV, one row for each run and each task, with the mean nice value and the mean
/// real-time priority of the task's thread if it was steered.
pub fn queues(runs: &[Run]) -> String {
    let mut text = "label,at,run,task,mean_pending,nice,priority\n".to_owned();
    for (number_of, run) in runs.iter().enumerate() {
        for (task, mean_pending) in run.series.tasks.iter().zip(&run.series.mean_pending) {
            let steered = run.figures.steered_operator(task);
            let row = [
                field(&run.label),
                number(run.at),
                number_of.to_string(),
                field(task),
                number(Some(*mean_pending)),
                number(steered.map(|operator| operator.nice)),
                number(steered.map(|operator| operator.priority)),
            ];
            text += &format!("{}\n", row.join(","));
        }
    }
    text
}

/// Formats a number for CSV in the shortest exact form. A missing number becomes an empty field.
fn number(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// Formats a text for CSV, in quotes where they are needed (RFC 4180).
fn field(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_with_commas_are_quoted() {
        assert_eq!(field("klink"), "klink");
        assert_eq!(field("a,b"), "\"a,b\"");
        assert_eq!(field("a \"b\""), "\"a \"\"b\"\"\"");
        assert_eq!(
            (number(None), number(Some(1.5)), number(Some(2e6))),
            (String::new(), "1.5".into(), "2000000".into())
        );
    }
}
