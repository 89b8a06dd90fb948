//! Tests that compare OVER in the order of any columns with an oracle, which computes each result from the definition: it
//! walks over all rows of a key and asks of each whether it lies in the frame.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::types::SqlType;

use super::super::Now;
use super::super::bed::{Bed, ID, In, K, TS, V, call, columns, text};
use super::super::operator::BatchOperator;
use super::*;
use crate::plan::RankFunction;
use crate::plan::sorted_over::{Bound, Distance, RowFrame, SortedFunction};

const TTL_MS: i64 = 100;

fn by(place: usize, is_descending: bool) -> SortKey {
    // NULL counts as the least value.
    SortKey { place, is_descending, is_null_first: !is_descending }
}

fn orders() -> Vec<Vec<SortKey>> {
    vec![
        vec![by(V, false)],
        vec![by(V, true)],
        vec![by(V, true), by(TS, false)],
        vec![SortKey { is_null_first: false, ..by(V, false) }],
        vec![],
    ]
}

fn sorted_call(function: SortedFunction, result: SqlType) -> SortedCall {
    SortedCall { function, result, is_nullable: true, at: None }
}

fn aggregate(name: &str, arguments: &[usize], frame: RowFrame) -> SortedCall {
    let call = call(name, arguments, false);
    let result = call.function.result.clone();
    sorted_call(SortedFunction::Aggregate { call: Box::new(call), frame }, result)
}

fn offset(rows: i64, default: Option<usize>) -> SortedCall {
    let function = SortedFunction::Offset { value: V, default, rows, is_lead: rows > 0 };
    sorted_call(function, SqlType::Int)
}

/// Calls that need rows before the row alone.
fn live_calls(is_rows: bool) -> Vec<SortedCall> {
    let frame = RowFrame { is_rows, ..RowFrame::DEFAULT };
    vec![
        aggregate("COUNT", &[], frame),
        aggregate("SUM", &[V], frame),
        aggregate("MAX", &[ID], frame),
        sorted_call(SortedFunction::Rank(RankFunction::RowNumber), SqlType::BigInt),
        sorted_call(SortedFunction::Rank(RankFunction::Rank), SqlType::BigInt),
        sorted_call(SortedFunction::Rank(RankFunction::DenseRank), SqlType::BigInt),
        offset(-1, Some(ID)),
    ]
}

fn over(calls: &[SortedCall], order: &[SortKey], is_global: bool) -> (SortedCalls, Vec<Column>) {
    let keys = if is_global { vec![] } else { vec![K] };
    let mut out = columns();
    out.extend(calls.iter().map(|call| Column::plain(call.function.name(), call.result.clone(), true)));
    (SortedCalls { keys, order: order.to_vec(), calls: calls.to_vec() }, out)
}

fn live(
    calls: &[SortedCall],
    order: &[SortKey],
    is_global: bool,
) -> impl Fn(Now) -> Box<dyn BatchOperator> + use<> {
    let (over, out) = over(calls, order, is_global);
    move |now| Box::new(LiveOver::new(over.clone(), Some(TTL_MS), now, &columns(), &out, 7).unwrap())
}

fn at_end(calls: &[SortedCall], order: &[SortKey]) -> impl Fn(Now) -> Box<dyn BatchOperator> + use<> {
    let (over, out) = over(calls, order, false);
    move |_| Box::new(OverAtEnd::new(over.clone(), &columns(), &out).unwrap())
}

