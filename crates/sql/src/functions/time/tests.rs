//! Cases of functions of time.
