//! The workloads over lines of text from end to end: on generated input, on small files, and on recorded files.

use serde_json::Value;

use crate::recorded::link;
use crate::support::Folder;

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert_eq!((&figures["late"], &figures["bad"]), (&0.into(), &0.into()), "{figures}");
}

/// Returns the rows of a results file, sorted as text.
fn rows(folder: &Folder, name: &str) -> Vec<String> {
    let mut rows: Vec<String> = folder.text(name).unwrap().lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

const RUNS: [&str; 6] = [
    "",
    "--isolate --workers 2",
    "--chain all",
    "--queries 2 --workers 2 --block-records 7",
    "--window 7ms --slide 3ms",
    "--out-of-order 5ms --rate 20k --window 20ms",
];

#[test]
fn generated_lines_give_the_reference_s_results() {
    let folder = Folder::new("lines_generated");
    for workload in ["grep", "wordcount", "distinct", "tweets"] {
        for run in RUNS {
            let run = if matches!(workload, "distinct" | "tweets") {
                run.replace(" --slide 3ms", "")
            } else {
                run.to_owned()
            };
            assert_right(&folder.json(&format!("bench {workload} --seconds 0.03 --warmup 0 {run}")));
        }
        let figures =
            folder.json(&format!("bench {workload} --seconds 0.05 --warmup 0.01 --api loop-blocks"));
        assert_right(&figures);
        assert_eq!(figures["api"], "loop-blocks");
    }
}

#[test]
fn lines_of_a_file_are_counted() {
    let folder = Folder::new("lines_file");
    folder.write(
        "day.txt",
        "A perfect day, a wonderful day.\nimperfect\n\nPerfect? perfect, perfect; the caf\u{e9}'s\n",
    );
    let figures = folder.json("bench grep --input day.txt --results out");
    assert_right(&figures);
    assert_eq!((&figures["events_in"], &figures["filtered"]), (&4.into(), &2.into()), "{figures}");
    // The rows belong to every window that contains second 0.
    let windows: Vec<String> = (-29..=0).map(|second| format!("{},2,4", second * 1_000)).collect();
    let mut sorted = windows.clone();
    sorted.sort();
    assert_eq!(rows(&folder, "out/grep.csv"), sorted);

    assert_right(&folder.json("bench wordcount --input day.txt --results out --window 1s"));
    let words =
        "0,A,1 0,Perfect,1 0,a,1 0,caf\u{e9}'s,1 0,day,2 0,imperfect,1 0,perfect,3 0,the,1 0,wonderful,1";
    assert_eq!(rows(&folder, "out/wordcount.csv").join(" "), words);
}

/// A line that is not valid text is a bad line, and is reported with its line number.
#[test]
fn bad_lines_are_counted() {
    let folder = Folder::new("lines_bad");
    folder.write("day.txt", b"one\ntwo \xff\nthree\n");
    let figures = folder.json("bench wordcount --input day.txt --results out --window 1ms");
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert_eq!((&figures["events_in"], &figures["bad"]), (&2.into(), &1.into()), "{figures}");
    assert_eq!(rows(&folder, "out/wordcount.csv"), ["0,one,1", "0,three,1"]);
    let bad = folder.text("out/wordcount.bad.csv").unwrap();
    assert!(bad.starts_with("2,not UTF-8 after 4 bytes,"), "{bad}");
    let ran = folder.run("bench grep --input day.txt --on-bad fail");
    assert!(ran.code == 1 && ran.stderr.contains("BAD_LINE"), "{ran:?}");
}

/// The reference of a recorded file is paid from the memory budget. If it does not fit, the run is checked for lost
/// records only, and a note says so.
#[test]
fn a_reference_beyond_the_budget_is_left_out() {
    let folder = Folder::new("lines_budget");
    folder.write("day.txt", "a line of some words that the reference holds\n".repeat(40_000));
    let run = "bench grep --input day.txt --window 1s --slide 1s --output json --memory-budget";
    let small = folder.run(&format!("{run} 8MiB"));
    assert!(small.code == 0 && small.stdout.contains("\"check\":\"conservation\""), "{small:?}");
    let told = "note: the reference of day.txt needs more memory than the budget of 8 MiB has left, so this run is \
                checked for lost records only; raise --memory-budget\n";
    assert!(small.stderr.contains(told), "{small:?}");
    let large = folder.run(&format!("{run} 64MiB"));
    assert!(large.code == 0 && large.stdout.contains("\"check\":\"oracle-equal\""), "{large:?}");
    assert!(!large.stderr.contains("note: the reference"), "{large:?}");
}

#[test]
fn recorded_books_give_the_reference_s_results() {
    let folder = Folder::new("lines_recorded");
    if !link(&folder, "text/war_and_peace_2600.txt.gz", "long.txt.gz")
        || !link(&folder, "text/pride_and_prejudice_1342.txt.gz", "short.txt.gz")
        || !link(&folder, "text/rt_polarity_pos.txt.gz", "reviews.txt.gz")
    {
        return;
    }
    // The empty text behind the last line end of a book is not a line.
    let (long, short) = (("long", 65_662), ("short", 13_036));
    for ((book, lines), options, check) in [
        (long, "", "oracle-equal"),
        (short, "--workers 2 --isolate", "oracle-equal"),
        (short, "--window 30ms --slide 1ms --block-records 5", "oracle-equal"),
        // The reference does not fit into this budget.
        (long, "--memory-budget 8MiB", "conservation"),
    ] {
        let run = format!("bench wordcount --input {book}.txt.gz {options} --results out");
        let figures = folder.json(&run);
        assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &check.into()), "{figures}");
        assert_eq!(figures["events_in"], lines, "{figures}");
    }
    let figures = folder.json("bench grep --input reviews.txt.gz --results out --window 1s --slide 1s");
    assert_right(&figures);
    assert_eq!(figures["events_in"], 5_331, "{figures}");
    // This number was counted once with another program, `grep -owE`.
    assert_eq!(rows(&folder, "out/grep.csv"), ["0,94,94"]);
}