/// Compares rows by an order, without regard to arrival.
fn compare(order: &[SortKey], left: &In, right: &In) -> Ordering {
    for key in order {
        let of = |row: &In| if key.place == V { row.v.map(i64::from) } else { Some(row.ts) };
        let found = match (of(left), of(right)) {
            (None, None) => Ordering::Equal,
            (None, _) if key.is_null_first => Ordering::Less,
            (None, _) => Ordering::Greater,
            (_, None) if key.is_null_first => Ordering::Greater,
            (_, None) => Ordering::Less,
            (Some(left), Some(right)) if key.is_descending => right.cmp(&left),
            (Some(left), Some(right)) => left.cmp(&right),
        };
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// Returns whether a row lies at a bound of the frame of another row, or on the inner side of it.
fn is_within(
    bound: Bound,
    is_from: bool,
    is_rows: bool,
    order: &[SortKey],
    rows: &[In],
    row: usize,
    other: usize,
) -> bool {
    let inside = |distance: i128, by: i128| if is_from { distance >= by } else { distance <= by };
    match bound {
        Bound::First => is_from,
        Bound::Last => !is_from,
        Bound::Current if is_rows => inside(other as i128 - row as i128, 0),
        Bound::Current => {
            let found = compare(order, &rows[other], &rows[row]);
            if is_from { found != Ordering::Less } else { found != Ordering::Greater }
        }
        Bound::Offset(Distance::Whole(by)) if is_rows => inside(other as i128 - row as i128, by),
        Bound::Offset(Distance::Whole(by)) => match (rows[row].v, rows[other].v) {
            (None, None) => {
                if is_from {
                    by <= 0
                } else {
                    by >= 0
                }
            }
            // A row with NULL is before all values or behind them.
            (Some(_), None) => order[0].is_null_first != is_from,
            // The frame of a row with NULL ends where the rows with NULL end, unless its other bound is the first or last row.
            (None, Some(_)) => order[0].is_null_first == is_from,
            (Some(row), Some(other)) => {
                let distance = i128::from(other - row);
                inside(if order[0].is_descending { -distance } else { distance }, by)
            }
        },
        Bound::Offset(Distance::Float(_)) => panic!("the oracle has no floats"),
    }
}

/// Oracle: returns the rows of all keys with their results. `rows` are in the order in which equal rows come.
fn oracle(rows: &[In], calls: &[SortedCall], order: &[SortKey], is_global: bool) -> Vec<String> {
    let mut keys: BTreeMap<Option<&str>, Vec<In>> = BTreeMap::new();
    for row in rows {
        keys.entry(if is_global { None } else { row.k }).or_default().push(*row);
    }
    let mut out = Vec::new();
    for mut rows in keys.into_values() {
        rows.sort_by(|left, right| compare(order, left, right));
        for (at, row) in rows.iter().enumerate() {
            let results: Vec<String> =
                calls.iter().map(|call| result(&call.function, &rows, at, order)).collect();
            let In { id, k, v, ts } = row;
            out.push(format!("{id} {} {} {ts} {}", text(*k), text(*v), results.join(" ")));
        }
    }
    out.sort();
    out
}

fn result(function: &SortedFunction, rows: &[In], at: usize, order: &[SortKey]) -> String {
    let before = rows.iter().filter(|other| compare(order, other, &rows[at]) == Ordering::Less).count();
    let up_to = rows.iter().filter(|other| compare(order, other, &rows[at]) != Ordering::Greater).count();
    match function {
        SortedFunction::Aggregate { call, frame } => {
            let is_in = |other: usize| {
                is_within(frame.from, true, frame.is_rows, order, rows, at, other)
                    && is_within(frame.to, false, frame.is_rows, order, rows, at, other)
            };
            let frame: Vec<In> =
                (0..rows.len()).filter(|other| is_in(*other)).map(|other| rows[other]).collect();
            let values: Vec<i32> = frame.iter().filter_map(|row| row.v).collect();
            match call.name().as_str() {
                "COUNT" => frame.len().to_string(),
                "SUM" => text((!values.is_empty()).then(|| values.iter().sum::<i32>())),
                "MAX" => text(frame.iter().map(|row| row.id).max()),
                "LAST_VALUE" => text(frame.iter().map(|row| row.id).next_back()),
                "APPROX_COUNT_DISTINCT" => {
                    let mut ids: Vec<i32> = frame.iter().map(|row| row.id).collect();
                    ids.sort_unstable();
                    ids.dedup();
                    ids.len().to_string()
                }
                other => panic!("the oracle has no {other}"),
            }
        }
        SortedFunction::Rank(RankFunction::RowNumber) => (at + 1).to_string(),
        SortedFunction::Rank(RankFunction::Rank) => (before + 1).to_string(),
        SortedFunction::Rank(RankFunction::DenseRank) => {
            let is_new = |other: usize| {
                other == 0 || compare(order, &rows[other - 1], &rows[other]) != Ordering::Equal
            };
            (0..=at).filter(|other| is_new(*other)).count().to_string()
        }
        SortedFunction::PercentRank => match rows.len() {
            1 => "0.0".to_owned(),
            count => format!("{:?}", before as f64 / (count - 1) as f64),
        },
        SortedFunction::CumeDist => format!("{:?}", up_to as f64 / rows.len() as f64),
        SortedFunction::Ntile(buckets) => {
            // The buckets are filled one after the other, the first ones with one row more.
            let mut sizes = vec![rows.len() as u64 / buckets; *buckets as usize];
            (0..rows.len() as u64 % buckets).for_each(|bucket| sizes[bucket as usize] += 1);
            let ends = sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            });
            (1 + ends.take_while(|end| *end <= at as u64).count()).to_string()
        }
        SortedFunction::Offset { default, rows: by, .. } => {
            let place = usize::try_from(at as i64 + by).ok().filter(|place| *place < rows.len());
            match (place, default) {
                (Some(place), _) => text(rows[place].v),
                (None, Some(_)) => rows[at].id.to_string(),
                (None, None) => "NULL".to_owned(),
            }
        }
    }
}

