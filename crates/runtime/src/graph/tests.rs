//! Tests of the sources from which the records of edges come, of the tasks in front of a task, and of the
//! ids of operators.

use super::build::{all_before, families_of};
use super::*;

/// Checks which edges have the same sources. Tasks are written as `inputs>outputs`, edges as their numbers.
/// The expected number of each edge is the first edge that has the same sources.
fn check(tasks: &str, expected: &[usize]) {
    let edges_of = |list: &str| -> Vec<usize> { list.split(',').flat_map(str::parse).collect() };
    let plan = |task: &str| {
        let (inputs, outputs) = task.split_once('>').unwrap();
        let inputs = edges_of(inputs).into_iter().map(|edge| ReaderOf { edge, reader: 0 }).collect();
        let making = Making::Single(Box::new(|_| unreachable!("it is not built")));
        TaskPlan::new(task.to_owned(), inputs, edges_of(outputs), making)
    };
    let tasks: Vec<TaskPlan> = tasks.split_whitespace().map(plan).collect();
    assert_eq!(families_of(&tasks, expected.len()), expected);
}

/// The tasks in front of a task are each found once, in a query of two sources, two copies of a shared
/// operator that both write, the task that closes their epochs, and its reader.
#[test]
fn all_that_a_task_reads_from_is_found_once() {
    let upstream = [vec![], vec![], vec![0, 1], vec![0, 1], vec![2, 3], vec![4]];
    let before = |task| all_before(task, |task| &upstream[task]);
    assert_eq!(before(4), [2, 3, 0, 1]);
    assert_eq!(before(5), [4, 2, 3, 0, 1]);
    assert_eq!(before(0), []);
}

/// The edges of two sources differ in their sources. An edge behind a chain has the sources of the edge in
/// front.
#[test]
fn sources_are_apart() {
    check(">0 0>1 >2", &[0, 0, 2]);
}

/// The edges of two branches of one stream all have the same source, also behind the chains of the
/// branches.
#[test]
fn branches_are_one() {
    check(">0 0>1 0>2 2>3", &[0, 0, 0, 0]);
}

/// Two splits deposit into containers that two shared operators read: all edges have the same sources.
#[test]
fn stages_over_the_same_containers_are_one() {
    check(">0 >0 0>1 0>2", &[0, 0, 0]);
}

/// Two splits have an exchange to two copies each. The edges of one split have the same source, and differ
/// from those of the other split, because one split may fall silent without the other.
#[test]
fn partitions_of_copies_are_one() {
    check(">0,1 >2,3 0,2>4 1,3>5", &[0, 0, 2, 2, 4, 4]);
}

/// An edge behind a union of several streams has more sources than each of these streams, so it has a
/// number of its own.
#[test]
fn what_meets_is_apart_from_what_it_is_made_of() {
    check(">0 >1 0,1>2 2>3", &[0, 1, 2, 2]);
}

/// The id of an operator is the FNV-1a hash of its name. The expected values are the test vectors of
/// draft-eastlake-fnv, appendix C.
#[test]
fn ids_are_stable() {
    let id = |name: &str| OperatorId::of(name).to_string();
    assert_eq!([id(""), id("a"), id("foobar")], ["cbf29ce484222325", "af63dc4c8601ec8c", "85944171f73967e8"]);
}
