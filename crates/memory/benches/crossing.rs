//! Question: how many rows does an edge carry from one core to another, compared with a hand-written ring?
//! Workload: one thread copies rows of 56 bytes out of a cache of 4,096 rows and stamps them. Another thread
//! adds up one field of the rows that have a bit set. There are rings of several sizes, made of blocks of
//! 1,024 rows that are reused in turn. There are two edges with blocks of 384 rows: one reuses the block
//! freed last, as within a core, and the other knows that it crosses cores.
//! Unit: million rows per second, medians of interleaved rounds. The best ring is the upper bound.
//!
//! `cargo bench -p thalweg-memory --bench crossing`; under `cargo test` it runs once, small.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use thalweg_memory::{
    Admission, Append, BlockShape, Budget, EdgeOptions, MarkRules, Next, Pool, Stamp, TakeOut, edge,
};

type Row = [u64; 7];

/// Number of rows in a block of the hand-written ring.
const RING_BLOCK_ROWS: usize = 1_024;

/// Sizes of the hand-written rings, in blocks.
const RING_BLOCKS: [usize; 6] = [8, 16, 32, 64, 128, 512];

fn cache() -> Vec<Row> {
    (0..4_096u64).map(|row| [row, row.wrapping_mul(0x9e37_79b9), 2, 3, 4, 5, row % 10]).collect()
}

/// Returns a row as a source would make it: with a new stamp, so that no block of rows is a plain copy.
#[inline(always)]
fn make(row: &Row, stamp: u64) -> Row {
    let [a, b, c, d, e, _, kind] = *row;
    [a, b, c, d, e, stamp, kind]
}

/// Adds one field of the row to the reader's running sum, if the row has its bit set.
#[inline(always)]
fn add(sum: u64, row: &Row) -> u64 {
    if row[6] & 1 == 1 { sum.wrapping_add(row[1]) } else { sum }
}

/// Returns the sum that the reader must reach after the first `rows` rows of the benchmark's source.
fn expected(cache: &[Row], rows: usize) -> u64 {
    (0..rows).fold(0, |sum, row| add(sum, &cache[row % cache.len()]))
}

/// Waits in a busy loop, without giving up the core, until the condition holds.
fn spin_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::hint::spin_loop();
    }
}

/// Sends rows through a hand-written ring of this many blocks, and returns the reader's sum.
fn through_ring(cache: &[Row], blocks: usize, rows: usize) -> u64 {
    let ring: Vec<Mutex<Vec<Row>>> = (0..blocks).map(|_| Mutex::new(vec![[0; 7]; RING_BLOCK_ROWS])).collect();
    let (written, read) = (AtomicU64::new(0), AtomicU64::new(0));
    let count = (rows / RING_BLOCK_ROWS) as u64;
    thread::scope(|scope| {
        scope.spawn(|| {
            for block in 0..count {
                spin_until(|| block - read.load(Ordering::Acquire) < blocks as u64);
                let first = block as usize * RING_BLOCK_ROWS % cache.len();
                let mut slots = ring[block as usize % blocks].lock().unwrap();
                let stamped = (block * RING_BLOCK_ROWS as u64..).zip(&cache[first..first + RING_BLOCK_ROWS]);
                slots.iter_mut().zip(stamped).for_each(|(slot, (stamp, row))| *slot = make(row, stamp));
                drop(slots);
                written.store(block + 1, Ordering::Release);
            }
        });
        let mut sum = 0;
        for block in 0..count {
            spin_until(|| block < written.load(Ordering::Acquire));
            let slots = ring[block as usize % blocks].lock().unwrap();
            sum = slots.iter().fold(sum, add);
            drop(slots);
            read.store(block + 1, Ordering::Release);
        }
        sum
    })
}

struct NoMarks;

impl MarkRules for NoMarks {
    type Mark = ();
    fn admission(_mark: &()) -> Admission {
        Admission::Ordinary
    }
    fn replaces(_newer: &(), _older: &()) -> bool {
        true
    }
}

/// Sends rows through an edge of the engine's default shape, and returns the reader's sum. `is_told` says
/// whether the edge knows that it crosses cores.
fn through_edge(cache: &[Row], is_told: bool, rows: usize) -> u64 {
    let pool = Pool::new(Budget::new(1 << 26));
    let shape = BlockShape { block_records: 384, chunk_blocks: 4 };
    let options = EdgeOptions { shape, chunks_max: 32, marks_max: 512 };
    let (mut writer, mut reader) = edge::<Row, NoMarks>(&pool, options).unwrap();
    let cursors = Arc::clone(writer.cursors());
    if is_told {
        cursors.note_writer_core(0);
        cursors.note_reader_core(0, 1);
    }
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut made = 0;
            for step in 0u64.. {
                if made == rows {
                    break;
                }
                let mut out = writer.open(Stamp::at(0));
                let mut left = out.room().min(rows - made).min(1_536);
                made += left;
                while left > 0 {
                    let ready = out.make_ready(left);
                    let first = (made - left) % cache.len();
                    let run = ready.min(cache.len() - first);
                    let stamped = ((made - left) as u64..).zip(&cache[first..first + run]);
                    stamped.for_each(|(stamp, row)| out.push_within(make(row, stamp)));
                    left -= run;
                }
                drop(out);
                // In the engine a worker serves the pool's requests for chunks from time to time; here the
                // writer's thread does.
                if step % 64 == 0 {
                    pool.grow_step();
                }
            }
        });
        let (mut sum, mut taken) = (0, 0);
        while taken < rows {
            if let Next::Values(mut run) = reader.next(usize::MAX) {
                let count = run.remaining();
                run.taken(count).for_each(|row| sum = add(sum, &row));
                taken += count;
            } else {
                std::hint::spin_loop();
            }
        }
        sum
    })
}

fn main() {
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let (rounds, rows) = if is_bench { (5, 40 << 20) } else { (1, 1 << 14) };
    let cache = cache();
    let right = expected(&cache, rows);
    let ways = RING_BLOCKS.len() + 2;
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); ways];
    for _ in 0..rounds {
        for (way, rates) in rates.iter_mut().enumerate() {
            let started = Instant::now();
            let sum = match RING_BLOCKS.get(way) {
                Some(&blocks) => through_ring(&cache, blocks, rows),
                None => through_edge(&cache, way + 1 == ways, rows),
            };
            rates.push(rows as f64 / started.elapsed().as_secs_f64() / 1e6);
            assert_eq!(sum, right, "every row comes through once");
        }
    }
    let medians: Vec<f64> = rates
        .into_iter()
        .map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[rates.len() / 2]
        })
        .collect();
    let (rings, edges) = medians.split_at(RING_BLOCKS.len());
    let best = rings.iter().copied().fold(0.0, f64::max);
    for (blocks, rate) in RING_BLOCKS.iter().zip(rings) {
        let kib = (blocks * RING_BLOCK_ROWS * size_of::<Row>()) >> 10;
        println!("ring of {kib:>6} KiB          {rate:>6.0} M rows/s");
    }
    for (name, rate) in ["edge, hottest block first", "edge that knows it crosses"].iter().zip(edges) {
        println!("{name:<26}  {rate:>6.0} M rows/s, {:.2} of the best ring", rate / best);
    }
}
