//! The sink of a benchmark with as many results as records. It keeps a digest of the results of each second or
//! window, by which they are compared with the reference, and writes the results to a file if one is wanted.

use std::collections::BTreeMap;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use thalweg::{Fault, Record, Sink};
use thalweg_cli::failure;
use thalweg_connectors::{CsvSink, RealDisk};

use super::rows::WriteRow;

/// Largest number of digests that a sink keeps. With one digest per second this is 11 days of event time. If
/// there are more, the sink publishes none instead of filling the memory, and the run is not compared with
/// the reference.
const DIGESTS_MAX: usize = 1_000_000;

/// The digests of a query's results, one for each second or window of event time, keyed by its time. It is
/// `None` until the query has ended, and stays `None` if there were more than 1,000,000.
pub struct Digests<D>(Arc<Mutex<Option<BTreeMap<i64, D>>>>);

/// A sink that computes digests of type `D` of results of type `T`.
pub struct Digested<T, D> {
    of: fn(&Record<T>) -> i64,
    empty: fn(i64) -> D,
    add: fn(&mut D, &Record<T>),
    /// Time and digest of the second or window into which the latest result fell. It is not in the map of the
    /// other digests, because consecutive results mostly fall into one second, and then need no search.
    current: Option<(i64, D)>,
    others: BTreeMap<i64, D>,
    done: Digests<D>,
    csv: Option<CsvSink<T, WriteRow<T>>>,
}

impl<T, D> Digested<T, D> {
    /// Creates a sink of digests, and the handle from which its digests are read after the query. Function
    /// `of` returns the time of the digest to which a result is added; `empty` makes the digest of a given
    /// time.
    pub fn new(
        of: fn(&Record<T>) -> i64,
        empty: fn(i64) -> D,
        add: fn(&mut D, &Record<T>),
        file: Option<PathBuf>,
        write: WriteRow<T>,
    ) -> Result<(Self, Digests<D>)> {
        let csv = file.map(|path| CsvSink::create(Arc::new(RealDisk), path, write)).transpose();
        let csv = csv.map_err(|error| failure::of_connector(&error))?;
        let done = Arc::new(Mutex::new(None));
        let digests = || Digests(Arc::clone(&done));
        let sink = Digested { of, empty, add, current: None, others: BTreeMap::new(), done: digests(), csv };
        Ok((sink, digests()))
    }

    /// Stores the digest of the current second or window with the other ones. Then the digest of the time
    /// `at`, an existing or a new one, becomes the current one.
    #[cold]
    fn turn_to(&mut self, at: i64) {
        let next = self.others.remove(&at).unwrap_or_else(|| (self.empty)(at));
        if let Some((before, digest)) = self.current.replace((at, next))
            && self.others.len() < DIGESTS_MAX
        {
            self.others.insert(before, digest);
        }
    }
}

impl<D> Digests<D> {
    /// Returns whether the sink has kept all digests, rather than dropped them because there were too many.
    /// The answer is valid after the query has ended.
    pub fn is_whole(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes the digests out of the sink, after the query has ended.
    pub fn take(&self) -> Vec<D> {
        let digests = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        digests.expect("only digests that are whole are compared").into_values().collect()
    }
}

impl<T: 'static, D: Send + 'static> Sink<T> for Digested<T, D> {
    fn write(&mut self, record: Record<T>) -> Result<(), Fault> {
        let at = (self.of)(&record);
        if self.current.as_ref().is_none_or(|(current, _)| *current != at) {
            self.turn_to(at);
        }
        if let Some((_, digest)) = &mut self.current {
            (self.add)(digest, &record);
        }
        self.csv.as_mut().map_or(Ok(()), |csv| csv.write(record))
    }

    fn finish(&mut self) -> Result<(), Fault> {
        let mut digests = mem::take(&mut self.others);
        digests.extend(self.current.take());
        if digests.len() <= DIGESTS_MAX {
            *self.done.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(digests);
        }
        self.csv.as_mut().map_or(Ok(()), Sink::finish)
    }
}

#[cfg(test)]
mod tests {
    use thalweg::EventTime;

    use super::*;

    /// Checks the digests of results in any order; expected digests are written as `second:sum`.
    #[track_caller]
    fn check(results: &[(i64, u64)], expected: &str) {
        let of = |record: &Record<u64>| record.event_time.as_micros();
        let add = |digest: &mut (i64, u64), record: &Record<u64>| digest.1 += record.value;
        let (mut sink, digests) = Digested::new(of, |second| (second, 0), add, None, |_, _| ()).unwrap();
        for &(second, value) in results {
            sink.write(Record::new(EventTime::from_micros(second), value)).unwrap();
        }
        assert!(!digests.is_whole(), "there are none before the end");
        sink.finish().unwrap();
        assert!(digests.is_whole());
        let shown: Vec<String> =
            digests.take().iter().map(|(second, sum)| format!("{second}:{sum}")).collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn each_result_is_in_the_digest_of_its_second() {
        check(&[], "");
        check(&[(1, 5)], "1:5");
        check(&[(1, 5), (1, 6), (0, 7), (1, 8), (3, 9), (0, 1)], "0:8 1:19 3:9");
    }

    #[test]
    fn too_many_are_forgotten() {
        let of = |record: &Record<u64>| record.event_time.as_micros();
        let (mut sink, digests) = Digested::new(of, |_| (), |(), _| (), None, |_, _| ()).unwrap();
        let ended = |sink: &mut Digested<u64, ()>, seconds| {
            (0..seconds)
                .for_each(|second| sink.write(Record::new(EventTime::from_micros(second), 0)).unwrap());
            sink.finish().unwrap();
        };
        ended(&mut sink, DIGESTS_MAX as i64);
        assert!(digests.is_whole() && digests.take().len() == DIGESTS_MAX);
        ended(&mut sink, DIGESTS_MAX as i64 + 5);
        assert!(!digests.is_whole());
    }
}
