//! Loom models of the protocols of this crate: every interleaving, up to a bound on preemptions, of tiny edges on
//! which full, empty and wrap-around are reached. The crate's README.md says which race each model closes.
//!
//! Run by `cargo xtask check` with `--cfg loom`; without it this file is empty.
#![cfg(loom)]

use loom::thread;
use thalweg_memory::sync::{Arc, Mutex};
use thalweg_memory::{
    Admission, Append, BlockPool, BlockShape, Budget, EdgeOptions, MarkRules, Next, Pool, SharedNext, Stamp,
    TakeOut, Writer, edge, shared_edge,
};

struct Rules;

impl MarkRules for Rules {
    type Mark = u32;
    fn admission(_: &u32) -> Admission {
        Admission::Ordinary
    }
    fn replaces(_: &u32, _: &u32) -> bool {
        false
    }
}

fn options(block_records: u32, chunks_max: u32) -> EdgeOptions {
    EdgeOptions { shape: BlockShape { block_records, chunk_blocks: 1 }, chunks_max, marks_max: 1 }
}

fn pool() -> Arc<Pool> {
    Pool::new(Budget::new(1 << 20))
}

fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(body);
}

/// Values are handed over and blocks are reused (B2 to B4): two blocks of one record carry `count` records,
/// so that a block is written again while the reader may still be in it. `push` returns true if there was
/// room.
fn cross_by(count: u32, push: fn(&mut Writer<u32, Rules>, u32) -> bool) {
    model(move || {
        let (mut writer, mut reader) = edge::<u32, Rules>(&pool(), options(1, 2)).unwrap();
        let writing = thread::spawn(move || {
            let mut next = 0;
            while next < count {
                if push(&mut writer, next) {
                    next += 1;
                } else {
                    thread::yield_now();
                }
            }
        });
        let mut expected = 0;
        while expected < count {
            match reader.next(9) {
                Next::Values(mut run) => run.taken(run_len(&run)).for_each(|value| {
                    assert_eq!(value, expected);
                    expected += 1;
                }),
                _ => thread::yield_now(),
            }
        }
        writing.join().unwrap();
    });
}

#[test]
fn values_cross_and_blocks_are_used_again() {
    cross_by(4, |writer, value| {
        let mut out = writer.open(Stamp::at(0));
        let has_room = out.room() > 0;
        if has_room {
            out.push(value);
        }
        has_room
    });
}

#[test]
fn values_that_are_handed_over_cross_and_blocks_are_used_again() {
    // Only 3 records: every look at an edge publishes, and one record less takes 10 % of the time of the
    // model.
    cross_by(3, |writer, value| {
        let has_room = writer.begin(Stamp::at(0)) > 0;
        if has_room {
            writer.append(value, Stamp::at(0));
            writer.hand_over();
        }
        has_room
    });
}

fn run_len<T: Send + 'static, R: MarkRules>(run: &thalweg_memory::EdgeDrain<'_, T, R>) -> usize {
    run.remaining()
}

/// A reader reads a block while the writer fills it: it sees a prefix of the values, never a slot that is not
/// filled.
#[test]
fn a_block_is_read_while_it_is_filled() {
    model(|| {
        let (mut writer, mut reader) = edge::<u32, Rules>(&pool(), options(3, 2)).unwrap();
        let writing = thread::spawn(move || {
            writer.open(Stamp::at(0)).push(0);
            let mut out = writer.open(Stamp::at(0));
            out.push(1);
            out.push(2);
        });
        let mut seen = 0;
        for _ in 0..3 {
            if let Next::Values(mut run) = reader.next(9) {
                run.taken(run_len(&run)).for_each(|value| {
                    assert_eq!(value, seen);
                    seen += 1;
                });
            }
        }
        writing.join().unwrap();
    });
}

