//! Files of trips and of traffic with randomly damaged lines. Engine and reference must agree on every line;
//! otherwise the check of a benchmark on recorded input would be worthless.

use crate::figures::{HEADER, trip};
use crate::support::{Folder, Random};

/// Number of damaged lines in a file, which is below the limit at which a run fails.
const SPOILT: usize = 100;

impl Random {
    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// A format of input files, and the ways in which its lines are damaged.
struct Kind {
    header: Option<&'static str>,
    good: String,
    /// Indexes of the columns that a query reads.
    columns: &'static [usize],
    /// Texts that replace the values of these columns in damaged lines.
    texts: &'static [&'static str],
}

impl Kind {
    fn spoilt(&self, random: &mut Random) -> Vec<u8> {
        let mut fields: Vec<String> = self.good.split(',').map(str::to_owned).collect();
        match random.below(8) {
            0 => return Vec::new(),
            1 => return self.header.unwrap_or("type,time").into(),
            2 => return b"\r".to_vec(),
            3 => {
                // The field is put in quotes, with a comma, a quote or nothing inside. It may be in any
                // column, whether a query reads it or not.
                let index = random.below(fields.len());
                let inside = random.pick(&["", ",", "\"\"", "\"", "\"x"]);
                fields[index] = format!("\"{}{inside}\"", fields[index]);
            }
            4 => {
                let index = self.columns[random.below(self.columns.len())];
                fields[index] = (*random.pick(self.texts)).to_owned();
            }
            5 => fields[0] = "medallion".to_owned(),
            6 => {
                let longest = (1 << 20) - self.good.len() + 1;
                let index = random.below(fields.len());
                fields[index] = "y".repeat(longest + random.below(3) - 1);
            }
            _ => {}
        }
        let mut line = fields.join(",").into_bytes();
        for _ in 0..random.below(3) {
            let at = random.below(line.len());
            line.splice(
                at..at,
                random
                    .pick::<[u8]>(&[b"\"", b",", b"\r", b"\xff", b"\0", b"\xc3\xa9", b"\n"])
                    .iter()
                    .copied(),
            );
        }
        line
    }

    /// Returns a file of 10,000 lines, of which `SPOILT` are damaged, or a few more if a line break was
    /// inserted.
    fn file(&self, random: &mut Random) -> Vec<u8> {
        let mut file = random.pick::<[u8]>(&[b"", b"\xef\xbb\xbf"]).to_vec();
        let line_end = random.pick::<[u8]>(&[b"\n", b"\r\n"]);
        if let Some(header) = self.header {
            file.extend([header.as_bytes(), line_end].concat());
        }
        for number in 0..10_000 {
            let is_spoilt = number % (10_000 / SPOILT) == 7;
            file.extend(if is_spoilt { self.spoilt(random) } else { self.good.clone().into() });
            file.extend(if number < 9_999 { line_end } else { b"" });
        }
        file.extend(random.pick::<[u8]>(&[b"", b"\n", b"\r\n", b"\n\n", b"\n\r", b"\r"]));
        file
    }

    fn check(&self, folder: &Folder, run: &str, seeds: u64) {
        let (mut bad_lines, mut runs) = (0, 0);
        for seed in 0..seeds {
            folder.write("input.csv", self.file(&mut Random::new(seed)));
            let ran = folder.run(&format!("{run} --input input.csv --on-bad skip --output json"));
            if ran.stderr.contains("TOO_MANY_BAD") {
                continue;
            }
            let figures: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            assert_eq!((ran.code, &figures["check"]), (0, &"oracle-equal".into()), "seed {seed}: {figures}");
            bad_lines += figures["bad"].as_u64().unwrap();
            runs += 1;
        }
        assert!(
            runs > seeds / 2 && bad_lines > 40 * runs,
            "the lines were spoilt, but only {bad_lines} were bad in {runs} runs"
        );
    }
}

#[test]
fn engine_and_reference_agree_on_every_line_of_trips() {
    let kind = Kind {
        header: Some(HEADER),
        good: trip("00:01:00"),
        columns: &[2, 6, 9, 10, 11],
        texts: &[
            "",
            " ",
            "nan",
            "1e999",
            "+3",
            "3.",
            "1E0",
            "-0",
            "2013-02-29 00:00:00",
            "24:00",
            "VTS",
            "CMT",
        ],
    };
    kind.check(&Folder::new("hostile_trips"), "bench nyt --window 60s", 12);
}

/// Engine and reference agree on every line of damaged traffic. All cars are at one position at one time, so
/// that many of the accepted lines show in the results.
#[test]
fn engine_and_reference_agree_on_every_line_of_traffic() {
    let kind = Kind {
        header: None,
        good: "0,60,673,0,0,2,1,74,394255,7,-1,-1,-1,-1,5".to_owned(),
        columns: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14],
        texts: &["", " ", "+1", "-0", "-1", "01", "1", "2", "3", "4", "5", "100", "256", "2147483648", "1.0"],
    };
    kind.check(&Folder::new("hostile_lrb"), "bench lrb --out-of-order 1000h", 6);
    kind.check(&Folder::new("hostile_lrb_full"), "bench lrb-full --out-of-order 1000h", 6);
}
