//! Generated records in sequence, without the divisions that find the record of any index.

use super::{Address, LrbGenerator, ROUND_S, ROUNDS};
use crate::lrb::report::LrbRecord;

/// An endless iterator over the generated records from an index on. It gives the same records as the
/// generator's `value`, without a division per record.
pub struct LrbCursor<'a> {
    generator: &'a LrbGenerator,
    next: Address,
    xway_count: u64,
    /// Number of records left in the current round, the next one included.
    left_in_round: u64,
    round_records: u64,
}

impl Iterator for LrbCursor<'_> {
    type Item = LrbRecord;

    #[inline]
    fn next(&mut self) -> Option<LrbRecord> {
        let row = self.generator.row(self.next);
        self.next.xway += 1;
        if self.next.xway == self.xway_count {
            self.next.xway = 0;
            self.next.slot += 1;
        }
        self.left_in_round -= 1;
        if self.left_in_round == 0 {
            self.end_round();
        }
        Some(row)
    }
}

impl<'a> LrbCursor<'a> {
    pub(super) fn new(generator: &'a LrbGenerator, index: u64) -> Self {
        let round_records = generator.rate_per_s.get() * ROUND_S;
        LrbCursor {
            generator,
            next: generator.address(index),
            xway_count: u64::from(generator.xway_count),
            left_in_round: round_records - index % round_records,
            round_records,
        }
    }

    #[cold]
    fn end_round(&mut self) {
        let Address { period, round, .. } = self.next;
        let is_last = round == ROUNDS as u64 - 1;
        let (period, round) = if is_last { (period.wrapping_add(1), 0) } else { (period, round + 1) };
        self.next = Address { period, round, slot: 0, xway: 0 };
        self.left_in_round = self.round_records;
    }
}
