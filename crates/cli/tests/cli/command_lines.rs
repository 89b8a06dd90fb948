//! Random command lines: options that a command has and some that no command has, with values that are too
//! large, negative, or of a wrong type. Every such line ends with a documented exit code and a message about
//! the cause, and never with a panic.
//!
//! The tests of both programs include this file; [`COMMANDS`] are those of the program. `THALWEG_FUZZ` is the number of lines, and `THALWEG_SEED_BASE` is the first seed. Each line has its own
//! seed.

use std::process::{Command, Output, Stdio};

use crate::support::{Folder, Ran, Random, number};
use crate::{CODE_IF_VALID, COMMANDS};

const VALUES: [&str; 48] = [
    "0",
    "1",
    "2",
    "-1",
    "-0",
    "+1",
    "0.5",
    "1e3",
    "1e400",
    "NaN",
    "inf",
    "4294967296",
    "18446744073709551616",
    "0x10",
    "",
    " ",
    "5s",
    "5 s",
    "5",
    "0s",
    "-5s",
    "1us",
    "1e18h",
    "99999999999999999999h",
    "5days",
    "1MiB",
    "64MiB",
    "1KiB",
    "0B",
    "1TB",
    "16EiB",
    "99999999999999999999GiB",
    "max",
    "10k",
    "2G",
    "fcfs",
    "klink",
    "fastest",
    "json",
    "text",
    "xml",
    "true",
    "skip",
    "divert:bad.json",
    "a=b",
    "=",
    "é😀",
    "--",
];
/// Number of random command lines that are tried, unless the environment sets another.
const LINES: u64 = 60;

/// Time limit for one command line in seconds, in a build that is not optimised, on a machine that does other
/// work at the same time.
const SECONDS_MAX: &str = "60";

/// Returns the long options that the help of a command lists.
fn options(folder: &Folder, command: &str) -> Vec<String> {
    let help = folder.run(&format!("{command} --help")).stdout;
    let words = help.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    let mut options: Vec<String> =
        words.filter(|word| word.starts_with("--") && word.len() > 3).map(str::to_owned).collect();
    options.sort();
    options.dedup();
    // These options print text and run nothing, so they are left out.
    options.retain(|option| !matches!(option.as_str(), "--help" | "--version"));
    assert!(!options.is_empty(), "{command}: {help}");
    options
}

/// Runs a command line to its end. The program `timeout` ends it with code 124 when its time is over.
fn run(folder: &Folder, words: &[String]) -> Output {
    let mut command = Command::new("timeout");
    command.args([SECONDS_MAX, crate::PROGRAM]).args(words).current_dir(folder.path(""));
    command.env("COLUMNS", "80").env("RUST_BACKTRACE", "1").stdin(Stdio::null()).output().unwrap()
}

#[test]
fn command_lines_that_are_made_up() {
    let folder = Folder::new("command_lines");
    folder.write("one.sql", "SELECT 1;\n");
    std::fs::create_dir_all(folder.path("cases")).unwrap();
    folder.write("cases/one.test.sql", "--- query one\nSELECT 1;\n\n--- rows\n1\n");
    let known: Vec<Vec<String>> = COMMANDS.iter().map(|(command, ..)| options(&folder, command)).collect();
    let (first, count) = (number("THALWEG_SEED_BASE").unwrap_or(0), number("THALWEG_FUZZ").unwrap_or(LINES));
    let mut codes = [0_usize; 4];
    for seed in (0..count).map(|offset| first.wrapping_add(offset)) {
        let mut random = Random::new(seed);
        let chosen = random.below(COMMANDS.len());
        let (command, before, after) = COMMANDS[chosen];
        let mut words: Vec<String> =
            [&[command][..], before].concat().into_iter().map(str::to_owned).collect();
        for _ in 0..random.below(4) {
            let mut option = known[chosen][random.below(known[chosen].len())].clone();
            if random.below(12) == 0 {
                option.push('x');
            }
            let value = VALUES[random.below(VALUES.len())];
            match random.below(4) {
                0 => words.push(option),
                1 => words.push(format!("{option}={value}")),
                _ => words.extend([option, value.to_owned()]),
            }
        }
        words.extend(after.iter().map(|word| (*word).to_owned()));
        let (package, test) = (env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME"));
        let replay = format!(
            "THALWEG_SEED_BASE={seed} THALWEG_FUZZ=1 cargo test -p {package} --test {test} command_lines"
        );
        let line = format!("thalweg {words:?}; replay: {replay}");
        let ran = Ran::of(&line, run(&folder, &words));
        // A bounded job may be stopped early by a short `--for`, and by nothing else here.
        let may_stop_early = words.iter().any(|word| word.starts_with("--for"));
        assert!(matches!(ran.code, 0..=2) || (ran.code == 3 && may_stop_early), "{ran:?}");
        assert!(!ran.stderr.contains("panicked") && !ran.stderr.contains("backtrace"), "{ran:?}");
        assert!(ran.code == 0 || !ran.stderr.trim().is_empty(), "it fails and says nothing: {ran:?}");
        codes[ran.code as usize] += 1;
    }
    // A few command lines may all end alike, so this is checked for many lines only.
    let valid = codes[CODE_IF_VALID];
    assert!(count < LINES || valid > 0 && codes[2] > 0, "exit codes {codes:?}");
}
