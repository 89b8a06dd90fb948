//! Word count: the words that occur more than once.
//!
//! You will learn: values are grouped by a key, and an aggregate, here a count, is computed per key.
//!
//! ```sh
//! cargo run -p thalweg --example 02_word_count
//! ```
//!
//! It prints the text of `02_word_count.txt`.

use std::cmp::Reverse;
use std::error::Error;

use thalweg::{
    Count, Engine, EventTime, Query, Record, Span, TumblingWindows, WatermarkStrategy, source::Given,
};
use thalweg_connectors::Collect;

const TEXT: &str = "the thalweg is the line of the lowest points of a river's bed \
                    and the line along which the river is fastest";

fn main() -> Result<(), Box<dyn Error>> {
    // The words are stamped one second apart.
    let words = TEXT.split(' ').zip(0..);
    let records = words.map(|(word, second)| Record::new(EventTime::from_secs(second), word));

    // The sink keeps its records in memory, at most a hundred; `counts` is a handle to read them.
    let sink = Collect::new(100);
    let counts = sink.records();

    let query = Query::new("word-count");
    query
        .source("words", Given::new(records.collect()), WatermarkStrategy::ascending())
        // A key is kept longer than its record, so it owns a copy of the word.
        .key_by(|word| (*word).to_owned())
        // A stream may never end, so an aggregate is computed over a window of time. This one is longer than
        // the text; it emits its results when the stream ends.
        .tumbling(TumblingWindows::new(Span::from_secs(3_600))?)
        .aggregate(Count)
        .filter(|count| count.value > 1)
        .sink("counts", sink);
    query.submit(&Engine::builder().build()?)?.wait()?;

    // The results of one window come in no promised order of keys, so they are sorted here.
    let mut counts = counts.lock().unwrap();
    counts.sort_by_key(|count| (Reverse(count.value.value), count.value.key.clone()));
    for count in counts.iter() {
        println!("{} {}", count.value.value, count.value.key);
    }
    Ok(())
}