/// Applies an output change to the rows that are present so far.
fn apply(there: &mut Vec<String>, change: &str) {
    let (kind, row) = change.split_once(' ').unwrap();
    match kind {
        "+I" | "+U" => there.push(row.to_owned()),
        _ => {
            let place = there.iter().position(|other| other == row);
            let place = place.unwrap_or_else(|| panic!("{change} takes back what is not there: {there:?}"));
            there.remove(place);
        }
    }
}

/// Rows that come and go. With few numbers, rows may be equal in all columns.
fn changes() -> impl Strategy<Value = Vec<(In, RowKind)>> {
    let step = (
        any::<bool>(),
        (0usize..3, 0i32..8),
        prop::option::weighted(0.8, -2i32..3),
        0i64..3,
        any::<prop::sample::Index>(),
    );
    prop::collection::vec(step, 1..40).prop_map(|steps| {
        let mut there: Vec<In> = Vec::new();
        let mut made = Vec::new();
        for (comes, (k, id), v, ts, which) in steps {
            if comes || there.len() < 3 {
                let row = In { id, k: [None, Some("a"), Some("日")][k], v, ts };
                there.push(row);
                made.push((row, RowKind::Insert));
            } else {
                made.push((there.remove(which.index(there.len())), RowKind::Delete));
            }
        }
        made
    })
}

/// Adds a row, or takes the first equal one away.
fn change(there: &mut Vec<In>, (row, kind): &(In, RowKind)) {
    match kind {
        RowKind::Insert => there.push(*row),
        _ => {
            there.remove(there.iter().position(|other| other == row).unwrap());
        }
    }
}

fn bound() -> impl Strategy<Value = Bound> {
    prop_oneof![
        Just(Bound::First),
        Just(Bound::Current),
        Just(Bound::Last),
        (-2i128..3).prop_map(|by| Bound::Offset(Distance::Whole(by))),
    ]
}

