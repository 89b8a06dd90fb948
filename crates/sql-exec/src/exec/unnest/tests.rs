//! Tests of UNNEST against a loop over rows: drawn arrays and maps, in batches of all sizes, by one worker or several, and
//! the bounds of the output.

use arrow::array::{ListArray, MapArray, StringArray};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use arrow::util::display::array_value_to_string;
use thalweg_model::{Allowance, Entropy, GrantSource, SeededEntropy};
use thalweg_sql_formats::RowKind;
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_functions::values::ScalarValue;

use super::*;

const KINDS: [RowKind; 4] = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];

/// Columns of the test rows: a number, an array of numbers, a map, and an array of rows.
const ID: usize = 0;
const NUMBERS: usize = 1;
const MAP: usize = 2;
const ROWS: usize = 3;

/// A number and a text, each of which may be NULL, of an entry or a row.
type Pair = (Option<i32>, Option<String>);

/// A row of the tests, in which every value may be NULL.
#[derive(Clone, Debug)]
struct In {
    kind: RowKind,
    id: i32,
    numbers: Option<Vec<Option<i32>>>,
    map: Option<Vec<Pair>>,
    rows: Option<Vec<Option<Pair>>>,
}

struct Draw(SeededEntropy);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }

    fn or_null<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.below(4) == 0 { None } else { Some(make(self)) }
    }

    fn list<T>(&mut self, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        let count = [0, 0, 1, 1, 2, 3, 40][self.below(7) as usize];
        (0..count).map(|_| make(self)).collect()
    }

    fn number(&mut self) -> Option<i32> {
        self.or_null(|draw| draw.below(100) as i32)
    }

    fn text(&mut self) -> Option<String> {
        self.or_null(|draw| "x".repeat(draw.below(4) as usize))
    }

    fn row(&mut self, id: i32, has_kinds: bool) -> In {
        let kind = if has_kinds { KINDS[self.below(4) as usize] } else { RowKind::Insert };
        In {
            kind,
            id,
            numbers: self.or_null(|draw| draw.list(Draw::number)),
            map: self.or_null(|draw| draw.list(|draw| (Some(draw.below(9) as i32), draw.text()))),
            rows: self.or_null(|draw| draw.list(|draw| draw.or_null(|draw| (draw.number(), draw.text())))),
        }
    }
}

fn pair_type() -> Vec<(String, SqlType)> {
    vec![("a".to_owned(), SqlType::Int), ("b".to_owned(), SqlType::STRING)]
}

fn columns() -> Vec<Column> {
    let of = |name: &str, of| Column::plain(name, of, true);
    vec![
        of("id", SqlType::Int),
        of("numbers", SqlType::Array(Box::new(SqlType::Int))),
        of("map", SqlType::Map(Box::new(SqlType::Int), Box::new(SqlType::STRING))),
        of("rows", SqlType::Array(Box::new(SqlType::Row(pair_type())))),
    ]
}

/// Returns the offsets of lists. Each NULL list has two elements of garbage, which no reader may see.
fn offsets<T>(lists: &[Option<Vec<T>>]) -> OffsetBuffer<i32> {
    OffsetBuffer::from_lengths(lists.iter().map(|list| list.as_ref().map_or(2, Vec::len)))
}

fn values<T: Clone>(lists: &[Option<Vec<T>>], garbage: &T) -> Vec<T> {
    let of = |list: &Option<Vec<T>>| list.clone().unwrap_or_else(|| vec![garbage.clone(); 2]);
    lists.iter().flat_map(of).collect()
}

fn nulls<T>(lists: &[Option<T>]) -> Option<NullBuffer> {
    Some(NullBuffer::from_iter(lists.iter().map(Option::is_some)))
}

fn pairs(of: &DataType, pairs: &[Option<Pair>]) -> StructArray {
    let DataType::Struct(fields) = of else { panic!("{of}") };
    // A NULL row has garbage in its fields.
    let of = |pair: &Option<Pair>| pair.clone().unwrap_or((Some(-1), Some("garbage".to_owned())));
    let numbers: Int32Array = pairs.iter().map(|pair| of(pair).0).collect();
    let texts: StringArray = pairs.iter().map(|pair| of(pair).1).collect();
    let is_none = pairs.iter().all(Option::is_some);
    let nulls = if is_none { None } else { nulls(pairs) };
    StructArray::new(fields.clone(), vec![Arc::new(numbers), Arc::new(texts)], nulls)
}

