//! Under loom: a thread that sleeps for want of work and room is woken when both are there, whoever made them.

#[cfg(loom)]
mod model {
    use loom::thread;
    use thalweg_memory::sync::{Arc, AtomicU32, Ordering, fence};
    use thalweg_model::{ProcessingTime, VirtualClock};

    use crate::idle::{Idle, Outlook};
    use crate::models::model;

    /// What two neighbours publish, what the task itself says of what it has left to emit, and its bed.
    struct Task {
        work: AtomicU32,
        room: AtomicU32,
        left: AtomicU32,
        bed: Idle,
    }

    impl Task {
        fn new() -> Arc<Self> {
            let [work, room, left] = [(); 3].map(|()| AtomicU32::new(0));
            Arc::new(Task { work, room, left, bed: Idle::new(1, 0) })
        }

        fn may_run(&self) -> bool {
            let pending = self.work.load(Ordering::Relaxed) + self.left.load(Ordering::Relaxed);
            pending > 0 && self.room.load(Ordering::Relaxed) > 0
        }

        /// As `Seat::wake_to_work` behind a run.
        fn publish(&self, word: &AtomicU32) {
            word.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.bed.seems_to_have_sleepers() && self.may_run() {
                self.bed.wake_one();
            }
        }

        /// As `TaskThread::sleep`, until it may run.
        fn wait(&self) {
            let clock = VirtualClock::default();
            while !self.may_run() {
                let look = |_| {
                    if self.may_run() { Outlook::Work } else { Outlook::Nothing(ProcessingTime::NEVER) }
                };
                self.bed.sleep(0, &clock, look);
            }
        }
    }

    /// One neighbour makes work, the other makes room: whoever comes last wakes it. It never sleeps for ever, which loom
    /// would call a deadlock.
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

    /// What the task itself has left to emit is seen by who makes room for it.
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