#[test]
fn requests_of_a_log_are_counted() {
    let folder = Folder::new("lines_log");
    let request = |time: &str, url: &str| {
        format!("10.0.0.1 - - [17/May/2015:{time} +0000] \"GET {url} HTTP/1.1\" 200 1\n")
    };
    let log = [
        request("10:00:00", "/a"),
        request("10:00:00", "/b"),
        request("10:00:01", "/a"),
        "no request\n".to_owned(),
        request("10:00:00", "/a"),
        request("10:00:01", "/a"),
    ];
    folder.write("access.log", log.concat());
    let figures = folder.json("bench distinct --input access.log --results out --out-of-order 1s");
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
    assert_eq!((&figures["events_in"], &figures["bad"]), (&5.into(), &1.into()), "{figures}");
    // The time 10:00 on 17 May 2015 is 1,431,856,800 s after 1970.
    assert_eq!(rows(&folder, "out/distinct.csv"), ["1431856800000,2", "1431856801000,1"]);
    let bad = folder.text("out/distinct.bad.csv").unwrap();
    assert!(
        bad.contains("4,\"field line: no time such as") || bad.contains("4,field line: no time such as"),
        "{bad}"
    );
    // Without a bound for disorder one record is late, and the reference does not model lateness.
    let figures = folder.json("bench distinct --input access.log --on-bad skip");
    assert_eq!((&figures["late"], &figures["check"]), (&1.into(), &"conservation".into()), "{figures}");
}

#[test]
fn a_recorded_log_gives_the_reference_s_results() {
    let folder = Folder::new("lines_weblog");
    if !link(&folder, "weblog/apache_combined_part1.log.gz", "access.log.gz") {
        return;
    }
    for options in ["", "--workers 2 --isolate --block-records 3", "--window 1m"] {
        let run = format!("bench distinct --input access.log.gz --out-of-order 1m --results out {options}");
        let figures = folder.json(&run);
        assert_right(&figures);
        assert_eq!(figures["events_in"], 6_000, "{figures}");
    }
    let figures =
        folder.json("bench distinct --input access.log.gz --out-of-order 1m --results out --window 10000h");
    assert_right(&figures);
    // The expected number of URLs was counted once with another program.
    assert_eq!(
        rows(&folder, "out/distinct.csv")
            .iter()
            .map(|row| row.split_once(',').unwrap().1)
            .collect::<Vec<_>>(),
        ["1113"]
    );
}

#[test]
fn changes_of_mood_are_told_with_their_words() {
    let folder = Folder::new("lines_tweets");
    // Lines are 1 µs apart, so a window of 1 ms has 1,000 of them.
    let tweets = |tweet: &str, count: usize| format!("{tweet}\n").repeat(count);
    folder.write(
        "tweets.txt",
        tweets("A good day", 1_000) + &tweets("a BAD day, bad", 600) + &tweets("so so", 500),
    );
    folder.write("scores.txt", "good\t1\nbad\t-1\n");
    let run = "bench tweets --input tweets.txt --lexicon scores.txt --window 1ms --results out";
    let figures = folder.json(run);
    assert_right(&figures);
    let words = ["so:800 day:600 bad:600 a:600 BAD:600", "so:200"];
    let expected = [format!("1,1000,-1200,{}", words[0]), format!("2,100,0,{}", words[1])];
    assert_eq!(rows(&folder, "out/tweets.csv"), expected);

    let ran = folder.run("bench tweets --lexicon missing.txt");
    assert!(ran.code == 1 && ran.stderr.contains("--lexicon: missing.txt cannot be read"), "{ran:?}");
    folder.write("wrong.txt", "good 1\n");
    let ran = folder.run("bench tweets --lexicon wrong.txt");
    assert!(
        ran.code == 1 && ran.stderr.contains("LEXICON_LINE: --lexicon: wrong.txt: line 1 is not"),
        "{ran:?}"
    );
    folder.write("tweets.csv", "good\t1\n");
    let ran = folder.run("bench tweets --lexicon tweets.csv --results . --seconds 0.1");
    assert!(ran.code == 2 && ran.stderr.contains("is the file of --lexicon"), "{ran:?}");
}

#[test]
fn recorded_reviews_give_the_reference_s_results() {
    let folder = Folder::new("lines_reviews");
    if !link(&folder, "text/rt_polarity_pos.txt.gz", "reviews.txt.gz")
        || !link(&folder, "sentiment/AFINN-111.txt", "afinn.txt")
    {
        return;
    }
    for options in ["", "--workers 2 --isolate --block-records 3", "--window 5ms"] {
        let run = "bench tweets --input reviews.txt.gz --lexicon afinn.txt --window 1ms --results out";
        let run =
            if options.starts_with("--window") { run.replace("--window 1ms", "") } else { run.to_owned() };
        let figures = folder.json(&format!("{run} {options}"));
        assert_right(&figures);
        assert_eq!(figures["events_in"], 5_331, "{figures}");
    }
}
