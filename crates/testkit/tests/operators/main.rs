//! Every operator compared with its oracle, without an engine: hostile input, little room, state saved and
//! loaded at every watermark or anywhere; one input, or several united ones.
//!
//! `THALWEG_SEEDS=1000 cargo test -p thalweg-testkit --test operators`; a failure prints the command that replays it.
//!
//! To add an operator, drive it on the bed with its inputs and state the expected output:
//!
//! ```ignore
//! #[test]
//! fn window_join() {
//!     two_sides(|sides, bed| {
//!         let ran = bed.drive(|| WindowJoin::new("join", ...));
//!         let (left, right) = ran.sides();
//!         let expected = oracle::window_join((&left, &right), sides.sliding(), key_of, key_of, keeps);
//!         ran.assert_results(expected.results, |row| joined_row(&row.value));
//!         ran.assert_late(expected.late);
//!         ran.assert_keeps_its_promise();
//!     });
//! }
//! ```
#![forbid(unsafe_code)]

mod copies;
mod distinct;
mod ends;
mod inputs;
mod joins;
mod process;
mod sort;
mod stateless;
mod windows;