/// Marks keep their position among records: the reader never takes a record behind a mark before the mark.
/// The slots of the ring of marks are reused only when their marks were read.
#[test]
fn marks_keep_their_place() {
    model(|| {
        let (mut writer, mut reader) = edge::<u32, Rules>(&pool(), options(2, 2)).unwrap();
        let writing = thread::spawn(move || {
            let mut next = 0;
            while next < 3 {
                if writer.is_held() || writer.room() == 0 {
                    thread::yield_now();
                    continue;
                }
                writer.open(Stamp::at(0)).push(next);
                next += 1;
                writer.mark(next, Stamp::at(0));
            }
            while writer.is_held() {
                thread::yield_now();
            }
        });
        let (mut values, mut marks) = (0, 0);
        while marks < 3 {
            match reader.next(9) {
                Next::Values(mut run) => run.taken(run_len(&run)).for_each(|value| {
                    assert_eq!((value, value), (values, marks), "record {value} overtook its mark");
                    values += 1;
                }),
                Next::Mark(mark) => {
                    marks += 1;
                    assert_eq!((mark, values), (marks, marks), "mark {mark} overtook its record");
                }
                Next::Empty => thread::yield_now(),
            }
        }
        writing.join().unwrap();
    });
}

/// A chunk that the pool's thread has made reaches the writer of an edge complete, and once.
#[test]
fn a_chunk_reaches_the_writer_through_the_mailbox() {
    model(|| {
        let pool = pool();
        let (mut writer, reader) = edge::<u32, Rules>(&pool, options(1, 3)).unwrap();
        let growing = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                while pool.grow_step().is_none() {
                    thread::yield_now();
                }
            })
        };
        for value in 0..3 {
            while writer.room() == 0 {
                thread::yield_now();
            }
            writer.open(Stamp::at(0)).push(value);
        }
        growing.join().unwrap();
        assert_eq!(reader.cursors().pending(0), 3);
    });
}

/// The pool's thread waits for requests. It misses no request, and it sees the closing of the pool.
#[test]
fn a_waiting_pool_misses_neither_requests_nor_its_end() {
    model(|| {
        let pool = pool();
        let (mut writer, _reader) = edge::<u32, Rules>(&pool, options(1, 3)).unwrap();
        let growing = {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let mut served = 0;
                while pool.wait_for_request() {
                    served += u32::from(pool.grow_step().is_some());
                }
                served
            })
        };
        writer.open(Stamp::at(0)).push(0);
        writer.open(Stamp::at(0)).push(1);
        while writer.room() == 0 {
            thread::yield_now();
        }
        pool.close();
        assert_eq!(growing.join().unwrap(), 1);
    });
}

/// An edge has two readers: a block is reused only when both have passed it. Each side tries a bounded number
/// of times, so that the model stays small: every prefix of a run is searched, not only complete runs.
#[test]
fn a_shared_block_waits_for_both_readers() {
    model(|| {
        let (mut writer, mut readers) = shared_edge::<u32, Rules>(&pool(), options(1, 2), 2).unwrap();
        let second = readers.pop().unwrap();
        let first = readers.pop().unwrap();
        let read = |mut reader: thalweg_memory::SharedReader<u32, Rules>| {
            let mut expected = 0;
            for _ in 0..3 {
                if let SharedNext::Values(mut run) = reader.next(9) {
                    run.inspect(0, |&value| assert_eq!(value, expected));
                    run.pass(1);
                    expected += 1;
                }
            }
        };
        writer.open(Stamp::at(0)).push(0);
        writer.open(Stamp::at(0)).push(1);
        let reading = thread::spawn(move || read(first));
        let also_reading = thread::spawn(move || read(second));
        let mut next = 2;
        for _ in 0..2 {
            let mut out = writer.open(Stamp::at(0));
            if out.room() > 0 {
                out.push(next);
                next += 1;
            }
        }
        reading.join().unwrap();
        also_reading.join().unwrap();
    });
}

/// A reader is dropped while the writer writes: values that need a drop are dropped once, by the end that
/// goes last.
#[test]
fn a_reader_that_goes_drops_each_value_once() {
    model(|| {
        let token = Arc::new(());
        let (mut writer, mut reader) = edge::<Arc<()>, Rules>(&pool(), options(1, 2)).unwrap();
        let mine = Arc::clone(&token);
        let writing = thread::spawn(move || {
            for _ in 0..3 {
                let mut out = writer.open(Stamp::at(0));
                if out.room() > 0 {
                    out.push(Arc::clone(&mine));
                }
            }
        });
        if let Next::Values(mut run) = reader.next(1) {
            run.taken(1).for_each(drop);
        }
        drop(reader);
        writing.join().unwrap();
        assert_eq!(Arc::strong_count(&token), 1);
    });
}

