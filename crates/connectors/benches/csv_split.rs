//! Question: at what speed does one core turn lines of 14 fields into records?
//! Workload: lines from memory, three fields parsed: taxi trips of 184 bytes, without and with quotes, and Linear
//! Road reports of 45 bytes.
//! Unit: MB/s of CSV. The figures are for regressions, not for claims.
//!
//! `cargo bench -p thalweg-connectors --bench csv_split`; under `cargo test` it runs once, small.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use thalweg_connectors::{CsvOptions, CsvSource, Header, OnBad, Row};
use thalweg_model::disk::{Disk, FileIdentity, WriteFile};
use thalweg_model::{EventTime, Output, ProcessingTime, Record, Source, SourceStatus};

const COLUMNS: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13"];

const PLAIN: &str = "A46F0BA14D99E75C2CE537DDCA0C5239,F9A3F1CD1FEE977E07201BAB112E6D0C,VTS,1,,2013-01-01 02:28:00,\
                     2013-01-01 02:38:00,1,600,3.00,-73.978165,40.757977,-73.989838,40.751171\n";
const QUOTED: &str = "A46F0BA14D99E75C2CE537DDCA0C5239,F9A3F1CD1FEE977E07201BAB112E6D0C,\"V,S\",1,,2013-01-01 02:28:00,\
                      2013-01-01 02:38:00,1,600,3.00,-73.978165,40.757977,-73.989838,40.751171\n";
const SHORT: &str = "0,48,1137,58,0,2,1,71,376340,-1,-1,-1,-1,-1\n";

/// A disk with one file, which consists of one line repeated.
struct OneLine {
    line: &'static [u8],
    count: usize,
}

impl Disk for OneLine {
    fn open(&self, _path: &Path) -> io::Result<Box<dyn Read + Send>> {
        let lines = self.line.repeat(4_096);
        let rest = self.line.len() * self.count;
        Ok(Box::new(Repeated { lines, at: 0, rest }))
    }

    fn create(&self, _path: &Path) -> io::Result<Box<dyn WriteFile>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn identity(&self, _path: &Path) -> io::Result<FileIdentity> {
        let len_bytes = (self.line.len() * self.count) as u64;
        Ok(FileIdentity { file: (0, 0), len_bytes, modified_ns: 0 })
    }

    fn publish(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

struct Repeated {
    lines: Vec<u8>,
    at: usize,
    rest: usize,
}

impl Read for Repeated {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.lines.len() - self.at).min(self.rest);
        into[..count].copy_from_slice(&self.lines[self.at..self.at + count]);
        self.at = (self.at + count) % self.lines.len();
        self.rest -= count;
        Ok(count)
    }
}

#[derive(Default)]
struct Sum {
    count: usize,
    sum: f64,
}

impl Output<(f64, f64, f64)> for Sum {
    fn room(&self) -> usize {
        384
    }

    fn push(&mut self, record: Record<(f64, f64, f64)>) {
        self.count += 1;
        self.sum += record.value.0 + record.value.1 + record.value.2;
    }
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let count = if is_bench { 2_000_000 } else { 1_000 };
    for (name, line) in [("plain", PLAIN), ("quoted", QUOTED), ("short fields", SHORT)] {
        let parse =
            |row: &Row<'_>| Ok(Record::new(EventTime::EPOCH, (row.f64(9)?, row.f64(10)?, row.f64(11)?)));
        let options =
            CsvOptions { path: "x.csv".into(), columns: COLUMNS, header: Header::None, on_bad: OnBad::Fail };
        let mut runs: Vec<f64> = (0..if is_bench { 5 } else { 1 })
            .map(|_| {
                let disk = Arc::new(OneLine { line: line.as_bytes(), count });
                let mut source = CsvSource::open(options.clone(), disk, parse).unwrap();
                let mut output = Sum::default();
                let start = Instant::now();
                while source.poll(ProcessingTime::ZERO, 384, &mut output).unwrap().status
                    != SourceStatus::Ended
                {}
                let seconds = start.elapsed().as_secs_f64();
                assert_eq!(output.count, count);
                (line.len() * count) as f64 / 1e6 / seconds
            })
            .collect();
        runs.sort_by(f64::total_cmp);
        println!(
            "csv_split {name}: {:.0} MB/s median, {:.0} to {:.0}",
            runs[runs.len() / 2],
            runs[0],
            runs[runs.len() - 1]
        );
    }
}
