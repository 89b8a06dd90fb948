//! Tests that compare the window join with nested loops, and of its late rows.

use super::*;
use crate::plan::WindowPlaces;

fn make(kind: JoinKind, on: On) -> Box<dyn JoinOperator> {
    let places = WindowPlaces { start: START, end: END };
    joined(kind, on, JoinMethod::Window { left: places, right: places, is_local: false }, &context())
}

fn expected(kind: JoinKind, on: On, script: &[Event]) -> Vec<Pair> {
    let of_side = |wanted: Side| -> Vec<Row> {
        let all = arrivals(script).into_iter();
        all.filter(|(side, _, row, own, _)| *side == wanted && row.window().1 > *own)
            .map(|(_, _, row, _, _)| row)
            .collect()
    };
    let meets = |left: &Row, right: &Row| left.window() == right.window() && on.holds(left, right);
    nested_loops(kind, &of_side(Side::Left), &of_side(Side::Right), &meets)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn windows_are_joined_as_nested_loops_do(script in scripts(), kind in kinds(), on in ons(), manner in manner()) {
        // A window join puts out no row before the window of the row has ended.
        let mut early = 0;
        let out = run(&|| make(kind, on), &script, manner, &mut |out, passed| {
            let ends = out.iter().flat_map(|(_, (left, right))| [left, right]).flatten().map(|row| row.window().1);
            early += ends.filter(|end| *end <= passed).count();
        });
        prop_assert_eq!(pairs(&out), expected(kind, on, &script));
        prop_assert_eq!(early, 0);
    }
}

/// Output of a window join of many rows of one key comes in several batches.
#[test]
fn explosions_come_in_pieces() {
    let rows = |side: Side, count: i64| {
        (0..count).map(move |id| {
            Event::Row(side, RowKind::Insert, Row { id, key: Some(1), value: Some(1), time: 3 })
        })
    };
    let script: Vec<Event> = rows(Side::Left, 130).chain(rows(Side::Right, 131)).collect();
    let count = |kind: JoinKind, on: On| {
        let manner = Manner { batch_rows: 64, restore_every: usize::MAX };
        run(&|| make(kind, on), &script, manner, &mut |_, _| {}).len()
    };
    assert_eq!(count(JoinKind::Inner, On::Key), 130 * 131);
    assert_eq!(count(JoinKind::Full, On::KeyAndLess), 130 + 131);
    assert_eq!(count(JoinKind::Semi, On::Anything), 130);
    assert_eq!(count(JoinKind::Anti, On::Key), 0);
}

/// A window join reports the bytes of its state, and frees them when the windows have ended.
#[test]
fn state_is_counted() {
    let mut operator = make(JoinKind::Inner, On::Key);
    let row = Row { id: 1, key: Some(1), value: None, time: 5 };
    operator.take(Side::Left, Batch::new(rows_of(&[row])), EventTime::MIN).unwrap();
    assert!(operator.accounts().bytes() > 0);
    operator.advance(event_time(9)).unwrap();
    assert!(drained(&mut *operator).is_empty() && operator.accounts().bytes() > 0);
    operator.advance(event_time(10)).unwrap();
    assert!(drained(&mut *operator).is_empty());
    assert_eq!(operator.accounts().bytes(), 0);
    operator.take(Side::Left, Batch::new(rows_of(&[row])), event_time(10)).unwrap();
    assert_eq!((operator.accounts().counts.late, operator.accounts().counts.folded), (1, 1));
}

/// A window join refuses a batch with retractions.
#[test]
fn changes_are_refused() {
    let mut operator = make(JoinKind::Inner, On::Key);
    let row = Row { id: 1, key: Some(1), value: None, time: 5 };
    let batch = Batch { kinds: Some([RowKind::Delete].into()), ..Batch::new(rows_of(&[row])) };
    assert_eq!(operator.take(Side::Left, batch, EventTime::MIN).unwrap_err().code, "UNSUPPORTED");
}
