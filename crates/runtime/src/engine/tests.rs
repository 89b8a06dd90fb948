//! Engines without threads, stepped by hand.
