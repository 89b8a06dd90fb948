//! Tests of the policies and claims of planned experiments, and of verdicts on runs that are made up for the
//! test.

use clap::{Args, ValueEnum};

use super::enjima::{ENJIMA, MODES, OURS, POLICIES};
use super::*;
use crate::bench::fit;
use crate::bench::latency::Latency;
use crate::bench::observe::Series;
use crate::bench::report::{Checked, OverdueFigures};
use crate::bench::steer::{Steered, SteeredOperator};
use crate::bench::workload::Workload;

/// Everything that an experiment plans can be run: each label is a known mode or policy, and each value of
/// the parameter is above zero.
#[test]
fn plans_name_what_there_is() {
    for experiment in Experiment::value_variants() {
        for is_quick in [false, true] {
            let Plan { places, labels, .. } = experiment.plan(is_quick);
            assert!(places.is_sorted() && places.iter().all(|at| *at > 0.0));
            let is_mode = |label: &&str| MODES.iter().any(|(known, ..)| known == label);
            let policies = || POLICIES.iter().chain(&tenants::POLICIES);
            let is_policy = |label: &&str| policies().any(|(known, _)| known == label);
            let is_system = |label: &&str| lachesis::SYSTEMS.contains(label);
            let is_known = |label: &&str| match experiment.figure() {
                Figure::Enjima(_) => is_mode(label) || is_policy(label),
                Figure::Cameo(_) => is_policy(label),
                Figure::Lachesis(_) => is_system(label),
            };
            assert!(labels.iter().all(is_known));
            assert!(labels.contains(&ENJIMA) || !matches!(experiment.figure(), Figure::Enjima(_)));
        }
    }
    let known = thalweg_scheduling::policy::names();
    assert!(POLICIES.iter().chain(&tenants::POLICIES).all(|(_, policy)| known.contains(policy)));
}

/// As in the paper, what is steered is steered by mean lengths of queues.
#[test]
fn steered_systems_of_lachesis_take_mean_lengths() {
    let given =
        BenchArgs::augment_args(clap::Command::new("bench")).get_matches_from(["bench", "lachesis-fig10"]);
    let args = <BenchArgs as clap::FromArgMatches>::from_arg_matches(&given).unwrap();
    for label in lachesis::SYSTEMS {
        let mut run = args.clone();
        lachesis::Panel::EtlRealTime.choose(&mut run, label, 1.0);
        assert_eq!(run.steer_mean, run.steer.is_some(), "{label}");
    }
}

/// `cameo-fig8c` runs with two workers and one, also if another number is given, and says so. The other
/// experiments take the given number.
#[test]
fn an_experiment_that_varies_the_workers_takes_no_other_number() {
    let parsed = |experiment: &str| {
        let line = ["bench", experiment, "--workers", "4"];
        let given = BenchArgs::augment_args(clap::Command::new("bench")).get_matches_from(line);
        let args = <BenchArgs as clap::FromArgMatches>::from_arg_matches(&given).unwrap();
        let Target::Experiment(target) = args.target else { panic!("{experiment} is no experiment") };
        (fit::experiment(target, &args, &given).workers, fit::idle_options(&args, &given))
    };
    let note = "--workers has no effect on an experiment, which chooses it".to_owned();
    assert_eq!(parsed("cameo-fig8c"), (2, vec![note]));
    assert_eq!(parsed("cameo-fig8"), (4, Vec::new()));
}

/// The paper's name of a policy stands for its literal form.
#[test]
fn the_literal_form_bears_the_name_of_the_paper() {
    let policy = |label| POLICIES.iter().find(|(known, _)| *known == label).unwrap().1;
    assert_eq!((policy(ENJIMA), policy(OURS)), ("enjima_strict", "enjima"));
    let mode = |label| MODES.iter().find(|(known, ..)| *known == label).unwrap().3;
    assert_eq!((mode(ENJIMA), mode("SQ"), mode(OURS)), ("enjima_strict", "enjima_strict", "enjima"));
}

#[test]
fn workloads_and_experiments_have_names_of_their_own() {
    let mut names: Vec<String> = Target::value_variants()
        .iter()
        .filter_map(|target| Some(target.to_possible_value()?.get_name().to_owned()))
        .collect();
    assert_eq!(names.len(), Workload::value_variants().len() + Experiment::value_variants().len());
    names.sort();
    names.dedup();
    assert_eq!(names.len(), Target::value_variants().len());
}