fn frame() -> impl Strategy<Value = RowFrame> {
    (any::<bool>(), bound(), bound()).prop_filter_map("backward", |(is_rows, from, to)| {
        let side = |bound: Bound| match bound {
            Bound::First => -100,
            Bound::Current | Bound::Offset(Distance::Float(_)) => 0,
            Bound::Last => 100,
            Bound::Offset(Distance::Whole(by)) => by,
        };
        (side(from) <= side(to) && from != Bound::Last && to != Bound::First).then_some(RowFrame {
            is_rows,
            from,
            to,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn live_results_are_those_of_the_oracle(
        changes in changes(),
        (order, is_rows, is_global) in (0usize..5, any::<bool>(), any::<bool>()),
        (cut, reload) in (1usize..20, 0usize..40),
        some in prop::sample::subsequence((0usize..7).collect::<Vec<_>>(), 1..=7),
    ) {
        let order = &orders()[order];
        let all = live_calls(is_rows);
        let calls: Vec<SortedCall> = some.into_iter().map(|place| all[place].clone()).collect();
        let make = live(&calls, order, is_global);
        let mut bed = Bed::new(&make);
        let (mut there, mut shown) = (Vec::new(), Vec::new());
        for (number, part) in changes.chunks(cut).enumerate() {
            let (rows, kinds): (Vec<In>, Vec<RowKind>) = part.iter().copied().unzip();
            for line in bed.take(&rows, Some(&kinds)) {
                apply(&mut shown, &line);
            }
            part.iter().for_each(|one| change(&mut there, one));
            let mut shown = shown.clone();
            shown.sort();
            prop_assert_eq!(shown, oracle(&there, &calls, order, is_global));
            if number == reload {
                bed.reload(&make);
            }
        }
        prop_assert_eq!(bed.operator.counts().filtered, 0);
    }

    #[test]
    fn final_results_are_those_of_the_oracle(
        changes in changes(),
        order in 0usize..5,
        frame in frame(),
        (buckets, by) in (1u64..5, -3i64..4),
        (cut, reload) in (1usize..20, 0usize..4),
    ) {
        let order = &orders()[order];
        // A distance of RANGE takes one sort column.
        let has_distance = [frame.from, frame.to].iter().any(|bound| matches!(bound, Bound::Offset(_)));
        let frame = RowFrame { is_rows: frame.is_rows || (has_distance && order.len() != 1), ..frame };
        let mut calls = live_calls(false);
        calls.extend([
            aggregate("COUNT", &[], frame),
            aggregate("SUM", &[V], frame),
            aggregate("LAST_VALUE", &[ID], frame),
            // This one cannot take rows back.
            aggregate("APPROX_COUNT_DISTINCT", &[ID], frame),
            sorted_call(SortedFunction::PercentRank, SqlType::Double),
            sorted_call(SortedFunction::CumeDist, SqlType::Double),
            sorted_call(SortedFunction::Ntile(buckets), SqlType::Int),
            offset(by, None),
            offset(by, Some(ID)),
        ]);
        let make = at_end(&calls, order);
        let mut bed = Bed::new(&make);
        let mut there = Vec::new();
        for (number, part) in changes.chunks(cut).enumerate() {
            let (rows, kinds): (Vec<In>, Vec<RowKind>) = part.iter().copied().unzip();
            prop_assert_eq!(bed.take(&rows, Some(&kinds)), Vec::<String>::new());
            prop_assert_eq!(bed.advance(1_000_000), Vec::<String>::new());
            part.iter().for_each(|one| change(&mut there, one));
            if number == reload {
                bed.reload(&make);
            }
        }
        // Rows that are equal by the order go by all columns.
        there.sort();
        let mut shown: Vec<String> =
            bed.advance(i64::MAX).iter().map(|line| line.strip_prefix("+I ").unwrap().to_owned()).collect();
        shown.sort();
        prop_assert_eq!(shown, oracle(&there, &calls, order, false));
    }
}

/// Keys with many rows are computed in several passes, and put out in batches of bounded size.
#[test]
fn keys_may_have_many_rows() {
    let frame = RowFrame {
        is_rows: true,
        from: Bound::Offset(Distance::Whole(-1)),
        to: Bound::Offset(Distance::Whole(1)),
    };
    let calls = [aggregate("COUNT", &[], frame), aggregate("COUNT", &[], RowFrame::DEFAULT)];
    let mut bed = Bed::new(at_end(&calls, &[by(V, false)]));
    for part in 0..5 {
        let row = |id: i32| In {
            id: part * 4_000 + id,
            k: Some(["a", "b"][usize::from(id < 9)]),
            v: Some(part),
            ts: 0,
        };
        bed.take(&(0..4_000).map(row).collect::<Vec<In>>(), None);
    }
    let shown = bed.advance(i64::MAX);
    assert_eq!(shown.len(), 20_000);
    assert_eq!(shown[0], "+I 9 a 0 0 2 3991");
    assert_eq!(shown[1], "+I 10 a 0 0 3 3991");
    assert_eq!(shown[19_954], "+I 19999 a 4 0 2 19955");
    assert_eq!(shown[19_999], "+I 16008 b 4 0 2 45");
}

/// A key is forgotten by its time to live. Rows that go behind it are unknown.
#[test]
fn keys_expire() {
    let mut bed = Bed::new(live(&live_calls(true)[..1], &[by(V, false)], false));
    let row = |id, v| In { id, k: Some("a"), v: Some(v), ts: 0 };
    assert_eq!(
        bed.take(&[row(1, 5), row(2, 3)], None),
        ["+I 1 a 5 0 1", "+I 2 a 3 0 1", "-U 1 a 5 0 1", "+U 1 a 5 0 2"]
    );
    bed.set_clock(100);
    assert_eq!(bed.take(&[row(3, 4)], None), ["+I 3 a 4 0 1"]);
    assert_eq!(bed.take(&[row(1, 5)], Some(&[RowKind::Delete])), Vec::<String>::new());
    assert_eq!(bed.operator.counts().filtered, 1);
    assert_eq!(bed.take(&[row(3, 4)], Some(&[RowKind::Delete])), ["-D 3 a 4 0 1"]);
    assert!(bed.operator.state_bytes() < 10_000, "{} bytes are held", bed.operator.state_bytes());
}
