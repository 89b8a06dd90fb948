//! Loom models of the mode with a thread per task. A thread that sleeps because work or room is missing is
//! woken when both are there, whichever task made them.

#[cfg(loom)]
mod model {
    use loom::thread;
    use thalweg_memory::sync::{Arc, AtomicU32, Ordering, fence};
    use thalweg_model::{EventTime, ProcessingTime, VirtualClock};

    use crate::epochs::containers::tests::{bundle, containers};
    use crate::epochs::origin::model::Bed;
    use crate::epochs::{Claiming, Deposit, EPOCHS_MAX, Item, STEAL_AFTER_NS};
    use crate::idle::{Idle, Outlook};
    use crate::meter::Standing;
    use crate::models::model;
    use crate::task::{FirstSeen, Inlet, Outlet, Probe};
    use crate::threads::Seat;

    /// A small model of a task: words for work and room that two neighbours publish, a word for an
    /// unfinished emission, and the place in which its thread sleeps.
    struct Task {
        work: AtomicU32,
        room: AtomicU32,
        left: AtomicU32,
        parker: Idle,
    }

    impl Task {
        fn new() -> Arc<Self> {
            let [work, room, left] = [(); 3].map(|()| AtomicU32::new(0));
            Arc::new(Task { work, room, left, parker: Idle::new(1, 0) })
        }

        fn may_run(&self) -> bool {
            let pending = self.work.load(Ordering::Relaxed) + self.left.load(Ordering::Relaxed);
            pending > 0 && self.room.load(Ordering::Relaxed) > 0
        }

        /// Publishes a word and wakes the task's thread, in the same way as `Seat::wake_to_work` after a
        /// run.
        fn publish(&self, word: &AtomicU32) {
            word.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.parker.seems_to_have_sleepers() && self.may_run() {
                self.parker.wake_one();
            }
        }

        /// Sleeps until this model of a task may run, by the same steps as the code under test,
        /// `Seated::sleep`.
        fn wait(&self) {
            let clock = VirtualClock::default();
            while !self.may_run() {
                let look = |_| {
                    if self.may_run() { Outlook::Work } else { Outlook::Nothing(ProcessingTime::NEVER) }
                };
                self.parker.sleep(0, &clock, look);
            }
        }
    }

    /// One neighbour makes work for a sleeping task, and another makes room for its output. The last of them
    /// wakes the task's thread. The thread never sleeps for ever, which loom would report as a deadlock.
    #[test]
    fn work_and_room_from_two_sides_wake() {
        model(|| {
            let task = Task::new();
            let writer = Arc::clone(&task);
            let writer = thread::spawn(move || writer.publish(&writer.work));
            let reader = Arc::clone(&task);
            let reader = thread::spawn(move || reader.publish(&reader.room));
            task.wait();
            writer.join().unwrap();
            reader.join().unwrap();
        });
    }

    /// A copy whose own work queue is empty falls asleep while a block is put on another copy's work queue.
    /// It sleeps only until it may claim that block. Without the notification it would sleep for ever.
    #[test]
    fn what_time_makes_claimable_wakes() {
        model(|| {
            let containers = containers(Claiming::default());
            let inputs = Box::new([Inlet::Claims(Arc::clone(&containers.tracker), 1)]);
            let probe = Arc::new(Probe::new(inputs, Box::default()));
            let seat = Seat::new(&probe, ("task", 1), 0, ProcessingTime::ZERO);
            let depositor = {
                let (containers, seat) = (Arc::clone(&containers), Arc::clone(&seat));
                thread::spawn(move || {
                    containers.deposit(0, bundle(0, 1));
                    fence(Ordering::SeqCst);
                    seat.wake_to_work(ProcessingTime::ZERO);
                })
            };
            let (clock, mut due) = (VirtualClock::default(), ProcessingTime::NEVER);
            while due == ProcessingTime::NEVER {
                seat.rest(&clock, |now| {
                    due = probe.next_due(now);
                    // Under loom a sleep with a time limit has no timer, so the thread does not sleep if a
                    // due time is known.
                    if due == ProcessingTime::NEVER { Standing::Idle { due } } else { Standing::Ready }
                });
            }
            assert_eq!(due.as_nanos(), 1 + STEAL_AFTER_NS);
            depositor.join().unwrap();
        });
    }

    /// A split falls silent while the maximum number of epochs is open. When the task that closes epochs
    /// releases one, the split is woken and announces its silence. The silence comes behind the end of every
    /// epoch that the split has reached.
    #[test]
    fn a_silence_that_waits_for_an_epoch_is_told() {
        model(|| {
            let parker = Bed::new(1);
            let tracker = Arc::clone(&parker.containers.tracker);
            let last = EventTime::from_secs(EPOCHS_MAX as i64 * 10 + 5);
            (0..EPOCHS_MAX as i64)
                .for_each(|window| _ = parker.origin.advance(0, EventTime::from_secs(window * 10 + 5)));
            parker.origin.advance(0, last);
            let outputs = Box::new([Outlet::Deposits(Arc::clone(&tracker))]);
            let probe = Arc::new(Probe::new(Box::default(), outputs));
            let seat = Seat::new(&probe, ("task", 1), 0, ProcessingTime::ZERO);
            let closing = {
                let (tracker, seat) = (Arc::clone(&tracker), Arc::clone(&seat));
                thread::spawn(move || {
                    let inlet = Inlet::Epochs(Arc::clone(&tracker), FirstSeen::default());
                    let position = inlet.position();
                    let Some(Item::End { epoch, .. }) = tracker.next_item() else {
                        panic!("all but the youngest epoch have their ends");
                    };
                    tracker.release(epoch);
                    // The task that closes epochs ends its run here with the same fence and the same wake-up
                    // as in production.
                    fence(Ordering::SeqCst);
                    if inlet.has_freed(position) {
                        seat.wake_to_work(ProcessingTime::ZERO);
                    }
                })
            };
            let clock = VirtualClock::default();
            let mut is_told = parker.origin.fall_idle(0);
            while !is_told {
                probe.set_awaits_epoch(true);
                // The task with an unfinished mark checks whether it may run, as `TaskBody::look` does in
                // production.
                let look = |_| if probe.can_output() { Standing::Ready } else { Standing::Blocked };
                seat.rest(&clock, look);
                is_told = parker.origin.tell_silence();
            }
            closing.join().unwrap();
            let items: Vec<Item> = std::iter::from_fn(|| tracker.next_item()).collect();
            assert!(
                matches!(items[..], [.., Item::End { watermark, .. }, Item::Idle] if watermark == last),
                "{items:?}"
            );
        });
    }

    /// A neighbour that makes room for a task's output sees that the task has an unfinished emission, and
    /// wakes its thread.
    #[test]
    fn room_for_what_is_left_wakes() {
        model(|| {
            let task = Task::new();
            let reader = Arc::clone(&task);
            let reader = thread::spawn(move || reader.publish(&reader.room));
            task.left.store(1, Ordering::Relaxed);
            task.wait();
            reader.join().unwrap();
        });
    }
}
