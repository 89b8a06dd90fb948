//! The pool of chunks: makes chunks ahead of need and takes surplus chunks back, so that neither mapping nor
//! unmapping of memory falls into the data path (Enjima, section 3.1.1, "eager memory allocation").
//!
//! The pool itself has no thread: its owner calls [`Pool::wait_for_request`] and [`Pool::grow_step`], from a thread
//! for that purpose in production, from the seeded scheduler in simulation. A request does not keep its edge alive:
//! when the users of an edge drop it, its request is dropped as well.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Weak;

use crate::budget::Budget;
use crate::chunk::{Chunk, ChunkError, ChunkLayout, Mapping};
use crate::sync::{Arc, Condvar, Mutex};

/// An edge or a block pool that has requested a chunk.
pub(crate) trait Grow: Send + Sync {
    /// Makes the requested chunk, or records that there is no memory for it. Returns the number that was set
    /// for the writer of this edge or block pool, which may have room now.
    fn grow(&self, pool: &Pool) -> u64;
}

/// Makes chunks within a budget, and keeps the memory of returned chunks for later requests.
pub struct Pool {
    budget: Arc<Budget>,
    state: Mutex<State>,
    requested: Condvar,
}

struct State {
    /// Requests that wait. There is at most one per edge or block pool, because each requests a chunk only if
    /// no request of its own is unanswered.
    requests: VecDeque<Weak<dyn Grow>>,
    /// Pages that belong to no edge and are still reserved from the budget; released first when the budget is
    /// short.
    spare: Vec<Mapping>,
    closed: bool,
}

impl Pool {
    /// Creates a pool of chunks that holds at most the bytes that `budget` allows.
    pub fn new(budget: Arc<Budget>) -> Arc<Self> {
        let state =
            State { requests: VecDeque::with_capacity(64), spare: Vec::with_capacity(64), closed: false };
        Arc::new(Pool { budget, state: Mutex::new(state), requested: Condvar::new() })
    }

