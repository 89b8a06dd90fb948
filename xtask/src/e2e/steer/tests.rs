//! Forms of priorities, rounds, differences and leftovers, without an engine.

use serde_json::json;

use super::*;

fn scheduling(nice: i64, policy: i64, priority: i64, group: &str) -> Scheduling {
    Scheduling { nice, policy, priority, group: group.to_owned() }
}

fn state(threads: &[(Key, Scheduling)], slice: &str) -> State {
    State { threads: threads.iter().cloned().collect(), settings: [Some(slice.to_owned()), None] }
}

/// A form looks at its own number of a round, and at its own number of the kernel.
#[test]
fn each_form_has_its_own_numbers() {
    let mount = Mount::find();
    let said = json!({ "nice": -3, "priority": 40, "shares": 2048 });
    assert_eq!(Form::ALL.map(|form| form.said(&said)), [Some(-3), Some(40), Some(2048)]);
    assert_eq!(Form::ALL.map(|form| form.said(&json!({ "shares": null }))), [None; 3]);
    // A machine without control groups has no mount, and then no form is tried.
    let Ok(mount) = mount else { return };
    let seen = |thread: &Scheduling| Form::ALL.map(|form| form.seen(thread, "/thalweg-steer-7-", &mount));
    assert_eq!(seen(&scheduling(-3, 0, 0, "/")), [Some(-3), None, None]);
    assert_eq!(seen(&scheduling(0, 2, 40, "/")), [None, Some(40), None]);
    // SCHED_FIFO is not asked for, and a group that is gone has no shares.
    assert_eq!(seen(&scheduling(0, 1, 40, "/thalweg-steer-7-1/0")), [None; 3]);
}

#[test]
fn the_last_used_round_is_found() {
    let used = |thread: u32| json!({ "threads": [{ "thread": thread }] });
    let lines = format!(
        "{}\n{}\n{{\"skipped\":\"why\"}}\n{}\n{{\"threads\":[{{\"thr",
        used(1),
        used(2),
        json!({ "threads": [] })
    );
    assert_eq!(last_round(&lines), Some(used(2)));
    assert_eq!(last_round("{\"skipped\":\"why\"}\n"), None);
    assert_eq!(last_round(""), None);
}

/// Threads that begin meanwhile are as the first thread was, and a number that was used again is another thread.
#[test]
fn differences_from_before_are_told() {
    let (usual, steered) = (scheduling(0, 0, 0, "/"), scheduling(-20, 0, 0, "/"));
    let before = state(&[((7, 1), usual.clone()), ((8, 1), scheduling(5, 0, 0, "/"))], "100");
    let told = |after: State| after.unlike(&before, 7).len();
    assert_eq!(told(before.clone()), 0);
    assert_eq!(told(state(&[((7, 1), usual.clone()), ((9, 3), usual.clone())], "100")), 0);
    assert_eq!(told(state(&[((7, 1), usual.clone()), ((8, 3), usual.clone())], "100")), 0);
    assert_eq!(told(state(&[((7, 1), usual.clone()), ((8, 1), usual.clone())], "100")), 1);
    assert_eq!(told(state(&[((7, 1), steered.clone()), ((9, 3), steered)], "24")), 3);
    let moved = state(&[((7, 1), scheduling(0, 0, 0, "/thalweg-steer-7-1/0"))], "100");
    assert_eq!(told(moved), 1);
}

#[test]
fn own_threads_are_not_steered() {
    let Ok(mount) = Mount::find() else { return };
    let process = std::process::id();
    let round = |nices: [i64; 2]| {
        let threads = nices.map(|nice| json!({ "process": process, "thread": process, "nice": nice }));
        json!({ "threads": threads }).to_string()
    };
    let given = |text: &str| given(Form::Nice, text, process, ("/thalweg-steer-", &mount));
    let own = threads::of_process(process).unwrap();
    let nice = own.iter().find(|((thread, _), _)| *thread == process).unwrap().1.nice;
    // All threads with one priority are not ranked; another priority than that of the kernel was not given.
    assert!(given(&round([nice, nice])).unwrap().is_none());
    assert!(given(&round([nice, nice + 1])).unwrap().is_none());
    assert!(given("").unwrap().is_none());
    let other = json!({ "threads": [{ "process": 1, "thread": 1, "nice": 0 }] }).to_string();
    assert!(given(&other).err().unwrap().to_string().starts_with("the command steers process 1, "));
}

/// State files and groups of the command count, and those of other commands do not.
#[test]
fn leftovers_are_told() {
    let states = std::env::temp_dir().join(format!("thalweg-left-over-{}", std::process::id()));
    fs::create_dir_all(&states).unwrap();
    for name in ["lock", "steer-1-2.state"] {
        fs::write(states.join(name), "").unwrap();
    }
    for name in ["thalweg-steer-7-5", "thalweg-steer-70-5"] {
        fs::create_dir_all(states.join(name)).unwrap();
    }
    let left = Mount::find().map(|mount| left_over(&states, &mount, &state(&[], ""), "/thalweg-steer-7-"));
    fs::remove_dir_all(&states).unwrap();
    if let Ok(mut left) = left {
        left.sort();
        let expected = ["steer-1-2.state", "thalweg-steer-7-5"];
        assert_eq!(left, expected.map(|name| format!("{} is still there", states.join(name).display())));
    }
}
