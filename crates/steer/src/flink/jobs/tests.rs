//! Answers about TaskManagers and jobs: recorded ones, and ones that no Flink gives.

use serde_json::json;

use super::*;

/// Returns the error of a reading that must fail.
#[track_caller]
fn refused<T: std::fmt::Debug>(read: Result<T, Unobserved>) -> String {
    read.unwrap_err().0
}

#[test]
fn a_taskmanager_without_a_port_has_none() {
    let read = |port: serde_json::Value| {
        let body = json!({ "taskmanagers": [{ "id": "b", "dataPort": port }, { "id": "a" }] }).to_string();
        managers("/taskmanagers", &body)
            .map(|managers| managers.into_iter().map(|m| (m.id, m.data_port)).collect())
    };
    let expected = |port| Ok(vec![("a".to_owned(), None), ("b".to_owned(), port)]);
    assert_eq!(read(json!(6121)), expected(Some(6121)));
    for port in [json!(-1), json!(0), json!(65_536)] {
        assert_eq!(read(port), expected(None));
    }
    assert!(refused(read(json!("x"))).starts_with("the answer to /taskmanagers is not understood: "));
}

#[test]
fn jobs_that_have_ended_are_left_out() {
    let states =
        ["RUNNING", "FINISHED", "RESTARTING", "CANCELED", "FAILED", "SUSPENDED", "of a later version"];
    let list: Vec<_> =
        (0..).zip(states).map(|(id, status)| json!({ "id": format!("a{id}"), "status": status })).collect();
    let jobs = jobs("/jobs", &json!({ "jobs": list }).to_string()).unwrap();
    let found: Vec<(&str, bool)> = jobs.iter().map(|job| (&*job.id, job.is_running())).collect();
    assert_eq!(found, [("a0", true), ("a2", false), ("a5", false), ("a6", false)]);
}

#[test]
fn identities_that_are_no_part_of_a_path_are_refused() {
    for id in ["", "../../config", "a/b", "a?b", "é", &"a".repeat(65)] {
        let list = json!({ "jobs": [{ "id": id, "status": "RUNNING" }] }).to_string();
        assert!(refused(jobs("/jobs", &list)).ends_with("is no identity of Flink"));
        let vertices =
            json!({ "vertices": [{ "id": id, "name": "a", "parallelism": 1 }], "plan": { "nodes": [] } });
        assert!(refused(job("/jobs/a", &vertices.to_string())).ends_with("is no identity of Flink"));
    }
}

#[test]
fn what_is_too_many_is_refused() {
    let list = vec![json!({ "id": "a", "status": "RUNNING" }); JOBS_MAX + 1];
    let refusal = refused(jobs("/jobs", &json!({ "jobs": list }).to_string()));
    assert_eq!(refusal, "there are 257 jobs; at most 256 are looked at");
    let list = vec![json!({ "id": "a" }); MANAGERS_MAX + 1];
    assert!(managers("/taskmanagers", &json!({ "taskmanagers": list }).to_string()).is_err());
    let of = |vertices: usize, parallelism: u32| {
        let list = vec![json!({ "id": "a", "name": "a", "parallelism": parallelism }); vertices];
        job("/jobs/a", &json!({ "vertices": list, "plan": { "nodes": [] } }).to_string())
    };
    assert!(of(VERTICES_MAX + 1, 0).is_err() && of(2, 2_049).is_err() && of(3, u32::MAX).is_err());
    assert_eq!(of(0, 1), Ok(Job { name: String::new(), vertices: Vec::new() }));
    assert_eq!(refused(of(1, 1)), "the plan in the answer to /jobs/a lacks the vertex a");
}

/// Returns the vertices in their order, with the places and strategies of their inputs. Edges are written as `a>b`,
/// with another sign for another strategy.
fn graph(vertices: &str, edges: &str) -> Vec<(String, Vec<(usize, Strategy)>)> {
    let strategy = |sign: &str| match sign {
        "=" => "FORWARD",
        "*" => "BROADCAST",
        _ => "HASH",
    };
    let list: Vec<_> = vertices.chars().map(|id| json!({ "id": id, "name": id, "parallelism": 1 })).collect();
    let inputs = |reader: char| -> Vec<_> {
        let edges = edges.split(' ').filter(|edge| edge.ends_with(reader));
        edges.map(|edge| json!({ "id": edge[..1], "ship_strategy": strategy(&edge[1..2]) })).collect()
    };
    let nodes: Vec<_> = vertices.chars().map(|id| json!({ "id": id, "inputs": inputs(id) })).collect();
    let job = job("/jobs/a", &json!({ "vertices": list, "plan": { "nodes": nodes } }).to_string()).unwrap();
    let inputs = |vertex: &Vertex| vertex.inputs.iter().map(|input| (input.writer, input.strategy)).collect();
    job.vertices.iter().map(|vertex| (vertex.id.clone(), inputs(vertex))).collect()
}

#[test]
fn writers_come_before_their_readers() {
    let ids = |graph: &[(String, Vec<_>)]| graph.iter().map(|(id, _)| &**id).collect::<String>();
    let found = graph("cbda", "a>b b=c a*c");
    assert_eq!(ids(&found), "dabc");
    assert_eq!(found[3].1, [(2, Strategy::Forward), (1, Strategy::Broadcast)]);
    assert_eq!(ids(&graph("ba", "a>b x>b a>b")), "ab");
    // A cycle and what reads from it come last, in the order of the answer.
    assert_eq!(ids(&graph("cbas", "a>b b>a s>a b>c")), "scba");
    assert_eq!(ids(&graph("a", "a>a")), "a");
}

#[test]
fn subtasks_that_do_not_run_are_left_out() {
    let subtask = |index: u32, status: &str| json!({ "subtask": index, "status": status, "attempt": 4, "taskmanager-id": "m" });
    let list = [
        subtask(2, "RUNNING"),
        subtask(0, "FINISHED"),
        subtask(1, "RUNNING"),
        subtask(1, "RUNNING"),
        subtask(3, "RUNNING"),
    ];
    let found = subtasks("/v", &json!({ "subtasks": list }).to_string(), 3).unwrap();
    let found: Vec<(u32, u32, Option<&str>)> =
        found.iter().map(|s| (s.index, s.attempt, s.manager.as_deref())).collect();
    assert_eq!(found, [(1, 4, Some("m")), (2, 4, Some("m"))]);
    for broken in
        [json!({ "subtask": -1, "status": "RUNNING", "attempt": 0 }), json!({ "subtask": 1 }), json!(7)]
    {
        assert!(subtasks("/v", &json!({ "subtasks": [broken] }).to_string(), 3).is_err());
    }
}

/// As long as the number of subtasks of a vertex is not decided, the vertex has none, and the answer can be used.
#[test]
fn an_undecided_vertex_has_no_subtasks() {
    let body = r#"{"vertices": [{"id": "00000000000000000000000000000001", "name": "map", "parallelism": -1}],
        "plan": {"nodes": [{"id": "00000000000000000000000000000001"}]}}"#;
    let job = job("/jobs/1", body).unwrap();
    assert_eq!(job.vertices[0].told.parallelism, 0);
}
