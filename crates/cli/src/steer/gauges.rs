//! Writes the last round of steering as gauges in the text format of Prometheus, into a file, which the text
//! collector of Prometheus' node exporter can read.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use thalweg_steer::steering::Row;

/// Writes the gauges of a round, such as the priority of each thread, and `counts`: the numbers of rounds,
/// skipped rounds, changes and failures so far. The file is replaced as a whole, so a reader never sees a
/// part of it.
///
/// # Errors
/// If the file, or the one beside it that becomes this file, cannot be written.
pub fn write(file: &Path, rows: &[Row], counts: [u64; 4]) -> Result<()> {
    let refused = || format!("--prometheus: {} cannot be written", file.display());
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = file.with_file_name(name);
    fs::write(&part, text(rows, counts)).with_context(refused)?;
    fs::rename(&part, file).with_context(refused)
}

fn text(rows: &[Row], [rounds, skipped, changes, failures]: [u64; 4]) -> String {
    let mut text = String::new();
    for (name, help, count) in [
        ("rounds", "Rounds that were applied", rounds),
        ("skipped_rounds", "Rounds that could not be used", skipped),
        ("changes", "Changes of the priority of a thread", changes),
        ("failures", "Times that a thread could not be looked at or changed", failures),
    ] {
        let metric = format!("thalweg_steer_{name}_total");
        let _is_text = write!(text, "# HELP {metric} {help}\n# TYPE {metric} counter\n{metric} {count}\n");
    }
    let gauges: [(&str, &str, fn(&Row) -> Option<f64>); 6] = [
        ("pending", "Records or buffers that wait for the operator of a thread", |row| {
            Some(row.pending as f64)
        }),
        ("score", "Score of the operator by the policy", |row| row.rank.map(|rank| rank.score)),
        ("nice", "Nice value of a thread", |row| {
            let setting = row.priority.setting().filter(|setting| !setting.class.is_real_time())?;
            Some(f64::from(setting.nice))
        }),
        ("priority", "Real-time priority of a thread", |row| {
            let setting = row.priority.setting().filter(|setting| setting.class.is_real_time())?;
            Some(f64::from(setting.priority))
        }),
        ("shares", "CPU shares of the control group of a thread", |row| {
            Some(f64::from(row.priority.shares()?))
        }),
        ("limit_us", "CPU time of the control group of a thread in a period of 100 ms, in us", |row| {
            Some(row.priority.limit_us()? as f64)
        }),
    ];
    for (name, help, value) in gauges {
        let metric = format!("thalweg_steer_thread_{name}");
        let _is_text = write!(text, "# HELP {metric} {help}\n# TYPE {metric} gauge\n");
        for row in rows {
            let Some(value) = value(row) else { continue };
            // A thread may run several operators, and then has a row of gauges for each of them.
            let operator = row.thread.operator.0;
            let (process, thread) = (row.thread.key.process, row.thread.key.thread);
            let name = escaped(&row.thread.name);
            let _is_text = writeln!(
                text,
                "{metric}{{process=\"{process}\",thread=\"{thread}\",operator=\"{operator}\",name=\"{name}\"}} {value}"
            );
        }
    }
    text
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use thalweg::scheduling::{OperatorId, Rank};
    use thalweg_steer::setting::{Class, CpuTime, Priority, Setting};
    use thalweg_steer::steering::Steered;
    use thalweg_steer::threads::ThreadKey;

    use super::*;

    #[test]
    fn threads_are_labelled_and_have_one_kind_of_priority() {
        let row = |thread, name: &str, rank, priority: Priority| {
            let key = ThreadKey { process: 7, thread, started: 1 };
            let thread = Steered { key, operator: OperatorId(0), name: name.to_owned() };
            Row { thread, pending: 5, rank, priority }
        };
        let rank = Some(Rank { class: 0, score: 2.5, tie: 0 });
        let rows = [
            row(71, "a \"b\"", rank, Setting::nice(-3).into()),
            row(72, "c", None, Setting::real_time(Class::Fifo, 9).into()),
            row(73, "d", None, Priority::Group(CpuTime::Shares(88_818))),
            row(74, "e", None, Priority::Group(CpuTime::LimitUs(1_000))),
        ];
        let text = text(&rows, [1, 2, 3, 4]);
        for line in [
            "thalweg_steer_skipped_rounds_total 2",
            "thalweg_steer_thread_pending{process=\"7\",thread=\"72\",operator=\"0\",name=\"c\"} 5",
            "thalweg_steer_thread_score{process=\"7\",thread=\"71\",operator=\"0\",name=\"a \\\"b\\\"\"} 2.5",
            "thalweg_steer_thread_nice{process=\"7\",thread=\"71\",operator=\"0\",name=\"a \\\"b\\\"\"} -3",
            "thalweg_steer_thread_priority{process=\"7\",thread=\"72\",operator=\"0\",name=\"c\"} 9",
            "thalweg_steer_thread_shares{process=\"7\",thread=\"73\",operator=\"0\",name=\"d\"} 88818",
            "thalweg_steer_thread_limit_us{process=\"7\",thread=\"74\",operator=\"0\",name=\"e\"} 1000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        let of = |metric: &str| text.lines().filter(|line| line.starts_with(&format!("{metric}{{"))).count();
        assert_eq!(
            ["score", "nice", "priority", "shares", "limit_us"]
                .map(|name| of(&format!("thalweg_steer_thread_{name}"))),
            [1; 5]
        );
    }
}
