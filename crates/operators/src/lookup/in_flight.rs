//! Records in flight: records whose questions are asked, results that may not be emitted yet, and the marks
//! between them.
//!
//! ```text
//!   slots    one per record that is not emitted: the question's record, then its result
//!   places   emitted in this order: each has the records of some slots, then a mark or none
//!
//!   as asked       [1] [2 W5] [3] [4]         a place for each record
//!   as answered    [1 2 W5] [3 4]             a place for all records up to the next mark
//! ```
//!
//! Only the records and the mark of the first place are emitted; the place is closed when all its records are
//! emitted. So the two orders differ only in the place that a record gets. There are as many slots as records may be
//! in flight, whichever part is slow.

use std::collections::VecDeque;

use thalweg_model::{Allowance, Fault, Mark, Record};

use super::{LookupOptions, LookupOrder};
use crate::funded::room_in_deque;

/// Identifies a question to a lookup. The lookup returns the ticket once, with the answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticket {
    slot: u32,
    /// Number of earlier uses of the slot, which holds one record at a time. This number distinguishes a
    /// second answer to an old question from the answer to the slot's current one.
    use_count: u32,
}

/// Stands for "no slot" where a slot index is expected.
const NONE: u32 = u32::MAX;

#[derive(Debug)]
struct Slot<T, U> {
    use_count: u32,
    content: Content<T, U>,
}

#[derive(Debug)]
enum Content<T, U> {
    /// The slot holds no record in flight; `next` is the index of the next slot in the list of free slots.
    Free { next: u32 },
    /// The record's question is asked and not answered; `place` is the number of the record's [`Place`] in
    /// the order of emission.
    Asked { record: Record<T>, place: u64 },
    /// The result of the record, which waits to be emitted. It is followed by the result in the slot with
    /// index `next`, which belongs to the same [`Place`].
    Answered { record: Record<U>, next: u32 },
}

/// A place in the order of emission: one or several records whose results may come out in any order, then a
/// mark or none.
#[derive(Debug)]
struct Place {
    /// Number of records of this place (records whose results may come out in any order) whose question is
    /// not answered.
    unanswered: u32,
    /// Index of the [`Slot`] with the first of the results that wait to be emitted, in this place of the order.
    first: u32,
    /// Index of the [`Slot`] with the last of the results that wait to be emitted, in this place of the order.
    last: u32,
    /// The mark, such as a watermark, that is emitted behind the records of this place of the order, if there
    /// is one.
    mark: Option<Mark>,
}

/// The records and marks in flight, in the order in which they are emitted.
#[derive(Debug)]
pub(super) struct InFlight<T, U> {
    options: LookupOptions,
    slots: Vec<Slot<T, U>>,
    first_free: u32,
    used: u32,
    places: VecDeque<Place>,
    /// Number of the first entry of `places`. Places in the order of emission are numbered from the start of
    /// the query.
    first_place: u64,
    allowance: Allowance,
}

impl<T, U> InFlight<T, U> {
    pub(super) fn new(options: LookupOptions, allowance: Allowance) -> Self {
        InFlight {
            options,
            slots: Vec::new(),
            first_free: NONE,
            used: 0,
            places: VecDeque::new(),
            first_place: 0,
            allowance,
        }
    }

    /// Returns how many more records may be put in flight. If this is zero, no mark may be put in either.
    pub(super) fn room(&self) -> usize {
        let in_flight_max = self.options.in_flight_max.get();
        // A mark may take a place in the order of emission without records, so the number of places is
        // limited as well.
        let places_left = (2 * in_flight_max as usize).saturating_sub(self.places.len());
        places_left.min((in_flight_max - self.used) as usize)
    }

    /// Puts a record in flight, whose question is asked next; returns `None` if there is no memory for the
    /// record.
    pub(super) fn put(&mut self, record: Record<T>) -> Option<Ticket> {
        debug_assert!(self.room() > 0, "records are put in while there is room");
        let has_slot = self.first_free != NONE || self.allowance.room_in(&mut self.slots);
        let opens_place = match self.options.order {
            LookupOrder::AsAsked => true,
            LookupOrder::AsAnswered => self.places.back().is_none_or(|last| last.mark.is_some()),
        };
        if !has_slot || opens_place && !self.open_place() {
            return None;
        }
        let place = self.places.back_mut()?;
        place.unanswered += 1;
        let place = self.first_place + self.places.len() as u64 - 1;
        let content = Content::Asked { record, place };
        self.used += 1;
        let slot = self.first_free;
        if slot == NONE {
            self.slots.push(Slot { use_count: 0, content });
            return Some(Ticket { slot: self.slots.len() as u32 - 1, use_count: 0 });
        }
        let free = &mut self.slots[slot as usize];
        if let Content::Free { next } = std::mem::replace(&mut free.content, content) {
            self.first_free = next;
        }
        Some(Ticket { slot, use_count: free.use_count })
    }