/// Two threads reserve bytes at the same time: the budget is never exceeded, and none of its bytes are lost.
#[test]
fn reservations_never_exceed_the_budget() {
    model(|| {
        let budget = Budget::new(3);
        let reserve = |budget: Arc<Budget>| {
            let held = budget.reserve(2);
            assert!(budget.used_bytes() <= 3);
            held.is_ok()
        };
        let other = {
            let budget = Arc::clone(&budget);
            thread::spawn(move || reserve(budget))
        };
        let mine = reserve(Arc::clone(&budget));
        let theirs = other.join().unwrap();
        assert!(mine || theirs);
        assert_eq!(budget.used_bytes(), 0);
    });
}

/// Two parties make work for the value of a task cell, each by a plain store and a notification. A third does
/// the work whenever it finds the value ready. In every interleaving, in the end all work is done or the
/// value lies ready.
#[test]
fn a_task_cell_forgets_no_work() {
    use std::sync::atomic::Ordering::{Relaxed, SeqCst};

    use loom::sync::atomic::{AtomicU32, fence};
    use thalweg_memory::TaskCell;

    /// The work that was made, and a task cell whose value is the amount of work done at the last look.
    struct Shared {
        made: [AtomicU32; 2],
        cell: TaskCell<u32>,
    }

    impl Shared {
        fn made(&self) -> u32 {
            self.made.iter().map(|made| made.load(Relaxed)).sum()
        }

        /// Puts the value back into its task cell, as ready if more work was made than was done.
        fn put(&self, mut done: Box<u32>) {
            loop {
                let is_ready = *done < self.made();
                match self.cell.put(done, is_ready) {
                    Ok(()) => return,
                    Err(held) => done = held,
                }
            }
        }

        /// Makes work and notifies the task cell. If `looks_first`, it notifies only if the value is not
        /// ready, as workers do behind a fence.
        fn make(&self, place: usize, looks_first: bool) {
            self.made[place].store(1, Relaxed);
            fence(SeqCst);
            if !(looks_first && self.cell.is_ready())
                && let Some(done) = self.cell.notify()
            {
                self.put(done);
            }
        }

        fn work(&self) {
            if let Some(mut done) = self.cell.take() {
                *done = self.made();
                fence(SeqCst);
                self.put(done);
            }
        }
    }

    model(|| {
        let shared = Arc::new(Shared { made: Default::default(), cell: TaskCell::default() });
        shared.cell.fill(Box::new(0)).unwrap();
        let makers = [0, 1].map(|place| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.make(place, place == 1))
        });
        // The worker has a thread of its own: in the main thread loom tries no interleaving in which it finds
        // the value ready.
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work())
        };
        makers.into_iter().for_each(|maker| maker.join().unwrap());
        worker.join().unwrap();
        if !shared.cell.is_ready() {
            let done = shared.cell.take_any().expect("nobody holds it any more");
            assert_eq!(*done, 2, "work is left and the value lies idle");
        }
    });
}

/// An engine closes while a worker puts a task back as ready, because it had found the query of the task running. In every
/// interleaving one of the two ends the task: the engine when it looks into the cell, or the worker before its thread ends.
#[test]
fn a_task_that_is_put_back_while_the_engine_closes_is_ended() {
    use std::sync::atomic::Ordering::Relaxed;

    use loom::sync::atomic::AtomicBool;
    use thalweg_memory::TaskCell;

    #[derive(Default)]
    struct Shared {
        has_failed: AtomicBool,
        is_closed: AtomicBool,
        cell: TaskCell<u32>,
        ended: Mutex<u32>,
    }

    impl Shared {
        fn end(&self, value: Option<Box<u32>>) {
            *self.ended.lock() += u32::from(value.is_some());
        }

        fn close(&self) {
            self.has_failed.store(true, Relaxed);
            self.is_closed.store(true, Relaxed);
            self.end(self.cell.take_any().or_else(|| self.cell.notify()));
        }

        /// Puts back the task that the worker holds, and waits for the end of the engine.
        fn work(&self, held: Box<u32>) {
            if self.has_failed.load(Relaxed) {
                self.end(Some(held));
            } else {
                self.cell.put(held, true).unwrap();
            }
            while !self.is_closed.load(Relaxed) {
                thread::yield_now();
            }
            self.end(self.cell.take_any());
        }
    }

    model(|| {
        let shared = Arc::new(Shared::default());
        shared.cell.fill(Box::new(0)).unwrap();
        let held = shared.cell.take_any().unwrap();
        let worker = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work(held))
        };
        shared.close();
        worker.join().unwrap();
        assert_eq!(*shared.ended.lock(), 1);
    });
}

