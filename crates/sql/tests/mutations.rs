//! Texts that are nearly SQL: the queries of `tests/queries` with words taken out, doubled, swapped or replaced. Whatever comes of
//! them is a plan or an error with a code, in reasonable time; never a panic, which a session tells as a failure of its own.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_model::{Entropy, SeededEntropy, VirtualClock};
use thalweg_sql::session::Session;

/// Words that are put where they do not belong.
const WORDS: [&str; 40] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "ORDER",
    "(",
    ")",
    ",",
    "*",
    "NULL",
    "-",
    "1",
    "'x'",
    "AND",
    "NOT",
    "OVER",
    "CASE",
    "END",
    "JOIN",
    "ON",
    "UNION",
    "ALL",
    "DISTINCT",
    "CAST",
    "AS",
    "INTERVAL",
    "'5'",
    "MINUTE",
    "TABLE",
    "TUMBLE",
    "DESCRIPTOR",
    "window_start",
    "window_end",
    "COUNT",
    "SUM",
    "1e400",
    "''",
    "`",
    "99999999999999999999",
];

/// How long planning may take, in a build that is not optimised, on a machine that does other things.
const PLAN_MAX: Duration = Duration::from_secs(20);

fn below(entropy: &mut SeededEntropy, bound: usize) -> usize {
    (entropy.next_u64() % bound.max(1) as u64) as usize
}

/// A text with a few of its words changed.
fn mutated(text: &str, entropy: &mut SeededEntropy) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() || character == '_' {
            word.push(character);
        } else {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            words.push(character.to_string());
        }
    }
    words.push(word);
    for _ in 0..=below(entropy, 3) {
        let (here, there) = (below(entropy, words.len()), below(entropy, words.len()));
        match below(entropy, 5) {
            0 => {
                words.remove(here);
            }
            1 => words.insert(here, words[there].clone()),
            2 => words.swap(here, there),
            3 => words[here] = WORDS[below(entropy, WORDS.len())].to_owned(),
            _ => words.insert(here, format!(" {} ", WORDS[below(entropy, WORDS.len())])),
        }
        if words.is_empty() {
            words.push("SELECT".to_owned());
        }
    }
    words.concat()
}

#[test]
fn nearly_sql_is_refused_and_nothing_more() {
    let mut paths: Vec<_> = fs::read_dir(Path::new("tests/queries"))
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.to_string_lossy().ends_with(".test.sql"))
        .collect();
    paths.sort();
    let times: usize =
        std::env::var("THALWEG_MUTATIONS").ok().and_then(|times| times.parse().ok()).unwrap_or(2);
    let mut entropy = SeededEntropy::new(7);
    let mut tried = 0;
    for path in paths {
        let text = fs::read_to_string(&path).expect("a file of cases");
        let setup: String = text
            .lines()
            .take_while(|line| !line.starts_with("--- "))
            .map(|line| format!("{line}\n"))
            .collect();
        let mut declared = Session::new(Arc::new(VirtualClock::default()));
        declared.read(&setup).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for section in text.split("--- query ").skip(1) {
            let query: String = section
                .lines()
                .skip(1)
                .take_while(|line| !line.starts_with("--- "))
                .collect::<Vec<_>>()
                .join("\n");
            for _ in 0..times {
                let text = mutated(&query, &mut entropy);
                let begin = Instant::now();
                if let Err(error) = declared.clone().read(&text) {
                    assert!(!error.message.contains("a reason of ours"), "planning panicked: {text}");
                }
                assert!(begin.elapsed() < PLAN_MAX, "planning took {:?}: {text}", begin.elapsed());
                tried += 1;
            }
        }
    }
    assert!(tried >= 500, "only {tried} texts were tried");
}

/// Any bytes that are text.
#[test]
fn noise_is_refused() {
    let mut entropy = SeededEntropy::new(11);
    for _ in 0..2_000 {
        let length = below(&mut entropy, 60);
        let noise: String = (0..length)
            .map(|_| match below(&mut entropy, 4) {
                0 => char::from_u32(below(&mut entropy, 0x800) as u32).unwrap_or(' '),
                1 => WORDS[below(&mut entropy, WORDS.len())].chars().next().unwrap_or(' '),
                _ => char::from(b' ' + below(&mut entropy, 95) as u8),
            })
            .collect();
        let mut session = Session::new(Arc::new(VirtualClock::default()));
        if let Err(error) = session.read(&noise) {
            assert!(!error.message.contains("a reason of ours"), "planning panicked: {noise:?}");
        }
    }
}