/// Makes up runs of an experiment in which all of the offered load was taken: results are right, and the runs
/// are long enough.
fn complete(experiment: Experiment) -> Comparison {
    let Plan { places, labels, .. } = experiment.plan(true);
    let mut found = Comparison {
        title: String::new(),
        about: String::new(),
        command: String::new(),
        machine: String::new(),
        claims: Vec::new(),
        axis: None,
        runs: Vec::new(),
    };
    for repetition in 0..2 {
        for &at in places {
            let run = |label: &&str| Run {
                label: (*label).to_owned(),
                at: Some(at),
                repetition,
                figures: figures(experiment, experiment.seconds() * experiment.stretch(at)),
                series: Series {
                    tasks: ["a", "b"].map(str::to_owned).into(),
                    mean_pending: vec![1.0, 3.0],
                    ..Series::default()
                },
            };
            found.runs.extend(labels.iter().map(run));
        }
    }
    found
}

fn figures(experiment: Experiment, seconds: f64) -> Figures {
    let args = BenchArgs::parsed("ysb");
    let [mean, p50, p90, p95, p99, max] = [1e3; 6];
    let latency = Latency { mean, stdev: 0.0, p50, p90, p95, p99, p999: None, max, count: 9 };
    let overdue = OverdueFigures {
        results: Some(0),
        markers: Some(0),
        closings: 0,
        unmeasured_closings: 0,
        output_delay_us: Some(latency),
        result_latency_us: Some(latency),
        event_latency_us: Some(latency),
        latency_us: Some(latency),
        results_in_time: Some(1.0),
    };
    let group = |name| GroupFigures {
        name,
        queries: 4,
        offered_per_s: Some(400),
        throughput_per_s: 400.0,
        query_throughput_per_s: Some([100.0, 100.0]),
        latency_us: None,
        output_delay_us: None,
        result_latency_us: None,
        event_latency_us: None,
        overdue: Some(overdue),
        latency_target_us: None,
        deadlines_met: None,
        success_rate: Some(1.0),
        in_time: None,
    };
    let groups = [Group::Sensitive, Group::Bulk].map(|each| group(each.name()));
    Figures {
        queries: 8,
        offered_per_s: Some(800),
        throughput_per_s: 800.0,
        query_throughput_per_s: Some([100.0, 100.0]),
        seconds,
        latency_us: Some(latency),
        overdue: Some(overdue),
        queue_cv: Some(1.0),
        steer: Some(steered()),
        groups: if matches!(experiment.figure(), Figure::Cameo(_)) { groups.into() } else { Vec::new() },
        ..Figures::new(&args, "typed", Checked::by_reference(None))
    }
}

/// Makes up a steering in which the longer queue has the better priority.
fn steered() -> Steered {
    let operator = |pending| SteeredOperator {
        name: "a".to_owned(),
        pending,
        priority: pending,
        ..SteeredOperator::default()
    };
    Steered {
        policy: "congestion".to_owned(),
        form: "rt".to_owned(),
        period_s: 1.0,
        takes_means: false,
        rounds: 31,
        skipped: 0,
        changes: 60,
        failures: 0,
        cpu_share: 0.001,
        operators: vec![operator(1.0), operator(5.0)],
    }
}

/// Returns the texts of the verdicts on these runs, which had a warm-up.
fn verdicts(experiment: Experiment, found: &Comparison, planned_runs: usize) -> Vec<String> {
    let claims = experiment.judged(found, planned_runs, 0.5);
    claims.iter().map(Claim::verdict_text).collect()
}

/// Judges complete runs of an experiment after `change` was applied to each of them.
fn changed(experiment: Experiment, change: impl Fn(&mut Run)) -> Vec<String> {
    let mut found = complete(experiment);
    found.runs.iter_mut().for_each(change);
    verdicts(experiment, &found, found.runs.len())
}

/// Every experiment as it is planned, quick or not, runs long enough for all of its claims.
#[test]
fn what_is_complete_is_tested() {
    for experiment in Experiment::value_variants() {
        let found = complete(*experiment);
        let verdicts = verdicts(*experiment, &found, found.runs.len());
        let is_tested = |verdict: &String| verdict.ends_with(" (2 repetitions)");
        assert!(!verdicts.is_empty() && verdicts.iter().all(is_tested), "{experiment:?}: {verdicts:?}");
    }
}