    /// Returns the memory budget in which the bytes of this pool's chunks are reserved.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Serves the first request for a chunk whose edge still exists. Returns the number of the edge's writer,
    /// as set by [`Cursors::name_writer`](crate::Cursors::name_writer), because the writer may have room
    /// again.
    ///
    /// If all other owners drop the edge meanwhile, it is dropped here, and with it values of users. A panic
    /// of such a drop ends here, as it does where a worker drops a task.
    pub fn grow_step(&self) -> Option<u64> {
        loop {
            let request = self.state.lock().requests.pop_front()?;
            let Some(edge) = request.upgrade() else { continue };
            let writer = edge.grow(self);
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(edge)));
            if let Err(payload) = dropped
                && let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(payload)))
            {
                // The payload of the panic panics again when it is dropped, so it is given to `mem::forget`.
                // No panic leaves this function.
                std::mem::forget(again);
            }
            return Some(writer);
        }
    }

    /// Waits until a chunk is requested (`true`) or the pool is closed (`false`).
    pub fn wait_for_request(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.closed {
                return false;
            }
            if !state.requests.is_empty() {
                return true;
            }
            state = self.requested.wait(state);
        }
    }

    /// Closes the pool: ends [`wait_for_request`](Self::wait_for_request), now and in later calls. Requests
    /// that wait are dropped.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.requests.clear();
        self.requested.notify_all();
    }

    pub(crate) fn request(&self, edge: Weak<dyn Grow>) {
        let mut state = self.state.lock();
        if !state.closed {
            state.requests.push_back(edge);
            self.requested.notify_one();
        }
    }

    /// Makes a chunk from spare pages of the right size or, if there are none, from new pages. Spare pages of
    /// other sizes are released if the budget is short.
    pub(crate) fn chunk<T>(&self, layout: ChunkLayout) -> Result<Chunk<T>, ChunkError> {
        let given_up = {
            let mut state = self.state.lock();
            if let Some(index) = state.spare.iter().position(|spare| spare.bytes() == layout.chunk_bytes) {
                return Ok(Chunk::new(state.spare.swap_remove(index), layout));
            }
            let free = self.budget.limit_bytes().saturating_sub(self.budget.used_bytes());
            if free < layout.chunk_bytes { std::mem::take(&mut state.spare) } else { Vec::new() }
        };
        drop(given_up);
        Ok(Chunk::new(Mapping::new(&self.budget, layout.chunk_bytes)?, layout))
    }

    /// Releases the pages that the pool keeps for later requests, so that another reservation may fit into
    /// the budget.
    pub fn give_up_spare(&self) {
        let given_up = std::mem::take(&mut self.state.lock().spare);
        drop(given_up);
    }

    /// Returns the number of bytes in spare pages. They are reserved, and available at once for a chunk of
    /// their size.
    pub fn spare_bytes(&self) -> usize {
        self.state.lock().spare.iter().map(Mapping::bytes).sum()
    }

    pub(crate) fn take_back<T>(&self, chunk: Chunk<T>) {
        self.state.lock().spare.push(chunk.into_mapping());
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::chunk::BlockShape;

    fn layout(block_records: u32) -> ChunkLayout {
        ChunkLayout::new::<u64>(BlockShape { block_records, chunk_blocks: 1 }).unwrap()
    }

    /// A stand-in for an edge that all other owners drop while its request is served. Its drop panics, as the
    /// drop of a user's values may.
    struct Last(Mutex<Option<Arc<Last>>>);

    impl Grow for Last {
        fn grow(&self, _pool: &Pool) -> u64 {
            drop(self.0.lock().take());
            7
        }
    }

    impl Drop for Last {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }

    fn request(pool: &Pool, edge: &Arc<Last>) {
        let weak = Arc::downgrade(edge);
        pool.request(weak);
    }

    /// A user's value panics when its edge is dropped while a chunk is made. The panic ends in the pool, and
    /// later requests are served, too.
    #[test]
    fn a_panic_in_a_drop_does_not_end_growth() {
        let pool = Pool::new(Budget::new(4096));
        for _ in 0..2 {
            let edge = Arc::new(Last(Mutex::new(None)));
            request(&pool, &edge);
            let own = Arc::clone(&edge);
            *edge.0.lock() = Some(own);
        }
        assert_eq!([pool.grow_step(), pool.grow_step(), pool.grow_step()], [Some(7), Some(7), None]);
    }

    /// A request for a chunk keeps no edge alive, and the request of an edge that is gone is skipped.
    #[test]
    fn requests_of_edges_that_are_gone_are_dropped() {
        let pool = Pool::new(Budget::new(4096));
        let gone = Arc::new(Last(Mutex::new(None)));
        request(&pool, &gone);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(gone)));
        assert!(dropped.is_err(), "nobody else keeps the edge");
        let edge = Arc::new(Last(Mutex::new(None)));
        request(&pool, &edge);
        assert_eq!([pool.grow_step(), pool.grow_step()], [Some(7), None]);
        std::mem::forget(edge);
    }

    /// The pages of a returned chunk serve the next request of their size. Pages of another size are released
    /// if the budget is short.
    #[test]
    fn spare_pages_are_used_again_or_given_up() {
        let pool = Pool::new(Budget::new(3 * 4096));
        let small = pool.chunk::<u64>(layout(1)).unwrap();
        let block = small.blocks().next().unwrap().as_ptr();
        pool.take_back(small);
        assert_eq!(
            (pool.budget().used_bytes(), pool.spare_bytes()),
            (4096, 4096),
            "spare pages stay paid for"
        );
        let again = pool.chunk::<u64>(layout(2)).unwrap();
        assert_eq!(again.blocks().next().unwrap().as_ptr(), block);
        pool.take_back(again);
        let large = pool.chunk::<u64>(layout(1500)).unwrap();
        assert_eq!(pool.budget().used_bytes(), 3 * 4096, "the spare page was given up for the large chunk");
        assert!(pool.chunk::<u64>(layout(1)).is_err());
        pool.take_back(large);
        assert!(pool.chunk::<u64>(layout(1)).is_ok());
    }
}
