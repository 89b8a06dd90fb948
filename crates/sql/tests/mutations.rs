//! Tests with texts that are nearly SQL: the queries of `tests/queries` with words removed, doubled, swapped
//! or replaced. The result is a plan or an error with a code, in reasonable time, and never a panic, which a
//! session reports as its own failure.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thalweg_model::{Entropy, SeededEntropy, VirtualClock};
use thalweg_sql::session::Session;

/// Words that the test inserts at random places of a query.
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

/// Greatest time that planning a mutated query may take, in an unoptimised build on a busy machine.
const PLAN_MAX: Duration = Duration::from_secs(20);

/// Returns the first seed of the mutations: set by continuous integration, or fixed.
fn first_seed() -> u64 {
    std::env::var("THALWEG_SEED_BASE").ok().and_then(|seed| seed.parse().ok()).unwrap_or(7)
}

fn below(entropy: &mut SeededEntropy, bound: usize) -> usize {
    (entropy.next_u64() % bound.max(1) as u64) as usize
}

/// Changes a few random words of a query.
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

/// Texts that once made planning panic are refused with an error.
#[test]
fn texts_that_panicked_are_refused() {
    for text in ["SELECTx * FROM C1 AS x';\n'", "SELECT x'1\n0'"] {
        let error = Session::new(Arc::new(VirtualClock::default())).read(text).expect_err("it is wrong");
        assert!(!error.message.contains("a reason of ours"), "planning panicked: {text}");
    }
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
    let mut entropy = SeededEntropy::new(first_seed());
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

/// Random characters instead of a query are refused with an error, and never cause a panic.
#[test]
fn nearly_sql_or_noise_is_refused() {
    let mut entropy = SeededEntropy::new(first_seed() ^ 11);
    let count = std::env::var("THALWEG_FUZZ").ok().and_then(|count| count.parse().ok()).unwrap_or(2_000);
    for _ in 0..count {
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

/// Queries that are nested very deep are refused or planned. Trees as deep as their text is long would
/// overflow the stack of the thread that walks or drops them.
#[test]
fn what_is_deep_is_refused_or_planned_and_ends_no_process() {
    let times = |before: &str, open: &str, inner: &str, close: &str, times: usize| {
        format!("{before}{}{inner}{}", open.repeat(times), close.repeat(times))
    };
    let table = "CREATE TABLE t (a INT, l ARRAY<INT>) WITH ('connector' = 'print', 'format' = 'json'); ";
    let stacked = |view: &dyn Fn(usize) -> String, count: usize| {
        let views: String =
            (1..=count).map(|number| format!("CREATE VIEW v{number} AS {}; ", view(number - 1))).collect();
        format!("CREATE VIEW v0 AS SELECT 1 AS a; {views}SELECT * FROM v{count}")
    };
    let named: String =
        (1..2_000).map(|number| format!(", w{number} AS (SELECT * FROM w{})", number - 1)).collect();
    let texts = [
        format!("SELECT 0 AS a{}", " UNION ALL SELECT 1 AS a".repeat(1_900)),
        format!("SELECT 0 AS a{}", " UNION ALL SELECT 1 AS a".repeat(500)),
        format!("SELECT 0 AS a{}", " EXCEPT SELECT 1 AS a".repeat(400)),
        times("SELECT ", "", "l", "[1]", 20_000),
        times("SELECT ", "", "l", ".a", 40_000),
        times("SELECT CAST(NULL AS ", "ARRAY<", "INT", ">", 30_000) + ")",
        times("CREATE TABLE x (a ", "ARRAY<", "INT", ">", 5_000)
            + ") WITH ('connector' = 'print', 'format' = 'json')",
        times("CREATE TABLE x (a ", "ROW<b ", "INT", ">", 25_000)
            + ") WITH ('connector' = 'print', 'format' = 'json')",
        times("SELECT ", "NOT ", "TRUE", "", 30_000),
        times("SELECT ", "CASE WHEN TRUE THEN ", "1", " END", 10_000),
        times("SELECT ", "- ", "1", "", 30_000),
        times("SELECT ", "(", "1", ")", 30_000),
        times("SELECT ", "(SELECT ", "1", ")", 20_000),
        times("SELECT ", "ABS(", "1", ")", 20_000),
        times("", "EXPLAIN ", "SELECT 1", "", 20_000),
        times("SELECT 1", "", "", "::INT", 30_000),
        times("SELECT 1", "", "", " IS NULL", 30_000),
        times("SELECT 1", "", "", " + 1", 1_900),
        times("SELECT 1 FROM t", "", "", " CROSS JOIN t", 20_000),
        times("SELECT 1 FROM t", "", "", ", t", 30_000),
        format!("WITH w0 AS (SELECT 1 AS a){named} SELECT * FROM w1999"),
        stacked(&|below| format!("SELECT ARRAY[a] AS a FROM v{below}"), 200),
        stacked(&|below| format!("SELECT a{} AS a FROM v{below}", " + 1".repeat(500)), 8),
        stacked(&|below| format!("SELECT * FROM v{below} LIMIT 5"), 300),
        stacked(&|below| format!("SELECT * FROM v{below} WHERE a IN (SELECT a FROM v{below})"), 20),
    ];
    for text in texts {
        let mut session = Session::new(Arc::new(VirtualClock::default()));
        let begin = Instant::now();
        let shown: String = text.chars().take(60).collect();
        let found = match session.read(&format!("{table}{text}")) {
            Ok(actions) => format!("{} actions", actions.len()),
            Err(error) => {
                assert!(!error.message.contains("for a reason of ours"), "{shown}: {error}");
                error.code.name().to_owned()
            }
        };
        drop(session);
        let taken = begin.elapsed();
        println!("{shown}: {found} {taken:?}");
        assert!(taken < PLAN_MAX, "{shown}: {taken:?}");
    }
}