/// The systems of Lachesis' experiments, from the worst to the best.
const RISING: [&str; 5] = ["EdgeWise", "OS", "Lachesis", "Lachesis-Mod", "Lachesis-Mod-RT"];

/// If each system is ten times as good as the one before, by every measure, all claims hold. If each is ten times as bad,
/// all are reversed.
#[test]
fn claims_about_threads_are_judged_in_their_direction() {
    let better = |run: &mut Run, factor: f64| {
        let figures = &mut run.figures;
        figures.latency_us.as_mut().unwrap().count = (1e9 * factor) as u64;
        figures.overdue.as_mut().unwrap().latency_us.as_mut().unwrap().mean = 1e3 / factor;
        figures.queue_cv = Some(1.0 / factor);
        run.series.mean_pending = vec![1.0, 1.0 + 1.0 / factor];
    };
    let is_all = |verdicts: &[String], verdict: &str| {
        let expected = format!("{verdict} (2 repetitions)");
        assert!(verdicts.iter().all(|found| *found == expected), "{verdicts:?}");
    };
    for experiment in [
        Experiment::LachesisFig5,
        Experiment::LachesisFig6,
        Experiment::LachesisFig10,
        Experiment::LachesisFig11,
        Experiment::LachesisFig14,
    ] {
        let by_rank = |run: &Run| RISING.iter().position(|label| *label == run.label).unwrap() as i32;
        is_all(&changed(experiment, |run| better(run, 10_f64.powi(by_rank(run)))), "holds");
        is_all(&changed(experiment, |run| better(run, 10_f64.powi(-by_rank(run)))), "reversed");
    }
    // A longer period is worse.
    let period = Experiment::LachesisFig16;
    is_all(&changed(period, |run| better(run, 1.0 / run.at.unwrap())), "holds");
    is_all(&changed(period, |run| better(run, run.at.unwrap())), "reversed");
    // A longer queue has a better priority, which is a lower nice value.
    let nice = |sign: f64| {
        changed(Experiment::LachesisFig15, |run| {
            for operator in &mut run.figures.steer.as_mut().unwrap().operators {
                (operator.priority, operator.nice) = (0.0, sign * operator.pending);
            }
        })
    };
    is_all(&nice(-1.0), "holds");
    is_all(&nice(1.0), "reversed");
}

/// Claims are not tested if the experiment was interrupted. Ctrl-C may come after the last figures were
/// taken: then the missing runs show it.
#[test]
fn what_was_interrupted_is_not_tested() {
    let why = "not tested: it was interrupted";
    for experiment in Experiment::value_variants() {
        let mut found = complete(*experiment);
        let planned_runs = found.runs.len();
        found.runs.pop();
        assert!(verdicts(*experiment, &found, planned_runs).iter().all(|verdict| verdict == why));
        let is_last = |run: &mut Run| run.figures.interrupted = run.repetition == 1;
        assert!(changed(*experiment, is_last).iter().all(|verdict| verdict == why));
    }
}

#[test]
fn wrong_results_and_cold_runs_are_not_tested() {
    let experiment = Experiment::EnjimaFig9b;
    let is_wrong = |run: &mut Run| run.figures.ok = run.label != "SQ batched";
    let verdicts = changed(experiment, is_wrong);
    assert!(verdicts.iter().all(|verdict| verdict == "not tested: a run had wrong results"), "{verdicts:?}");
    let found = complete(experiment);
    let claims = experiment.judged(&found, found.runs.len(), 0.0);
    let why = "not tested: there was no warm-up; leave --warmup away";
    assert!(claims.iter().all(|claim| claim.verdict_text() == why));
}

