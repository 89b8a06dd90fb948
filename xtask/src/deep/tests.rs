//! Which suites a command line means, and what each would run.

use super::*;

#[test]
fn no_name_means_every_suite() {
    assert_eq!(chosen_suites(&[]), Ok(vec![Suite::Loom, Suite::Miri, Suite::Seeds, Suite::Fuzz]));
}

#[test]
fn names_choose_and_order_suites() {
    assert_eq!(chosen_suites(&["seeds", "loom"]), Ok(vec![Suite::Seeds, Suite::Loom]));
}

#[test]
fn unknown_name_is_refused_and_the_known_ones_are_told() {
    let message = chosen_suites(&["loom", "moon"]).unwrap_err();
    assert_eq!(message, "unknown suite `moon`: choose from loom, miri, seeds, fuzz");
}

#[test]
fn suites_are_the_promised_commands() {
    let line = |suite| suite_step(suite, &Workspace::fake()).to_string();
    assert!(line(Suite::Loom).contains("--test loom --release"), "{}", line(Suite::Loom));
    assert!(
        line(Suite::Miri).ends_with("cargo +nightly-2026-10-30 miri test -p thalweg-memory"),
        "{}",
        line(Suite::Miri)
    );
    assert!(line(Suite::Seeds).contains("THALWEG_SEEDS="), "{}", line(Suite::Seeds));
    assert!(
        line(Suite::Seeds).ends_with(
            "-p thalweg-testkit --test simulation --test epochs --test operators --test oracles --test properties"
        ),
        "{}",
        line(Suite::Seeds)
    );
    assert!(line(Suite::Fuzz).ends_with("--test mutations -- formats nearly_sql"), "{}", line(Suite::Fuzz));
}
