//! Tests of what a task shows of its inputs to other threads: which input is read next, with its head and frontier, and the
//! lengths of queues. Other modules' tests use the makers of edges and inlets, too.

use thalweg_memory::{BlockShape, Budget, EdgeOptions, Pool};
use thalweg_model::Record;

use super::*;
use crate::edge::{Reader, Writer};

fn at(ns: u64) -> ProcessingTime {
    ProcessingTime::from_nanos(ns)
}

/// Checks the view of a source at 1,000 ns: the number of its pending records, the time of the oldest,
/// and whether it makes records on demand.
fn check(note: impl FnOnce(&Probe), expected: (u64, u64, bool)) {
    let probe = Probe::new(Box::default(), Box::default());
    note(&probe);
    let now = at(1_000);
    assert_eq!((probe.pending(now), probe.oldest_pending(now).as_nanos(), probe.is_on_demand()), expected);
}

#[test]
fn what_a_source_is_behind_with_waits() {
    check(|probe| probe.note_poll(at(900)), (1, 900, true));
    check(|probe| probe.note_behind(at(900), at(400), Some(100)), (7, 400, false));
    check(|probe| probe.note_behind(at(900), at(0), Some(10)), (100, 1, false));
    check(|probe| probe.note_behind(at(900), at(400), None), (1, 400, false));
    check(|probe| probe.note_caught_up(at(900), at(950), Some(10), 20), (6, 950, false));
    check(|probe| probe.note_caught_up(at(900), at(1_001), Some(10), 20), (0, 1_000, false));
}

/// The queue of a source has the records that are due. An unfinished mark (such as a watermark) is
/// pending work, but no record. A source that makes records on demand has no queue.
#[test]
fn the_queue_of_a_source_is_what_is_due() {
    let probe = Probe::new(Box::default(), Box::default());
    let length = || probe.queue_length(at(1_000));
    assert_eq!(length(), None, "never polled");
    probe.note_behind(at(900), at(400), Some(100));
    probe.set_unsettled(Some(crate::arrival::at(at(900))));
    assert_eq!((length(), probe.pending(at(1_000))), (Some(7), 8));
    probe.note_caught_up(at(900), at(1_001), Some(10), 20);
    assert_eq!(length(), Some(0));
    probe.note_poll(at(900));
    assert_eq!(length(), None);
}

/// A source that was far behind when it ended has no records that are due, even if a handle asks it to
/// end afterwards. Its last marks (watermark and end) still count as work.
#[test]
fn a_source_that_has_ended_owes_nothing() {
    let probe = Probe::new(Box::default(), Box::default());
    probe.note_behind(at(900), at(400), Some(100));
    assert_eq!(probe.queue_length(at(1_000)), Some(7));
    probe.note_over();
    probe.stop(Stop::Drained);
    let seen = |now| (probe.queue_length(now), probe.pending(now), probe.next_due(now));
    assert_eq!(seen(at(1_000)), (Some(0), 0, ProcessingTime::NEVER));
    probe.set_unsettled(Some(crate::arrival::at(at(950))));
    assert_eq!(seen(at(9_000)), (Some(0), 1, ProcessingTime::NEVER));
    assert_eq!((probe.oldest_pending(at(9_000)), probe.is_on_demand()), (at(950), false));
}

/// Makes an edge on which `records` records wait, all with the time `observed_ns` in their scheduling
/// context. The caller must keep both ends of the edge while it inspects the edge.
pub(crate) fn edge_with(records: u64, observed_ns: u64) -> (Writer<u64>, Reader<u64>) {
    let shape = BlockShape { block_records: 4, chunk_blocks: 1 };
    let options = EdgeOptions { shape, chunks_max: 2, marks_max: 8 };
    let (mut writer, reader) = thalweg_memory::edge(&Pool::new(Budget::new(1 << 20)), options).unwrap();
    let stamp = crate::arrival::at(at(observed_ns)).stamp();
    assert!(records as usize <= writer.begin(stamp), "there is room");
    (0..records).for_each(|value| writer.append(Record::new(EventTime::EPOCH, value), stamp));
    writer.hand_over();
    (writer, reader)
}

/// Returns the edge as an input of a task.
pub(crate) fn inlet((writer, _): &(Writer<u64>, Reader<u64>)) -> Inlet {
    Inlet::Edge(Arc::clone(writer.cursors()), 0)
}