    /// Puts a mark in flight, to be emitted behind all records that are in flight now.
    pub(super) fn put_mark(&mut self, mark: Mark) {
        // If two watermarks have no record between them, only the second is kept.
        let is_taken_over = |last: &Place| match last.mark {
            None => true,
            Some(Mark::Watermark(_)) => matches!(mark, Mark::Watermark(_)),
            Some(Mark::InputWatermark(_)) => matches!(mark, Mark::InputWatermark(_)),
            Some(_) => false,
        };
        if self.places.back().is_some_and(is_taken_over) || self.open_place() {
            self.places.back_mut().expect("a place is open for the mark").mark = Some(mark);
        }
    }

    fn open_place(&mut self) -> bool {
        let has_room = room_in_deque(&self.allowance, &mut self.places);
        if has_room {
            self.places.push_back(Place { unanswered: 0, first: NONE, last: NONE, mark: None });
        }
        has_room
    }

    /// Takes the answer to a record's question; `become_of` makes the result of the record.
    ///
    /// # Panics
    /// If there is no such question, or it was answered before.
    pub(super) fn answer(
        &mut self,
        ticket: Ticket,
        become_of: impl FnOnce(T) -> Result<U, Fault>,
    ) -> Result<(), Fault> {
        let Ticket { slot, use_count } = ticket;
        let answered = self.slots.get_mut(slot as usize).filter(|slot| slot.use_count == use_count);
        let content =
            answered.map(|slot| &mut slot.content).filter(|slot| matches!(slot, Content::Asked { .. }));
        let content = content.expect("a lookup answers each ticket once");
        let Content::Asked { record, place } = std::mem::replace(content, Content::Free { next: NONE })
        else {
            unreachable!("a slot that is answered holds a question");
        };
        let value = become_of(record.value)?;
        *content = Content::Answered { record: Record::new(record.event_time, value), next: NONE };
        let place = &mut self.places[(place - self.first_place) as usize];
        place.unanswered -= 1;
        let last = std::mem::replace(&mut place.last, slot);
        if last == NONE {
            place.first = slot;
        } else if let Content::Answered { next, .. } = &mut self.slots[last as usize].content {
            *next = slot;
        }
        Ok(())
    }

    /// Removes and returns the next result of the lookup join that may be emitted.
    pub(super) fn next_record(&mut self) -> Option<Record<U>> {
        loop {
            let place = self.places.front_mut()?;
            if place.first != NONE {
                let slot = place.first;
                let (record, next) = self.release(slot)?;
                let place = self.places.front_mut()?;
                place.first = next;
                if next == NONE {
                    place.last = NONE;
                }
                return Some(record);
            }
            if place.unanswered > 0 || place.mark.is_some() {
                return None;
            }
            self.close_place();
        }
    }

    /// Removes and returns the next mark, if all results before it are emitted.
    pub(super) fn next_mark(&mut self) -> Option<Mark> {
        let place = self.places.front()?;
        let mark = place.mark.filter(|_| place.unanswered == 0 && place.first == NONE)?;
        self.close_place();
        Some(mark)
    }

    fn close_place(&mut self) {
        self.places.pop_front();
        self.first_place += 1;
    }

    /// Frees the slot of an answered record. Returns the record's result, and the slot of the result that is
    /// emitted next.
    fn release(&mut self, slot: u32) -> Option<(Record<U>, u32)> {
        let free = &mut self.slots[slot as usize];
        let content = std::mem::replace(&mut free.content, Content::Free { next: self.first_free });
        let Content::Answered { record, next } = content else { return None };
        free.use_count = free.use_count.wrapping_add(1);
        self.first_free = slot;
        self.used -= 1;
        Some((record, next))
    }

    /// Returns whether no record and no mark is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot<T, U>>() + self.places.capacity() * size_of::<Place>()
    }
}
