//! Metrics: the choice among those of a version, and values that cannot be.

use serde_json::json;

use super::*;

const VERTEX: &str = "/jobs/a/vertices/b";

fn choose(names: &[&str], gauge: Option<&str>) -> Option<Chosen> {
    let list: Vec<_> = names.iter().map(|name| json!({ "id": name })).collect();
    Chosen::of("/list", &json!(list).to_string(), gauge, false).unwrap()
}

fn values(list: &Value) -> Values {
    let mut values = Values::default();
    values.add("/metrics", &list.to_string()).unwrap();
    values
}

#[test]
fn names_of_new_and_old_versions_are_taken() {
    let chosen = choose(&["buffers.inputQueueLength", INPUT[0], OUTPUT[0]], None).unwrap();
    assert_eq!((chosen.input, chosen.output), (INPUT[0], OUTPUT[0]));
    let chosen = choose(&["buffers.outputQueueLength", "buffers.inputQueueLength"], None).unwrap();
    assert_eq!((chosen.input, chosen.output), (INPUT[1], OUTPUT[1]));
    assert_eq!(choose(&[], None), None);
    assert_eq!(choose(&["busyTimeMsPerSecond", "a.pendingRecords"], None), None);
    assert!(Chosen::of("/list", "{}", None, false).is_err());
}

#[test]
fn a_source_tells_its_backlog_by_its_connector_or_by_a_gauge() {
    let backlogs = |names: &[&str], gauge| {
        let names: Vec<&str> = [INPUT[0]].iter().chain(names).copied().collect();
        choose(&names, gauge).unwrap().backlogs
    };
    let both = ["Source__b.pendingRecords", "Source__a.pendingRecords", "x.spendingRecords", "a.b.queue"];
    assert_eq!(backlogs(&both, Some("queue")), ["Source__a.pendingRecords", "Source__b.pendingRecords"]);
    assert_eq!(backlogs(&["Source__a.my.queue", "Source__a.myqueue"], Some("queue")), ["Source__a.my.queue"]);
    assert_eq!(backlogs(&["Source__a.my.queue"], Some("my.queue")), ["Source__a.my.queue"]);
    assert_eq!(backlogs(&["queue"], Some("queue")), ["queue"]);
    assert!(backlogs(&["a."], Some("")).is_empty());
    let many: Vec<String> = (0..100).map(|number| format!("{number}.pendingRecords")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(backlogs(&many, None).len(), BACKLOGS_MAX);
}

/// The backlogs of a subtask are added, and one that is missing makes the sum unknown. A subtask that is no source has
/// none.
#[test]
fn backlogs_are_added() {
    let chosen = choose(&[INPUT[0], "a.pendingRecords", "b.pendingRecords"], None).unwrap();
    let list = [
        json!({ "id": "0.a.pendingRecords", "value": "3" }),
        json!({ "id": "0.b.pendingRecords", "value": 4.5 }),
        json!({ "id": "1.a.pendingRecords", "value": "3" }),
        json!({ "id": format!("1.{}", INPUT[0]), "value": "9" }),
    ];
    let values = values(&json!(list));
    let input = |subtask, is_source| chosen.sample(&values, subtask, is_source).input;
    assert_eq!(
        (input(0, true), input(1, true), input(1, false), input(7, false)),
        (Some(7.5), None, Some(9.0), None)
    );
}

/// Values that cannot be are as good as missing.
#[test]
fn values_that_cannot_be_are_left_out() {
    let left_out = [
        json!("NaN"),
        json!("Infinity"),
        json!("-Infinity"),
        json!("-1"),
        json!(-0.5),
        json!("1e300"),
        json!(1e16),
        json!(""),
        json!("many"),
        json!(null),
        json!([1]),
        json!({ "value": 1 }),
        json!(true),
    ];
    for value in left_out {
        assert_eq!(values(&json!([{ "id": "0.a", "value": value }])), Values::default(), "{value}");
    }
    assert_eq!(values(&json!([{ "id": "0.a" }])), Values::default());
    for value in [json!("3"), json!(3), json!("3.0"), json!(3.0)] {
        assert_eq!(values(&json!([{ "id": "0.a", "value": value }])).0["0.a"], 3.0);
    }
    for body in ["", "{}", "null", "[NaN]", "[{\"id\": 7}]", "[{\"value\": \"1\"}]", &"[".repeat(100_000)] {
        assert!(Values::default().add("/metrics", body).is_err(), "{}", crate::rest::short(body));
    }
}

/// Requests for many subtasks are cut, so that Flink takes each, and each metric is asked for once.
#[test]
fn paths_are_no_longer_than_flink_takes() {
    let chosen = choose(&[INPUT[0], OUTPUT[0], "Source__a[1].pendingRecords"], None).unwrap();
    let subtasks: Vec<u32> = (0..500).collect();
    let paths = chosen.paths(VERTEX, &subtasks);
    assert!(paths.iter().all(|path| path.len() <= PATH_BYTES_MAX));
    let asked = paths
        .iter()
        .flat_map(|path| path.strip_prefix("/jobs/a/vertices/b/metrics?get=").unwrap().split(','));
    let mut asked: Vec<&str> = asked.collect();
    assert_eq!(asked[5], "0.Source__a%5B1%5D.pendingRecords");
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked.len(), 6 * 500);
    assert!(paths.len() < 60, "{}", paths.len());
    assert!(chosen.paths(VERTEX, &[]).is_empty());
}
