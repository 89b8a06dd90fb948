//! What can be switched off of epochs, to measure what it is worth (StreamBox, "Modern Stream Processing on a Multicore
//! Machine", ATC 2017, section 9.2). Results stay the same; queries that run serially have nothing of the kind.

/// Mechanisms that are switched off; none unless told otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ablations {
    /// "Hold and sort", without the sort: a stage claims blocks of its oldest epoch only, and none before that epoch's end is
    /// assigned and the epoch before it is done with. Within the epoch blocks come in any order. As long as the room for
    /// blocks lasts: a stage in front of which there is none left claims the oldest as ever, or those who make the end
    /// would wait for it.
    pub in_order_epochs: bool,
    /// What a stage derives goes into the oldest epoch downstream that has no end, which is the one that was opened last
    /// there if epochs downstream are opened by the ends that arrive: records of later epochs come into earlier ones. An
    /// epoch's own records still come before its end, and lateness goes by the watermark of their split, so results stay
    /// the same.
    pub no_epoch_boundaries: bool,
    /// Whoever claims a block takes the oldest of all workers' work queues, and not of its own first.
    pub no_locality: bool,
}