/// Creates a batch of test rows, as a slice of a longer batch.
fn batch(rows: &[In], draw: &mut Draw) -> Batch {
    let around: Vec<In> = (0..2 + rows.len())
        .map(|at| match at.checked_sub(1).and_then(|at| rows.get(at)) {
            Some(row) => row.clone(),
            None => draw.row(-1, false),
        })
        .collect();
    let schema = schema_of(&columns());
    let of = |place: usize| schema.field(place).data_type().clone();
    let ids: Int32Array = around.iter().map(|row| Some(row.id)).collect();
    let lists: Vec<_> = around.iter().map(|row| row.numbers.clone()).collect();
    let DataType::List(item) = of(NUMBERS) else { panic!() };
    let numbers = Arc::new(Int32Array::from(values(&lists, &Some(-1))));
    let numbers = ListArray::new(item, offsets(&lists), numbers, nulls(&lists));
    let maps: Vec<_> = around.iter().map(|row| row.map.clone()).collect();
    let DataType::Map(entry, _) = of(MAP) else { panic!() };
    let entries: Vec<_> = values(&maps, &(Some(-1), None)).into_iter().map(Some).collect();
    let entries = pairs(entry.data_type(), &entries);
    let map = MapArray::new(Arc::clone(&entry), offsets(&maps), entries, nulls(&maps), false);
    let lists: Vec<_> = around.iter().map(|row| row.rows.clone()).collect();
    let DataType::List(item) = of(ROWS) else { panic!() };
    let structs = Arc::new(pairs(item.data_type(), &values(&lists, &None)));
    let structs = ListArray::new(item, offsets(&lists), structs, nulls(&lists));
    let columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(numbers), Arc::new(map), Arc::new(structs)];
    let whole = batch_of(&schema, columns, around.len()).unwrap();
    let mut batch = Batch::new(whole.slice(1, rows.len()));
    if rows.iter().any(|row| row.kind != RowKind::Insert) {
        batch.kinds = Some(rows.iter().map(|row| row.kind).collect());
    }
    batch
}

