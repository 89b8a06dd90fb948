//! Vocabulary and contracts of the engine: event time, records, marks and windows; the traits of operators,
//! aggregates, sources and sinks; and the traits of the outside world (clock, entropy, disk, net).
//!
//! Read the modules in this order:
//!
//! 1. [`time`]: instants and spans of event time and of processing time, which never mix.
//! 2. [`record`] and [`mark`]: the data on an edge, and the signals beside it.
//! 3. [`watermark`]: when a source may promise that event time has passed.
//! 4. [`window`]: the spans of event time that a record falls into.
//! 5. [`operator`], [`chain`] and [`fold`]: records and marks in, records and marks out; [`either`], where streams
//!    meet or separate; [`deferred`], for results that come later; [`total`], floats that can be keys; [`staged`], to
//!    measure operators one by one; [`weighed`], records that count as several; [`text`], values of any length.
//! 6. [`source`] and [`sink`]: the two ends of a query.
//! 7. [`state`], [`checkpoint`] and [`allowance`]: how operators save their state, what a checkpoint of a query contains,
//!    and how much memory state may use.
//! 8. [`clock`], [`entropy`], [`disk`], [`net`]: the outside world as traits, so that a simulation can take its place.
//! 9. [`fault`]: errors of connectors, with a code that the command line and the dashboard share.
//!
//! Invariants of this room: nothing here starts a thread, reads a real clock, opens a file or knows how memory is
//! laid out. The type of a time carries its unit; a bare `i64` is never a time.
#![forbid(unsafe_code)]

mod addressed;
pub mod allowance;
pub mod chain;
pub mod checkpoint;
pub mod clock;
pub mod deferred;
pub mod disk;
pub mod either;
pub mod entropy;
pub mod fault;
pub mod fold;
mod horizon;
mod keys;
pub mod mark;
pub mod net;
pub mod operator;
pub mod record;
pub mod sink;
pub mod source;
pub mod staged;
pub mod state;
pub mod text;
pub mod time;
pub mod total;
pub mod watermark;
pub mod weighed;
pub mod window;

pub use addressed::{Addressed, KEY_GROUPS, group_hash_of, hash_of_place, key_group_of};
pub use allowance::{Allowance, GrantSource, Payment};
pub use chain::{Piped, Then};
pub use checkpoint::{Checkpoint, CheckpointStore, Section};
pub use clock::{Clock, VirtualClock};
pub use deferred::{Deferred, Emitted};
pub use either::Either;
pub use entropy::{Entropy, SeededEntropy};
pub use fault::{Coded, Fault};
pub use fold::Fold;
pub use horizon::Horizon;
pub use keys::{Keys, NoKeys};
pub use mark::{LatencyMarker, Mark};
pub use operator::{Blame, Counts, Flow, Input, Operator, Output, Sharing};
pub use record::Record;
pub use sink::{Publisher, Sink};
pub use source::{Generate, Polled, Source, SourceStatus};
pub use state::{State, StateError, StateReader, StateWriter};
pub use text::{Text, TextBuffer, TextDraft, TextPool};
pub use time::{EventTime, ProcessingTime, Span};
pub use total::TotalF64;
pub use watermark::{Punctuated, Track, WatermarkStrategy, WatermarkTracker, Watermarks};
pub use weighed::Weighed;
pub use window::{
    CountWindows, Counted, Firing, SessionGap, SlidingWindows, TumblingWindows, Window, WindowError,
    WindowNumber, Windowed,
};
