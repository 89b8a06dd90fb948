//! Tests that compare the lookup join with nested loops, and of the time at which its output begins.

use super::*;

fn make(kind: JoinKind, on: On) -> Box<dyn JoinOperator> {
    joined(kind, on, JoinMethod::Lookup, &context())
}

fn last() -> Batch {
    Batch { watermark: Some(EventTime::MAX), ..Batch::new(rows_of(&[])) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_are_looked_up_as_nested_loops_do(
        script in scripts(),
        kind in prop_oneof![Just(JoinKind::Inner), Just(JoinKind::Left)],
        on in ons(),
        manner in manner(),
    ) {
        let script: Vec<Event> = script.into_iter().filter(|event| matches!(event, Event::Row(..))).collect();
        let of_side = |wanted: Side| -> Vec<Row> {
            arrivals(&script).into_iter().filter(|arrival| arrival.0 == wanted).map(|arrival| arrival.2).collect()
        };
        let out = run(&|| make(kind, on), &script, manner, &mut |_, _| {});
        let expected = nested_loops(kind, &of_side(Side::Left), &of_side(Side::Right), &|left, right| on.holds(left, right));
        prop_assert_eq!(pairs(&out), expected);
        // A lookup join puts out left rows in the order in which they came.
        let ids: Vec<i64> = out.iter().filter_map(|(_, (left, _))| left.map(|row| row.id)).collect();
        prop_assert!(ids.is_sorted());
    }
}

/// Left rows of a lookup join wait until the table has ended; later left rows do not wait.
#[test]
fn rows_wait_for_the_table() {
    let row = |id: i64| Row { id, key: Some(1), value: None, time: 0 };
    let mut operator = make(JoinKind::Inner, On::Key);
    operator.take(Side::Left, Batch::new(rows_of(&[row(1)])), EventTime::MIN).unwrap();
    assert!(drained(&mut *operator).is_empty());
    operator.take(Side::Right, Batch::new(rows_of(&[row(10)])), EventTime::MIN).unwrap();
    assert!(drained(&mut *operator).is_empty());
    operator.take(Side::Right, last(), EventTime::MIN).unwrap();
    assert_eq!(pairs(&drained(&mut *operator)), [(Some(row(1)), Some(row(10)))]);
    let kinds = Some([RowKind::UpdateBefore, RowKind::UpdateAfter].into());
    operator
        .take(Side::Left, Batch { kinds, ..Batch::new(rows_of(&[row(2), row(3)])) }, EventTime::MIN)
        .unwrap();
    let changes = drained(&mut *operator);
    let expected = [
        (RowKind::UpdateBefore, (Some(row(2)), Some(row(10)))),
        (RowKind::UpdateAfter, (Some(row(3)), Some(row(10)))),
    ];
    assert_eq!(changes, expected);
    // A lookup table that continues after its last batch is a fault of its source, and an error.
    assert!(operator.take(Side::Right, Batch::new(rows_of(&[row(11)])), EventTime::MIN).is_err());
}

/// A long left row that waits in a lookup join is paid for once: as state, and not also as a batch on its
/// way.
#[test]
fn rows_that_wait_are_paid_for_once() {
    let row = |id: i64| Row { id, key: Some(1), value: None, time: 0 };
    let paid = Arc::new(());
    let payment = Some(thalweg_model::Payment::holding(Arc::clone(&paid)));
    let mut operator = make(JoinKind::Inner, On::Key);
    operator.take(Side::Left, Batch { payment, ..Batch::new(rows_of(&[row(1)])) }, EventTime::MIN).unwrap();
    assert_eq!(Arc::strong_count(&paid), 1);
    assert!(operator.accounts().bytes() > 0);
}

/// A lookup table that several sources read is complete when the last source has ended.
#[test]
fn all_sources_end() {
    let shape = |kind| {
        let join = Join { kind, method: JoinMethod::Lookup, keys: Vec::new(), condition: None };
        let both: Vec<Column> = columns().into_iter().chain(columns()).collect();
        super::super::shape::Shape::new(&join, &columns(), &columns(), &both)
    };
    let mut operator = super::super::lookup::LookupJoin::new(shape(JoinKind::Left), 2);
    let row = Row { id: 1, key: None, value: None, time: 0 };
    operator.take(Side::Left, Batch::new(rows_of(&[row])), EventTime::MIN).unwrap();
    operator.take(Side::Right, last(), EventTime::MIN).unwrap();
    assert!(drained(&mut operator).is_empty());
    operator.take(Side::Right, last(), EventTime::MIN).unwrap();
    assert_eq!(pairs(&drained(&mut operator)), [(Some(row), None)]);
}

/// Stopping a query while its lookup table is read is an error if left rows wait, and no error otherwise.
#[test]
fn a_stop_while_the_table_is_read_is_told() {
    let row = |id: i64| Row { id, key: Some(1), value: None, time: 0 };
    for kind in [JoinKind::Inner, JoinKind::Left] {
        let mut operator = make(kind, On::Key);
        operator.take(Side::Right, Batch::new(rows_of(&[row(10)])), EventTime::MIN).unwrap();
        operator.take(Side::Left, Batch::new(rows_of(&[row(1), row(2)])), EventTime::MIN).unwrap();
        let error = operator.advance(EventTime::MAX).unwrap_err();
        assert_eq!(error.code, "STOPPED_EARLY");
        assert!(error.message.contains("2 rows"), "{}", error.message);
        let mut idle = make(kind, On::Key);
        idle.take(Side::Right, Batch::new(rows_of(&[row(10)])), EventTime::MIN).unwrap();
        idle.advance(EventTime::MAX).unwrap();
        assert!(drained(&mut *idle).is_empty());
    }
}