fn text<T: ToString>(value: Option<T>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

/// Reference: the rows that come out, by a loop over rows and their elements.
fn reference(rows: &[In], place: usize, kind: UnnestKind) -> Vec<String> {
    let pair = |pair: &Pair| vec![text(pair.0), text(pair.1.clone())];
    let mut out = Vec::new();
    for row in rows {
        let elements: Vec<Vec<String>> = match place {
            NUMBERS => row.numbers.iter().flatten().map(|number| vec![text(*number)]).collect(),
            MAP => row.map.iter().flatten().map(pair).collect(),
            _ => {
                let none = (None, None);
                row.rows.iter().flatten().map(|row| pair(row.as_ref().unwrap_or(&none))).collect()
            }
        };
        let mut put = |values: &[String], position: String| {
            out.push(format!("{} {} {} {position}", row.kind, row.id, values.join(" ")));
        };
        for (position, values) in (1..).zip(&elements) {
            put(values, text(Some(position)));
        }
        if elements.is_empty() && kind == UnnestKind::Left {
            let width = if place == NUMBERS { 1 } else { 2 };
            put(&vec!["NULL".to_owned(); width], "NULL".to_owned());
        }
    }
    out
}

fn shape(place: usize, kind: UnnestKind) -> (UnnestShape, Vec<Column>) {
    let of = columns()[place].of.clone();
    let mut made = vec![columns()[ID].clone()];
    let parts = if place == NUMBERS { vec![SqlType::Int] } else { vec![SqlType::Int, SqlType::STRING] };
    made.extend(parts.iter().map(|of| Column::plain("part", of.clone(), true)));
    made.push(Column::plain("ORDINALITY", SqlType::Int, true));
    let value = Typed::column(place, of, true);
    let parts = (0..parts.len()).collect();
    (UnnestShape { value, kind, kept: vec![ID], parts, has_ordinality: true }, made)
}

fn shown(batch: &Batch) -> Vec<String> {
    let value = |row: usize, column: &ArrayRef| match column.is_null(row) {
        true => "NULL".to_owned(),
        false => array_value_to_string(column, row).unwrap(),
    };
    let row = |row: usize| {
        let values: Vec<String> = batch.rows.columns().iter().map(|column| value(row, column)).collect();
        format!("{} {}", batch.kind(row), values.join(" "))
    };
    (0..batch.len()).map(row).collect()
}

fn drained(operator: &mut dyn BatchOperator) -> Vec<Batch> {
    let mut made = Vec::new();
    while let Some(batch) = operator.next().unwrap() {
        assert!(batch.len() <= OUTPUT_ROWS_MAX, "a batch of {} rows", batch.len());
        made.push(batch);
    }
    assert!(operator.counts().is_conserved(), "{:?}", operator.counts());
    made
}

/// Arrays, maps and arrays of rows give the rows of a loop, for any sizes of batches and any number of workers.
#[test]
fn rows_are_those_of_a_loop() {
    for seed in 0..60 {
        let mut draw = Draw(SeededEntropy::new(seed));
        let has_kinds = draw.below(2) == 0;
        let rows: Vec<In> = (0..40).map(|id| draw.row(id, has_kinds)).collect();
        for place in [NUMBERS, MAP, ROWS] {
            for kind in [UnnestKind::Inner, UnnestKind::Left] {
                let (shape, made) = shape(place, kind);
                let batch_rows = [1, 3, 7, 40][draw.below(4) as usize];
                let first = Unnest::new(shape, &made);
                let mut workers = vec![first.fork(), first.fork(), Box::new(first)];
                let mut found = Vec::new();
                for rows in rows.chunks(batch_rows) {
                    let worker = draw.below(workers.len() as u64) as usize;
                    workers[worker].take(batch(rows, &mut draw), EventTime::MIN).unwrap();
                    found.extend(drained(&mut *workers[worker]).iter().flat_map(shown));
                }
                assert_eq!(found, reference(&rows, place, kind), "seed {seed}, column {place}, {kind:?}");
                let read: u64 = workers.iter().map(|worker| worker.counts().read).sum();
                assert_eq!(read, rows.len() as u64);
            }
        }
    }
}

/// Output columns that nothing reads are left out, also all of them.
#[test]
fn columns_may_be_left_out() {
    let mut draw = Draw(SeededEntropy::new(7));
    let rows: Vec<In> = (0..30).map(|id| draw.row(id, false)).collect();
    let (whole, made) = shape(ROWS, UnnestKind::Left);
    let expected = reference(&rows, ROWS, UnnestKind::Left);
    let input = batch(&rows, &mut draw);
    for (kept, parts, has_ordinality) in [
        (vec![ID], vec![1], false),
        (vec![], vec![0], true),
        (vec![ID], vec![], true),
        (vec![], vec![], false),
    ] {
        let is_wanted = |at: usize| match at {
            0 => !kept.is_empty(),
            3 => has_ordinality,
            part => parts.contains(&(part - 1)),
        };
        let made: Vec<Column> = made
            .iter()
            .enumerate()
            .filter(|(at, _)| is_wanted(*at))
            .map(|(_, column)| column.clone())
            .collect();
        let shape = UnnestShape { kept: kept.clone(), parts: parts.clone(), has_ordinality, ..whole.clone() };
        let mut unnest = Unnest::new(shape, &made);
        unnest.take(input.clone(), EventTime::MIN).unwrap();
        let found: Vec<String> = drained(&mut unnest).iter().flat_map(shown).collect();
        let expected: Vec<String> = expected
            .iter()
            .map(|line| {
                let mut words = line.split(' ');
                let kind = words.next().unwrap();
                let values: Vec<&str> =
                    words.enumerate().filter(|(at, _)| is_wanted(*at)).map(|(_, word)| word).collect();
                format!("{kind} {}", values.join(" "))
            })
            .collect();
        assert_eq!(found, expected, "{kept:?} {parts:?} {has_ordinality}");
    }
}

/// Creates an UNNEST of arrays of numbers that keeps a text, and a batch whose rows have texts and arrays of these
/// lengths.
fn of_lengths(rows: &[(usize, usize)]) -> (Unnest, Batch) {
    let columns = [
        Column::plain("text", SqlType::STRING, true),
        Column::plain("numbers", SqlType::Array(Box::new(SqlType::Int)), true),
    ];
    let texts: StringArray = rows.iter().map(|(text, _)| Some("y".repeat(*text))).collect();
    let schema = schema_of(&columns);
    let DataType::List(item) = schema.field(1).data_type() else { panic!() };
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|(_, count)| *count));
    let numbers = Int32Array::from_iter_values(0..offsets.last().copied().unwrap());
    let lists = ListArray::new(Arc::clone(item), offsets, Arc::new(numbers), None);
    let rows = batch_of(&schema, vec![Arc::new(texts), Arc::new(lists)], rows.len()).unwrap();
    let made = [columns[0].clone(), Column::plain("n", SqlType::Int, true)];
    let shape = UnnestShape {
        value: Typed::column(1, columns[1].of.clone(), true),
        kind: UnnestKind::Inner,
        kept: vec![0],
        parts: vec![0],
        has_ordinality: false,
    };
    (Unnest::new(shape, &made), Batch { watermark: Some(EventTime::MAX), ..Batch::new(rows) })
}

