//! Checks that several readers of a generated table give its rows once each, and that a table has several only where nothing
//! depends on them.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use thalweg_model::{ProcessingTime, SourceStatus, StateReader, StateWriter};

use super::*;
use crate::connect::{Division, bed, bind_source, draw};

/// Opens the sources of a table for some workers.
fn sources(
    columns: &str,
    options: &str,
    workers: usize,
    may_reorder: bool,
) -> Vec<Box<dyn crate::scan::rows::RowSource>> {
    let table = bed::table(&format!("CREATE TABLE t ({columns}) WITH ({options})"));
    let division = Division { workers, may_reorder, ..Division::default() };
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

/// Whichever reader is polled, together they give each row once, each gives its rows in order, and none is far ahead of
/// another.
#[test]
fn each_row_comes_once() {
    for case in 0..40 {
        let drawn = |place: u64, below: u64| draw::below(draw::at(case, place), below);
        let (readers, stripes) = (1 + drawn(0, 4) as usize, STRIPES_MIN + drawn(1, 9));
        let (rest, batch_rows) = (drawn(2, STRIPE_ROWS), 1_000 + drawn(3, 8_000) as usize);
        let turns: Vec<usize> = (0..drawn(4, 200)).map(|turn| drawn(5 + turn, 5) as usize).collect();
        let rows = stripes * STRIPE_ROWS + rest;
        let mut sources = sources(NUMBERS, &sequence(rows), readers, true);
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
            let unended = || numbers.iter().zip(&have_ended).filter(|(_, has_ended)| !**has_ended);
            let Some(least) = unended().map(|(numbers, _)| numbers.len()).min() else { break };
            let most = numbers.iter().map(Vec::len).max().unwrap_or_default();
            assert!((most - least) as u64 <= (AHEAD_STRIPES + 1) * STRIPE_ROWS || have_ended.contains(&true));
        }
        for numbers in &numbers {
            assert!(numbers.is_sorted());
        }
        let mut all = numbers.concat();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..rows as i64));
    }
}

/// A reader continues where it was saved, and only as the same one of as many.
#[test]
fn a_reader_continues_where_it_was() {
    let mut readers: Vec<Reader> = Reader::all(2).collect();
    readers[1].advance(STRIPE_ROWS + 7, false);
    let mut state = StateWriter::default();
    readers[1].save(&mut state).expect("it is saved");
    let bytes = state.into_bytes();
    let mut again: Vec<Reader> = Reader::all(2).collect();
    again[1].load(&mut StateReader::new(&bytes)).expect("it is loaded");
    assert_eq!(again[1].next_row(), 3 * STRIPE_ROWS + 7);
    assert!(again[0].load(&mut StateReader::new(&bytes)).is_err(), "another reader");
    let mut three: Vec<Reader> = Reader::all(3).collect();
    assert!(three[1].load(&mut StateReader::new(&bytes)).is_err(), "another number of readers");
}

#[test]
fn a_table_has_several_readers_only_where_nothing_depends_on_them() {
    let check = |columns: &str, options: &str, may_reorder: bool, readers: usize| {
        let found = sources(columns, options, 3, may_reorder).len();
        assert_eq!(found, readers, "{columns} {options}");
    };
    check(NUMBERS, &sequence(1_000_000), true, 3);
    check(NUMBERS, &sequence(1_000_000), false, 1);
    check(NUMBERS, &sequence(10_000), true, 1);
    check(NUMBERS, "'connector' = 'datagen', 'rows-per-second' = '1000000000'", true, 1);
    // Tables with event time are tested where their declarations are bound, in `tests/generated.rs` of thalweg-sql.
}
