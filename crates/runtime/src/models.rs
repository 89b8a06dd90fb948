//! How the models of this room are searched: by loom, every interleaving with up to two preemptions, unless
//! `LOOM_MAX_PREEMPTIONS` says otherwise.

/// Checks a model.
pub(crate) fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.check(body);
}
