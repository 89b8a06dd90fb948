//! Tests of the files that SQL may use, of hidden secrets, and of the notes and errors about files that reach
//! the user.

use std::fs;

use crate::support::{Folder, Ran};

fn run(folder: &Folder, line: &str, sql: &str) -> Ran {
    folder.write("q.sql", sql);
    Ran::of(line, folder.command(line).output().unwrap())
}

fn table(name: &str, path: &str, more: &str) -> String {
    format!(
        "CREATE TABLE {name} (a INT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'{more});\n"
    )
}

/// A root on the command line limits which files are read and written, and no SET or RESET in the file widens
/// it.
#[test]
fn roots_of_the_command_line_hold() {
    let folder = Folder::new("roots");
    for (directory, text) in [("in", "1\n"), ("other", "2\n")] {
        fs::create_dir(folder.path(directory)).unwrap();
        folder.write(&format!("{directory}/x.csv"), text);
    }
    let of = |path: &str, set: &str| format!("{set}{}SELECT a FROM t;", table("t", path, ""));
    let ran = run(&folder, "run q.sql --allow-root in", &of("in", ""));
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "a\n1\n"), "{ran:?}");
    let wide = "SET 'thalweg.file-roots' = '/';\nRESET 'thalweg.file-roots';\nRESET;\n";
    for (path, set) in [("other", ""), ("in/../other/x.csv", ""), ("/proc/self/environ", ""), ("other", wide)]
    {
        for options in ["--allow-root in", "--set thalweg.file-roots=in"] {
            let ran = run(&folder, &format!("run q.sql {options}"), &of(path, set));
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
            assert!(ran.stderr.contains("lies outside of the directories that may be used"), "{ran:?}");
        }
    }
    let ran = run(&folder, "run q.sql --allow-root in --allow-root other", &of("other", ""));
    assert_eq!(ran.code, 0, "{ran:?}");
    // Without a root on the command line, only the rights of the user apply. The SQL file may restrict them.
    assert_eq!(run(&folder, "run q.sql", &of("other", "")).code, 0);
    let ran = run(&folder, "run q.sql", &of("other", "SET 'thalweg.file-roots' = 'in';\n"));
    assert_eq!(ran.code, 1, "{ran:?}");
    for (options, expected) in [
        ("--allow-root missing", "missing cannot be found"),
        ("--allow-root in --set thalweg.file-roots=other", "say the same"),
        ("--allow-root a;b", "no directory that can be named"),
    ] {
        let ran = run(&folder, &format!("run q.sql {options}"), &of("in", ""));
        assert!(ran.code > 0 && ran.stderr.contains(expected), "{ran:?}");
    }
}

/// No command shows the value of a secret option, in any shape of its output.
#[test]
fn secrets_are_not_shown() {
    let folder = Folder::new("secrets");
    fs::create_dir(folder.path("in")).unwrap();
    folder.write("in/x.csv", "1\n");
    const VALUE: &str = "hunter2";
    let texts = [
        table("t", "in", ", 'properties.sasl.password' = 'hunter2'") + "SELECT a FROM t;",
        "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'password' = 'hunter2');\nSELECT a FROM t;"
            .to_owned(),
        "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'password' 'hunter2');".to_owned(),
        "CREATE TABLE t (a INT) WITH ('token' = 'hunter2' 'connector' = 'datagen');".to_owned(),
        "SET 'some.token' = 'hunter2'; SELECT nothing;".to_owned(),
        "CREATE TABLE t (a INT) WITH ('connector' = 'datagen', 'secret' =\n'hunter2' x);".to_owned(),
    ];
    for sql in &texts {
        for line in
            ["run q.sql", "run q.sql --output json", "check q.sql", "explain q.sql", "explain --json q.sql"]
        {
            let ran = run(&folder, line, sql);
            assert!(ran.code != 0, "{sql}: {ran:?}");
            assert!(!ran.stdout.contains(VALUE) && !ran.stderr.contains(VALUE), "{sql}: {ran:?}");
        }
    }
}

/// A damaged Parquet file, on which the library may panic, prints no panic message and no backtrace.
#[test]
fn a_damaged_file_prints_no_panic() {
    let folder = Folder::new("damaged");
    let sql = "CREATE TABLE t (a INT, b STRING) WITH ('connector' = 'filesystem', 'path' = 'p', 'format' = 'parquet');\n";
    let ran = run(&folder, "run q.sql", &format!("{sql}INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z');"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let part = fs::read_dir(folder.path("p")).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&part).unwrap();
    for place in (4..whole.len()).step_by(9) {
        let mut bytes = whole.clone();
        bytes[place] ^= 0x55;
        fs::write(&part, bytes).unwrap();
        let ran = run(&folder, "run q.sql", &format!("{sql}SELECT a, b FROM t;"));
        assert!(!ran.stderr.contains("panicked at") && !ran.stderr.contains("backtrace"), "{place}: {ran:?}");
    }
}
