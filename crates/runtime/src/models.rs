//! Runs the loom models of this crate. Loom tries every interleaving with up to two preemptions, or with the
//! number in `LOOM_MAX_PREEMPTIONS`.

/// Runs `body` under loom in every interleaving of its threads, with at most two preemptions by default.
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(body);
}
