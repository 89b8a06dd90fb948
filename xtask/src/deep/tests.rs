//! Tests of which suites a command line chooses, and of the commands of each suite.

use super::*;

#[test]
fn no_name_means_every_suite() {
    let all = chosen_suites(&[]).unwrap();
    assert_eq!(all.len(), SUITES.len());
    assert!(SUITES.iter().all(|(name, suite)| chosen_suites(&[name]) == Ok(vec![*suite])));
}

#[test]
fn names_choose_and_order_suites() {
    assert_eq!(chosen_suites(&["seeds", "loom"]), Ok(vec![Suite::Seeds, Suite::Loom]));
}

#[test]
fn unknown_name_is_refused_and_the_known_ones_are_told() {
    let message = chosen_suites(&["loom", "moon"]).unwrap_err();
    assert!(message.starts_with("unknown suite `moon`: choose from loom, miri, seeds, fuzz, "), "{message}");
}

/// After a suite has failed, the others still run, and all failures are reported.
#[test]
fn all_suites_run_and_all_failures_are_told() {
    let suites = [Suite::Loom, Suite::Memory, Suite::Kills];
    let mut ran = Vec::new();
    let outcome = run_all(&suites, |suite| {
        ran.push(suite);
        if suite == Suite::Memory { Ok(()) } else { bail!("{suite:?} broke") }
    });
    assert_eq!(ran, suites);
    assert_eq!(outcome.unwrap_err().to_string(), "2 of 3 suites failed:\n  Loom broke\n  Kills broke");
    assert!(run_all(&suites, |_| Ok(())).is_ok());
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
            "-p thalweg-testkit --test simulation --test epochs --test operators --test oracles --test properties --test stopping"
        ),
        "{}",
        line(Suite::Seeds)
    );
    assert!(
        line(Suite::Memory).contains("-p thalweg-cli -p thalweg-bench --test memory"),
        "{}",
        line(Suite::Memory)
    );
    let crosses = line(Suite::Crosses);
    assert!(crosses.contains("THALWEG_SEEDS=") && crosses.ends_with("--test crosses"), "{crosses}");
    assert!(line(Suite::Zones).ends_with("--test zones --test sql_silence"), "{}", line(Suite::Zones));
    assert!(
        line(Suite::Fuzz)
            .ends_with("--test mutations --test options -- formats nearly_sql functions::hostile"),
        "{}",
        line(Suite::Fuzz)
    );
    let fuzz = suite_steps(Suite::Fuzz, &Workspace::fake());
    assert_eq!(fuzz.len(), 3);
    assert!(fuzz[1].to_string().contains("THALWEG_FUZZ="), "{}", fuzz[1]);
    assert!(fuzz[1].to_string().ends_with("test -p thalweg-sql-formats --lib"), "{}", fuzz[1]);
    assert!(fuzz[2].to_string().contains("THALWEG_FUZZ="), "{}", fuzz[2]);
    assert!(fuzz[2].to_string().ends_with("test -p thalweg-checkpoints --lib"), "{}", fuzz[2]);
    assert!(
        line(Suite::Lines).ends_with("--test cli --test bench -- command_lines"),
        "{}",
        line(Suite::Lines)
    );
    assert!(
        line(Suite::Policies).ends_with("--test queries -- rows_do_not_depend_on_policies"),
        "{}",
        line(Suite::Policies)
    );
}
