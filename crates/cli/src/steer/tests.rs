//! Tests of the options of `thalweg steer`, and of what is shown of a round.

use clap::{Command, FromArgMatches};
use thalweg::scheduling::{OperatorId, Rank};
use thalweg_steer::steering::{Steered, Telling};
use thalweg_steer::threads::ThreadKey;

use super::*;

/// Parses the words behind `steer`; an error is given by its first line.
fn parsed(words: &str) -> Result<SteerArgs, String> {
    let words = ["steer"].into_iter().chain(words.split_whitespace());
    let matches = SteerArgs::augment_args(Command::new("steer")).try_get_matches_from(words);
    let args = matches.and_then(|matches| SteerArgs::from_arg_matches(&matches));
    args.map_err(|error| error.to_string().lines().next().unwrap_or_default().to_owned())
}

#[test]
fn options_have_defaults_and_bounds() {
    let Some(EngineArgs::Flink(flink)) = parsed("flink").unwrap().engine else { panic!("it is flink") };
    let FlinkArgs { rest, common, .. } = *flink;
    assert_eq!(rest, "http://localhost:8081");
    let CommonArgs { policy, translator, period, dry_run, .. } = common;
    assert_eq!((&*policy, &*translator, period, dry_run), ("congestion", "nice", Span::from_secs(1), false));
    let Some(EngineArgs::Storm(storm)) = parsed("storm").unwrap().engine else { panic!("it is storm") };
    assert_eq!((&*storm.graphite, storm.source_gauge, storm.main_class), ("127.0.0.1:2003", None, None));
    let is_earlier = |words: &str| match parsed(words).unwrap().engine {
        Some(EngineArgs::Storm(storm)) => storm.common.is_earlier(),
        _ => panic!("it is storm"),
    };
    assert!(is_earlier("storm --policy congestion_v1") && !is_earlier("storm"));
    assert!(parsed("--restore").unwrap().restore);
    for (words, expected) in [
        ("flink --period 100us", "'--period <SPAN>': 100us must be from 1ms to 60s"),
        ("flink --period 2h", "'--period <SPAN>': 2h must be from 1ms to 60s"),
        ("flink --policy best", "invalid value 'best' for '--policy <POLICY>'"),
        ("flink --translator fast", "invalid value 'fast' for '--translator <FORM>'"),
        ("--restore flink", "the subcommand 'flink' cannot be used with '--restore'"),
    ] {
        let error = parsed(words).err().unwrap_or_default();
        assert!(error.contains(expected), "{words}: {error}");
    }
}

/// Returns a round with one thread that has changed.
fn round() -> Round {
    let key = ThreadKey { process: 7, thread: 71, started: 1 };
    let thread = Steered { key, operator: OperatorId(0), name: "map (1/2)#0".to_owned() };
    let to = Priority::Thread(Setting::nice(-20));
    let rank = Some(Rank { class: 0, score: 5.0, tie: 0 });
    let rows = vec![Row { thread, pending: 5, rank, priority: to }];
    let changes = vec![Change { key, from: Some(Setting::DEFAULT.into()), to }];
    let telling = vec![Telling { key: ThreadKey { thread: 72, ..key }, name: "flink-8".to_owned() }];
    Round::Applied { rows, applied: Applied { changes, ..Applied::default() }, telling, notes: Vec::new() }
}

#[test]
fn a_change_is_a_line_and_a_round_an_object() {
    let Round::Applied { rows, applied, telling, .. } = round() else { unreachable!("it was applied") };
    assert_eq!(changes(&rows, &telling, &applied), "71 nice 0 -> nice -20 map (1/2)#0\n");
    let expected = json!({
        "threads": [{
            "process": 7, "thread": 71, "name": "map (1/2)#0", "pending": 5, "score": 5.0, "class": 0,
            "nice": -20, "priority": 0, "shares": null, "limit_us": null,
        }],
        "telling": [{ "process": 7, "thread": 72, "name": "flink-8" }],
        "changes": 1, "put_back": 0, "ended": 0, "postponed": 0, "failures": 0,
    });
    assert_eq!(as_json(&rows, &telling, &applied), expected);
    let settings =
        [Setting::nice(3), Setting::real_time(Class::RoundRobin, 9), Setting::real_time(Class::Fifo, 1)];
    assert_eq!(settings.map(|setting| short(setting.into())), ["nice 3", "rr 9", "fifo 1"]);
    let times = [CpuTime::Shares(2), CpuTime::LimitUs(1_000)];
    assert_eq!(times.map(|time| short(Priority::Group(time))), ["shares 2", "limit 1000 us"]);
    // A thread that was in no control group of the tool.
    let Round::Applied { rows, mut applied, telling, .. } = round() else { unreachable!("it was applied") };
    applied.changes[0].from = None;
    assert_eq!(changes(&rows, &telling, &applied), "71 none -> nice -20 map (1/2)#0\n");
    applied.changes[0].key.thread = 72;
    assert_eq!(changes(&rows, &telling, &applied), "72 none -> nice -20 flink-8\n");
}

#[test]
fn rounds_are_summed() {
    let Some(EngineArgs::Flink(flink)) = parsed("flink --output json").unwrap().engine else {
        panic!("it is flink")
    };
    let mut shown = Shown::new(&flink.common);
    shown.show(round()).unwrap();
    shown.show(round()).unwrap();
    shown.show(Round::Skipped("HTTP 500".to_owned())).unwrap();
    assert_eq!(shown.summary(), "2 rounds, 1 skipped; 2 changes, 0 failed\n");
}