/// Checks which input a task with two inputs reads next: the last watermark of that input in s, and the
/// time in ns in the scheduling context of its work. On the first input `records[0]` records wait, whose
/// time is 400 ns; on the second `records[1]`, whose time is 500 ns. `watermarks` are the last ones of
/// both, in s.
#[track_caller]
fn check_head(records: [u64; 2], watermarks: [Option<i64>; 2], expected: Option<(Option<i64>, u64)>) {
    let edges = [edge_with(records[0], 400), edge_with(records[1], 500)];
    let probe = Probe::new(edges.iter().map(inlet).collect(), Box::default());
    for (port, watermark) in watermarks.into_iter().enumerate() {
        let marks = watermark.map(|seconds| Mark::Watermark(EventTime::from_secs(seconds)));
        marks.into_iter().for_each(|mark| probe.note_input_mark(port, mark));
    }
    let now = at(1_000);
    let found = (probe.head_watermark(now), probe.head(now).observed);
    let (watermark, observed_ns) = expected.unwrap_or((None, 1_000));
    assert_eq!(found, (watermark.map(EventTime::from_secs), at(observed_ns)));
}

/// The head of a task and its watermark are those of the input that is read next: of the inputs with
/// work, the one with the lowest watermark, and not the one whose work has the earliest time in its
/// scheduling context.
#[test]
fn the_head_is_that_of_the_input_that_is_read_next() {
    check_head([3, 3], [Some(600), Some(100)], Some((Some(100), 500)));
    check_head([3, 3], [Some(100), Some(600)], Some((Some(100), 400)));
    // An input without work does not count, however low its watermark is.
    check_head([3, 0], [Some(600), Some(100)], Some((Some(600), 400)));
    check_head([0, 3], [Some(100), Some(600)], Some((Some(600), 500)));
    // If watermarks are equal, the work with the earliest time in its scheduling context counts.
    check_head([3, 3], [Some(100), Some(100)], Some((Some(100), 400)));
    // An input that has had no watermark holds the others back, and is read first.
    check_head([3, 3], [Some(600), None], Some((None, 500)));
    check_head([3, 3], [None, None], Some((None, 400)));
    check_head([0, 0], [Some(600), Some(100)], None);
}

/// If inputs are read in the order of arrival, the head is that of the input whose work came first, whatever the
/// watermarks are. Edges of this test give their records an arrival that is the time in their scheduling context.
#[test]
fn by_arrival_the_head_is_that_of_what_came_first() {
    for (observed_ns, expected) in [([400, 500], (600, 400)), ([500, 400], (100, 400))] {
        let edges = observed_ns.map(|observed_ns| edge_with(3, observed_ns));
        let probe = Probe::new(edges.iter().map(inlet).collect(), Box::default());
        probe.set_input_order(InputOrder::Arrival);
        for (port, seconds) in [600, 100].into_iter().enumerate() {
            probe.note_input_mark(port, Mark::Watermark(EventTime::from_secs(seconds)));
        }
        let now = at(1_000);
        let found = (probe.head_watermark(now), probe.head(now).observed);
        assert_eq!(found, (Some(EventTime::from_secs(expected.0)), at(expected.1)));
    }
}

/// The lengths of queues are in rows: where a record stands for several rows, the records that wait count
/// as the mean number of rows in those taken so far. So an edge of records and an edge of batches compare.
#[test]
fn queues_of_records_and_of_batches_have_one_unit() {
    let edges = [edge_with(6, 400), edge_with(2, 400)];
    let [records, batches] = edges.each_ref().map(|edge| Probe::new([inlet(edge)].into(), Box::default()));
    let length = |probe: &Probe| probe.queue_length(at(1_000));
    assert_eq!((length(&records), length(&batches)), (Some(6), Some(2)), "before the first step");
    let step = |records_in, taken| StepReport { records_in, taken, ..StepReport::default() };
    records.note_rows(step(500, 500));
    batches.note_rows(step(4_096, 1));
    batches.note_rows(step(904, 1));
    assert_eq!((length(&records), length(&batches)), (Some(6), Some(5_000)));
    // A step that takes no records leaves the mean number of rows in a record as it is.
    batches.note_rows(step(0, 0));
    batches.note_rows(step(2_500, 2));
    assert_eq!(length(&batches), Some(3_750), "7,500 rows in 4 batches so far");
    // Batches that wait count as a row at least, although all batches so far were empty.
    let empty = Probe::new([inlet(&edges[1])].into(), Box::default());
    empty.note_rows(step(0, 3));
    assert_eq!(length(&empty), Some(1));
}