/// Arrays that are longer than a batch come out in several. The watermark follows the last row only, also if the last
/// rows have no elements.
#[test]
fn long_arrays_come_out_in_pieces() {
    for lengths in [&[(1, 10_000), (1, 0), (1, 5_000)][..], &[(1, 4_096), (1, 0)], &[(1, 0)]] {
        let (mut unnest, batch) = of_lengths(lengths);
        unnest.take(batch, EventTime::MIN).unwrap();
        let made = drained(&mut unnest);
        let numbers: Vec<i32> = made
            .iter()
            .flat_map(|batch| {
                batch.rows.column(1).as_primitive::<arrow::datatypes::Int32Type>().values().to_vec()
            })
            .collect();
        let count: usize = lengths.iter().map(|(_, count)| count).sum();
        assert_eq!(numbers, (0..count as i32).collect::<Vec<_>>());
        let is_last: Vec<bool> = made.iter().map(Batch::is_last).collect();
        assert_eq!(is_last.iter().filter(|is_last| **is_last).count(), 1, "{is_last:?}");
        assert_eq!(is_last.last(), Some(&true), "{is_last:?}");
    }
}

/// A long row is copied into few rows of a batch at a time, and short rows beside it are not.
#[test]
fn copies_of_long_rows_are_bounded() {
    let long = 100_000;
    let (mut unnest, batch) = of_lengths(&[(5, 3_000), (long, 50), (5, 3_000), (2 * COPIES_BYTES_MAX, 2)]);
    unnest.take(batch, EventTime::MIN).unwrap();
    let made = drained(&mut unnest);
    assert_eq!(made.iter().map(Batch::len).sum::<usize>(), 6_052);
    for batch in &made {
        let bytes = value_bytes(batch.rows.column(0));
        assert!(bytes <= COPIES_BYTES_MAX + long || batch.len() == 1, "{bytes} bytes, {} rows", batch.len());
    }
    assert!(made.len() < 60, "{} batches", made.len());
}

struct Budget;

impl GrantSource for Budget {
    fn lend(&self, _bytes: usize) -> bool {
        true
    }

    fn limit_bytes(&self) -> usize {
        256 << 20
    }
}

/// A literal that is too long to be repeated for all rows of a batch is repeated for a few of them at a time.
#[test]
fn long_collections_are_computed_for_few_rows_at_a_time() {
    let (of, count, rows) = (SqlType::Array(Box::new(SqlType::Int)), 200_000, 16);
    let DataType::List(item) = of.arrow() else { panic!() };
    let numbers = Arc::new(Int32Array::from_iter_values(0..count));
    let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, count]));
    let literal = ListArray::new(item, offsets, numbers, None);
    let value = Typed::literal(ScalarValue::try_from_array(&literal, 0).unwrap(), of);
    let shape =
        UnnestShape { value, kind: UnnestKind::Inner, kept: vec![], parts: vec![0], has_ordinality: false };
    let mut unnest = Unnest::new(shape, &[Column::plain("n", SqlType::Int, true)]);
    unnest.fund(&Allowance::new(Arc::new(Budget)));
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int32, true)]));
    let batch = Batch::new(RecordBatch::try_new(schema, vec![ids]).unwrap());
    unnest.take(batch, EventTime::MIN).unwrap();
    let mut found = 0;
    while let Some(batch) = unnest.next().unwrap() {
        found += batch.len();
    }
    assert_eq!(found, count as usize * rows as usize);
    assert_eq!(unnest.counts().read, rows as u64);
}
