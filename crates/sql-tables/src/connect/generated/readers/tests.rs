//! Checks that several readers of a generated table give its rows once each, and that a table has several only where nothing
//! depends on them.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use thalweg_model::{ProcessingTime, SourceStatus, StateReader, StateWriter};

use super::*;
use crate::connect::{Division, bed, bind_source, draw};

/// Opens the sources of a table for some workers.
fn sources(columns: &str, options: &str, readers: usize) -> Vec<Box<dyn crate::scan::rows::RowSource>> {
    let table = bed::table(&format!("CREATE TABLE t ({columns}) WITH ({options})"));
    let division = Division { readers, ..Division::default() };
    let world = World { division, ..World::default() };
    bind_source(&table, &[0, 1], &world).expect("sources")
}

const NUMBERS: &str = "n BIGINT, m BIGINT";

fn sequence(rows: u64) -> String {
    format!(
        "'connector' = 'datagen', 'rows-per-second' = '9223372036854775807', 'fields.n.kind' = 'sequence', \
         'fields.n.start' = '0', 'fields.n.end' = '{}'",
        rows - 1
    )
}

/// Whichever reader is polled, together they give each row once, and each gives its rows in order.
#[test]
fn each_row_comes_once() {
    for case in 0..40 {
        let drawn = |place: u64, below: u64| draw::below(draw::at(case, place), below);
        let (readers, stripes) = (1 + drawn(0, 4) as usize, STRIPES_MIN + drawn(1, 9));
        let (rest, batch_rows) = (drawn(2, STRIPE_ROWS), 1_000 + drawn(3, 8_000) as usize);
        let turns: Vec<usize> = (0..drawn(4, 200)).map(|turn| drawn(5 + turn, 5) as usize).collect();
        let rows = stripes * STRIPE_ROWS + rest;
        let mut sources = sources(NUMBERS, &sequence(rows), readers);
        assert_eq!(sources.len(), readers);
        let mut numbers: Vec<Vec<i64>> = vec![Vec::new(); readers];
        let mut have_ended = vec![false; readers];
        // After the drawn turns all readers are polled in turn, so that each comes to its end.
        let turns = turns.into_iter().map(|turn| turn % readers).chain((0..readers).cycle());
        for number in turns {
            let polled = sources[number].poll(ProcessingTime::default(), batch_rows).expect("rows");
            if let Some(rows) = polled.rows {
                numbers[number].extend(rows.columns.column(0).as_primitive::<Int64Type>().values());
            }
            have_ended[number] |= polled.status == SourceStatus::Ended;
            if have_ended.iter().all(|has_ended| *has_ended) {
                break;
            }
        }
        for numbers in &numbers {
            assert!(numbers.is_sorted());
        }
        let mut all = numbers.concat();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..rows as i64));
    }
}

/// A reader that is polled alone waits when it is some stripes ahead, and goes on when the others have caught up or have ended.
#[test]
fn a_reader_that_is_ahead_waits() {
    let batch = |source: &mut dyn crate::scan::rows::RowSource| {
        let polled = source.poll(ProcessingTime::default(), STRIPE_ROWS as usize).expect("rows");
        (polled.rows.map_or(0, |rows| rows.columns.num_rows()) as u64, polled.status)
    };
    let mut sources = sources(NUMBERS, &sequence(40 * STRIPE_ROWS), 2);
    for _ in 0..AHEAD_STRIPES {
        assert_eq!(batch(&mut *sources[0]), (STRIPE_ROWS, SourceStatus::Ready));
    }
    let waits = (0, SourceStatus::IdleUntil(ProcessingTime::default().plus_nanos(LOOK_AGAIN_NS)));
    assert_eq!(batch(&mut *sources[0]), waits);
    assert_eq!(batch(&mut *sources[1]), (STRIPE_ROWS, SourceStatus::Ready));
    assert_eq!(batch(&mut *sources[0]), (STRIPE_ROWS, SourceStatus::Ready));
    assert_eq!(batch(&mut *sources[0]), waits);
    // The other reader makes its 20 stripes, during which it is never too far ahead, and ends.
    for number in 1..20 {
        while batch(&mut *sources[0]).0 > 0 {}
        let status = if number == 19 { SourceStatus::Ended } else { SourceStatus::Ready };
        assert_eq!(batch(&mut *sources[1]), (STRIPE_ROWS, status), "{number}");
    }
    while batch(&mut *sources[0]) == (STRIPE_ROWS, SourceStatus::Ready) {}
    assert_eq!(batch(&mut *sources[0]), (0, SourceStatus::Ended));
}

/// A reader continues where it was saved, and only as the same one of as many.
#[test]
fn a_reader_continues_where_it_was() {
    let mut readers: Vec<Reader> = Reader::all(2, 1).collect();
    readers[1].advance(STRIPE_ROWS + 7);
    let mut state = StateWriter::default();
    readers[1].save(&mut state).expect("it is saved");
    let bytes = state.into_bytes();
    let mut again: Vec<Reader> = Reader::all(2, 1).collect();
    again[1].load(&mut StateReader::new(&bytes)).expect("it is loaded");
    assert_eq!(again[1].next_row(), 3 * STRIPE_ROWS + 7);
    assert!(again[0].load(&mut StateReader::new(&bytes)).is_err(), "another reader");
    let mut three: Vec<Reader> = Reader::all(3, 1).collect();
    assert!(three[1].load(&mut StateReader::new(&bytes)).is_err(), "another number of readers");
    let mut other: Vec<Reader> = Reader::all(2, 7).collect();
    assert!(other[1].load(&mut StateReader::new(&bytes)).is_err(), "another seed");
}

/// A reader that had ended is not restored, and the others do not wait for it.
#[test]
fn a_reader_that_is_not_restored_is_not_waited_for() {
    let mut readers: Vec<Reader> = Reader::all(3, 1).collect();
    for number in [0, 2] {
        readers[number].advance(STRIPE_ROWS);
        let mut state = StateWriter::default();
        readers[number].save(&mut state).expect("it is saved");
        let bytes = state.into_bytes();
        let mut again: Vec<Reader> = Reader::all(3, 1).collect();
        again[number].load(&mut StateReader::new(&bytes)).expect("it is loaded");
        again[number].advance(100 * STRIPE_ROWS);
        assert!(again[number].room().is_some(), "only its own rows hold it back");
    }
}

#[test]
fn a_table_has_several_readers_only_where_nothing_depends_on_them() {
    let check = |options: &str, allowed: usize, readers: usize| {
        assert_eq!(sources(NUMBERS, options, allowed).len(), readers, "{options}");
    };
    check(&sequence(1_000_000), 3, 3);
    check(&sequence(1_000_000), 1, 1);
    check(&sequence(10_000), 3, 1);
    check("'connector' = 'datagen', 'rows-per-second' = '1000000000'", 3, 1);
    // Tables with event time are tested where their declarations are bound, in `tests/generated.rs` of thalweg-sql.
}
