//! `thalweg demo` from end to end: on a terminal, without a terminal, and interrupted.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::{Folder, Ran, assert_golden};

const COLUMNS: usize = 80;

#[track_caller]
fn assert_summary(text: &str) {
    let head = "query          events     results  mean rate      p50      p99      max     late";
    let table: Vec<&str> = text.lines().skip_while(|line| *line != head).skip(1).take(7).collect();
    let names: Vec<&str> = table.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["ysb-1", "ysb-2", "ysb-3", "nyt-1", "nyt-2", "nyt-3", "all"], "{text}");
    assert!(text.contains(" s of CPU in ") && text.contains(" MiB of memory at most."), "{text}");
    assert!(text.contains("Nothing lost: "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
}

#[test]
fn without_a_terminal_it_writes_lines() {
    let ran = Folder::new("demo_lines").run("demo --for 3 --workers 1");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(!ran.stdout.contains(['\x1b', '\r']), "{}", ran.stdout);
    assert_summary(&ran.stdout);
    let shown =
        |query: &str| ran.stdout.lines().filter(|line| line.contains(&format!(" s {query} "))).count();
    // Frames are drawn every 0.5 s and at the end, so a query is shown at least twice, however busy the
    // machine is.
    assert!(shown("ysb-1") > 1 && shown("ysb-1") == shown("nyt-3"), "{}", ran.stdout);
    assert_golden("demo.txt", &masked(&ran.stdout));
}

/// Returns the output without the parts that differ from run to run. After the heading, each figure with its
/// unit, or the dash in its place, becomes `#`. The widths of the columns and repeated lines are dropped.
fn masked(text: &str) -> String {
    let (heading, rest) = text.split_once("\n\n").unwrap();
    let mut lines: Vec<String> = vec![heading.to_owned(), String::new()];
    for line in rest.lines() {
        let mut words: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let is_unit = matches!(word, "us" | "ms" | "s" | "/s" | "k/s" | "M/s" | "ago");
            let is_figure = word == "-" || word.starts_with(|c: char| c.is_ascii_digit());
            if is_figure {
                words.push("#");
            } else if !is_unit || words.last() != Some(&"#") {
                words.push(word);
            }
        }
        let line = words.join(" ");
        if line.is_empty() || !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

/// Returns the lines that a terminal shows for `text`. It understands the control sequences that the demo
/// uses: carriage return, line end, cursor up, and clear to the end of the line.
fn shown_by_a_terminal(text: &str) -> Vec<String> {
    let (mut rows, mut row, mut column) = (vec![String::new()], 0, 0);
    let mut pieces = text.split("\x1b[");
    let plain = pieces.next().unwrap();
    for (sequence, plain) in [("", plain)].into_iter().chain(pieces.map(split_sequence)) {
        match sequence {
            "" => {}
            "K" => rows[row].truncate(column),
            up => row -= up.strip_suffix('A').unwrap().parse::<usize>().unwrap(),
        }
        for c in plain.chars() {
            match c {
                '\r' => column = 0,
                '\n' => {
                    row += 1;
                    rows.resize(rows.len().max(row + 1), String::new());
                }
                c => {
                    assert!(column < COLUMNS && c.is_ascii(), "{c:?} behind `{}`", rows[row]);
                    let end = rows[row].len().min(column + 1);
                    rows[row].replace_range(column..end, c.encode_utf8(&mut [0]));
                    column += 1;
                }
            }
        }
    }
    rows
}

/// Splits a text such as `12Abc` after its first letter.
fn split_sequence(piece: &str) -> (&str, &str) {
    piece.split_at(piece.find(|c: char| c.is_ascii_alphabetic()).unwrap() + 1)
}

/// Runs `command` on a terminal of 80 columns and returns what it wrote there.
fn run_on_a_terminal(mut command: Command) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    unlockpt(&master).unwrap();
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    let size = Winsize { ws_row: 24, ws_col: COLUMNS as u16, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size).unwrap();
    let mut child = command.stdout(slave).spawn().unwrap();
    // This drops the test's own copy of the terminal's slave. Otherwise the read below would never end.
    drop(command);
    let mut written = Vec::new();
    // Reading the terminal fails when its last slave is closed, which is the normal end here.
    let _ = File::from(master).read_to_end(&mut written);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    String::from_utf8(written).unwrap()
}

#[test]
fn on_a_terminal_it_draws_in_place() {
    let written = run_on_a_terminal(Folder::new("demo_live").command("demo --for 3 --workers 1"));
    assert!(written.contains("\x1b[9A"), "one frame is drawn over the other: {written}");
    let rows = shown_by_a_terminal(&written);
    let text = rows.join("\n");
    assert_summary(&text);
    let starting = |start: &str| rows.iter().filter(|row| row.starts_with(start)).count();
    // Each of these lines appears once on the screen and once in the summary.
    assert_eq!((starting("query "), starting("ysb-1 "), starting("nyt-3 ")), (2, 2, 2), "{text}");
    assert_eq!(starting("ending: the time is up"), 1, "{text}");
}

#[test]
fn a_terminal_that_must_not_be_drawn_on_gets_lines() {
    for (name, value) in [("TERM", "dumb"), ("NO_COLOR", "1")] {
        let mut command = Folder::new("demo_plain").command("demo --for 0.2 --workers 1");
        command.env(name, value);
        let written = run_on_a_terminal(command);
        assert!(!written.contains('\x1b'), "{name}={value}: {written}");
    }
}

#[test]
fn an_interrupt_drains_and_shows_the_summary() {
    let mut command = Folder::new("demo_interrupt").command("demo --for 600 --workers 1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    // The signal handler is installed before the first line is written, so the test can send the signal after
    // this line.
    let first = lines.next().unwrap();
    assert_eq!(first, "6 queries on one engine with 1 worker, for 600 s.");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_summary(&lines.collect::<Vec<_>>().join("\n"));
    let ran = Ran::of("demo", child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

/// If its output is closed early, as in `thalweg demo | head -1`, the demo ends without panic, message and
/// delay.
#[test]
fn a_closed_pipe_ends_it_in_silence() {
    let mut command = Folder::new("demo_closed_pipe").command("demo --for 600 --workers 1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let ran = Ran::of("demo | head -1", child.wait_with_output().unwrap());
    assert_eq!((ran.code, ran.stderr.as_str()), (141, ""));
}