/// A repetition that lacks the figure of a claim leaves this claim without a verdict, and no other claim.
#[test]
fn a_missing_figure_is_not_tested() {
    let lacks = |run: &mut Run| {
        if (run.label.as_str(), run.repetition) == ("FIFO", 1) {
            run.figures.groups[0].overdue = None;
        }
    };
    let verdicts = changed(Experiment::CameoFig8, lacks);
    // Cameo's experiments are judged by event latency, and not by the latency from the end of the window.
    let lacks_events = |run: &mut Run| {
        let overdue = run.figures.groups[0].overdue.as_mut().unwrap();
        overdue.result_latency_us = None;
        if (run.label.as_str(), run.repetition) == ("FIFO", 1) {
            overdue.event_latency_us = None;
        }
    };
    assert_eq!(changed(Experiment::CameoFig8, lacks_events), verdicts);
    let is_lacking = |verdict: &String| verdict == "not tested: a repetition lacks a figure";
    // Two of the seven claims compare with FIFO alone, and the first one compares all three policies.
    let lacking: Vec<bool> = verdicts.iter().map(is_lacking).collect();
    assert_eq!(lacking, [true, false, false, true, true, false, false], "{verdicts:?}");
}

/// Event time advances with the records taken: a run that takes less has fewer firings of windows. Only the
/// claims that depend on such a run are not tested.
#[test]
fn what_fires_too_seldom_is_not_tested() {
    // Bulk jobs, with windows of 10 s, decide on the throughput alone; the other claims are about jobs with windows of 1 s.
    for (group, share, expected) in [
        (1, 0.3, [false, false, false, false, false, false, true]),
        (0, 0.03, [false, false, false, true, true, false, false]),
    ] {
        let slow = |run: &mut Run| {
            let share = if run.label == "FIFO" && run.at == Some(2.0) { share } else { 1.0 };
            run.figures.groups[group].query_throughput_per_s = Some([100.0 * share, 100.0]);
        };
        let verdicts = changed(Experiment::CameoFig8, slow);
        let why = format!(
            "not tested: the longest window fires 2.3 times in 77.5 s under FIFO at 2, where a query takes {:.1} % of what \
             it is offered, and must fire 3 times; give at least --seconds 40",
            share * 100.0
        );
        let too_short: Vec<bool> = verdicts.iter().map(|verdict| *verdict == why).collect();
        assert_eq!(too_short, expected, "{verdicts:?}");
    }

    // A query that gets no records never fires a window.
    let starved = |run: &mut Run| {
        if (run.label.as_str(), run.at) == (ENJIMA, Some(10.0)) {
            run.figures.query_throughput_per_s = Some([0.0, 800.0]);
        }
    };
    let verdicts = changed(Experiment::EnjimaFig5b, starved);
    assert!(verdicts.iter().all(|verdict| verdict.ends_with("; no --seconds is enough")), "{verdicts:?}");
    assert!(verdicts[0].contains("fires 0.0 times in 4.0 s under Enjima at 10"), "{verdicts:?}");
}

/// A claim about runs that are too short is not tested, and the text says how long the runs must be.
#[test]
fn what_is_cut_short_is_not_tested() {
    let why = |experiment: Experiment, seconds: f64| {
        let mut run = complete(experiment).runs.swap_remove(0);
        run.figures.seconds = seconds;
        experiment.too_short(&run, None).map(|too_short| too_short.why)
    };
    let fires = |times, seconds, option| {
        format!(
            "the longest window fires {times} times in {seconds} s and must fire 3 times; give at least --seconds {option}"
        )
    };
    assert_eq!(why(Experiment::CameoFig8, 11.0), Some(fires("1.1", "11.0", 30)));
    assert_eq!(why(Experiment::EnjimaFig9b, 0.1), Some(fires("2.0", "0.1", 3)));
    let adapts =
        "policies adapt 20 times in 2.0 s and must adapt 30 times; give at least --seconds 3".to_owned();
    assert_eq!(why(Experiment::EnjimaFig9b, 2.0), Some(adapts));
}

/// The claim of the highest throughput depends on the runs with the highest throughput only; other runs may
/// be too short.
#[test]
fn the_highest_stands_on_its_own_runs() {
    let slow = |run: &mut Run, at: f64| {
        if (run.label.as_str(), run.at) == ("TQ", Some(at)) {
            run.figures.query_throughput_per_s = Some([1e-3, 1e-3]);
            run.figures.throughput_per_s = 1.0;
        }
    };
    let verdicts = changed(Experiment::EnjimaFig9b, |run| slow(run, 1.0));
    assert_eq!(verdicts[0], "reversed (2 repetitions)", "{verdicts:?}");
    let both = |run: &mut Run| [1.0, 100.0].into_iter().for_each(|at| slow(run, at));
    assert!(changed(Experiment::EnjimaFig9b, both)[0].starts_with("not tested: the longest window"));
}
