//! Search of this room's models by loom: every interleaving with up to two preemptions, or with the number in
//! `LOOM_MAX_PREEMPTIONS`.

/// Checks a model.
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(body);
}