/// Blocks of a block pool pass from owner to owner and are filled again. A writer at one of two cores fills
/// blocks, and another thread empties them and gives them back; there are two blocks in all (B7).
#[test]
fn blocks_of_a_block_pool_go_from_hand_to_hand() {
    model(|| {
        let block_pool = BlockPool::<u32>::new(&pool(), options(1, 2), 2).unwrap();
        let handed = Arc::new(Mutex::new(Vec::new()));
        let writing = {
            let (block_pool, handed) = (Arc::clone(&block_pool), Arc::clone(&handed));
            thread::spawn(move || {
                let mut block_writer = block_pool.block_writer();
                for value in 0..2 {
                    while block_writer.open(0).room() == 0 {
                        thread::yield_now();
                    }
                    block_writer.open(0).push(value);
                    block_writer.seal();
                    block_writer.rest();
                    handed.lock().extend(block_writer.take_full());
                }
            })
        };
        let (mut sum, mut count) = (0, 0);
        while count < 2 {
            let block = handed.lock().pop();
            match block {
                Some(mut block) => {
                    block.drain(1).taken(1).for_each(|value| sum += value);
                    count += 1;
                    block.give_back(false);
                }
                None => thread::yield_now(),
            }
        }
        writing.join().unwrap();
        assert_eq!(sum, 1);
    });
}

/// A writer that finds no free block sets a flag and looks once more, so it misses no block that is given
/// back. Either it finds the block, or the party that gave the block back finds the flag.
#[test]
fn a_starved_writer_is_noticed() {
    model(|| {
        let block_pool = BlockPool::<u32>::new(&pool(), options(1, 2), 1).unwrap();
        let mut block_writer = block_pool.block_writer();
        block_writer.open(0).push(1);
        block_writer.seal();
        let block = block_writer.take_full().unwrap();
        let _other = block_writer.open(0).room();
        let giving = {
            let block_pool = Arc::clone(&block_pool);
            thread::spawn(move || {
                block.give_back(true);
                block_pool.take_starved()
            })
        };
        let found = block_pool.has_free();
        let noticed = giving.join().unwrap();
        assert!(found || noticed, "a block was given back, and nobody knows that it was waited for");
    });
}

/// Two writers at two cores share the 2 blocks of a block pool. Each writer takes free blocks of its own core
/// first and then those of the other core, fills a block, empties it and gives it back. No block is held by
/// both writers, and in the end both blocks are free.
#[test]
fn two_writers_at_two_cores_share_blocks() {
    model(|| {
        let block_pool = BlockPool::<u32>::new(&pool(), options(1, 2), 2).unwrap();
        let work = |core: usize| {
            let block_pool = Arc::clone(&block_pool);
            move || {
                let mut block_writer = block_pool.block_writer();
                let mut appender = block_writer.open(core);
                let has_room = appender.room() > 0;
                if has_room {
                    appender.push(core as u32);
                }
                drop(appender);
                block_writer.seal();
                block_writer.rest();
                if let Some(mut block) = block_writer.take_full() {
                    block.drain(1).taken(1).for_each(|value| assert_eq!(value, core as u32));
                    block.give_back(core == 0);
                } else {
                    assert!(!has_room, "the value that was written is in no block");
                }
            }
        };
        let (first, second) = (work(0), work(1));
        let other = thread::spawn(first);
        second();
        other.join().unwrap();
        assert_eq!(block_pool.block_writer().open(1).room(), 2, "a block was lost, or is there twice");
    });
}
