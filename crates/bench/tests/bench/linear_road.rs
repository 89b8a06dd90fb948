//! Tests of `thalweg bench lrb` and `lrb-full`, on small files whose results can be computed by hand and on
//! generated traffic.

use serde_json::Value;

use crate::support::Folder;

/// Returns a report of a car in the middle of a segment of expressway 0, eastbound.
fn report(time_s: u32, vehicle: u32, speed: u32, lane: u32, segment: u32) -> String {
    format!("0,{time_s},{vehicle},{speed},0,{lane},0,{segment},{},-1,-1,-1,-1,-1,-1", segment * 5_280 + 2_640)
}

/// Returns a request of type 2 or 4, or a request of type 3 about expressway 0.
fn request(kind: u32, time_s: u32, vehicle: u32, query: u32, day: i32) -> String {
    format!("{kind},{time_s},{vehicle},-1,0,-1,-1,-1,-1,{query},-1,-1,-1,-1,{day}")
}

/// Returns reports of 51 slow cars in segment 10 in minute 0, and of two cars that stand in segment 12 from
/// second 0 on.
fn crowd() -> Vec<String> {
    let slow = (0..51).map(|vehicle| report(vehicle, vehicle, 20, 1, 10));
    let standing =
        [0, 30, 60, 90].into_iter().flat_map(|time_s| [901, 902].map(|car| report(time_s, car, 0, 2, 12)));
    let mut lines: Vec<String> = slow.chain(standing).collect();
    lines.sort_by_key(|line| line.split(',').nth(1).unwrap().parse::<u32>().unwrap());
    lines
}

/// Returns the reports of the crowd, and of car 100, which comes after the crowd, is charged, and sends
/// requests.
fn journey() -> Vec<String> {
    let mut lines = crowd();
    lines.extend([
        report(95, 100, 35, 1, 10),
        request(2, 95, 100, 70, -1),
        report(125, 100, 35, 1, 11),
        request(3, 126, 100, 71, 5),
        request(3, 126, 100, 72, 6),
        request(4, 127, 100, 73, -1),
        report(155, 100, 35, 4, 12),
        request(2, 240, 100, 74, -1),
    ]);
    lines
}

fn rows(folder: &Folder, name: &str) -> Vec<String> {
    let text = folder.text(name).unwrap_or_else(|| panic!("{name} is missing"));
    let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
    rows.sort();
    rows
}

#[track_caller]
fn assert_right(figures: &Value) {
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"oracle-equal".into()), "{figures}");
}

#[test]
fn the_short_form_of_recorded_traffic() {
    let folder = Folder::new("lrb_recorded");
    folder.write("cars.csv", crowd().join("\n"));
    for options in ["", "--workers 2 --chain none", "--chain all --block-records 1"] {
        let figures = folder.json(&format!("bench lrb --input cars.csv --results out {options}"));
        assert_right(&figures);
        assert_eq!(
            (&figures["workload"], &figures["events_in"], &figures["unanswered"]),
            (&"lrb".into(), &59.into(), &Value::Null)
        );
        // A toll is due from 51 cars on: 2 x 1 x 1. The window from 0 to 120 s has the accident, in minute
        // 1.
        let expected = ["0,0,0,10,51,20.0,2,0", "0,0,0,12,4,0.0,0,0", "60,0,0,12,4,0.0,0,1"];
        assert_eq!(rows(&folder, "out/lrb.csv"), expected, "{options}");
    }
}

/// In chosen windows rows of recorded and of generated traffic equal those of the reference. The last windows are a
/// third of those of tolls, as in Klink, and rows have their starts.
#[test]
fn windows_of_the_short_form_are_chosen() {
    let folder = Folder::new("lrb_windows");
    folder.write("cars.csv", crowd().join("\n"));
    for options in ["", "--workers 2 --chain none"] {
        let run = "bench lrb --lrb-windows 120s/30s,60s,20s";
        let figures = folder.json(&format!("{run} --input cars.csv --results out {options}"));
        assert_right(&figures);
        // A minute's last instant lies in its last third, and so does the end of the window with the accident.
        let expected = ["100,0,0,12,4,0.0,0,1", "40,0,0,10,51,20.0,2,0", "40,0,0,12,4,0.0,0,0"];
        assert_eq!(rows(&folder, "out/lrb.csv"), expected, "{options}");
        let figures = folder.json(&format!("bench lrb --lrb-windows 5s/3s,6s,2s --seconds 0.2 {options}"));
        assert_right(&figures);
        assert!(figures["results_out"].as_u64() > Some(0), "{figures}");
    }
}

#[test]
fn the_full_rules_of_recorded_traffic() {
    let folder = Folder::new("lrb_full_recorded");
    folder.write("cars.csv", journey().join("\n"));
    // A duplicate line in the file of tolls changes nothing.
    folder.write("tolls.csv", "100,5,0,77\n100,6,1,78\n101,6,0,79\n100,5,0,77");
    for options in ["", "--workers 2 --chain none", "--chain all --block-records 1"] {
        let run = format!("bench lrb-full --input cars.csv --results out {options}");
        let figures = folder.json(&format!("{run} --tolls tolls.csv"));
        assert_right(&figures);
        assert_eq!((&figures["events_in"], &figures["unanswered"]), (&67.into(), &2.into()), "{figures}");
        let tolls = rows(&folder, "out/type0_toll.csv");
        assert_eq!(tolls.len(), 55, "one for each car that enters a segment, but not by the exit lane");
        // Before car 100 came, 51 cars drove in segment 10 at 20 miles an hour, and segment 11 was empty.
        let of_car: Vec<&String> = tolls.iter().filter(|row| row.starts_with("0,100,")).collect();
        assert_eq!(of_car, ["0,100,125,0,0", "0,100,95,20,2"]);
        // The accident of minute 1 is reported in minute 2, to cars from the segment before the accident on.
        assert_eq!(rows(&folder, "out/type1_accident.csv"), ["1,125,0,12,0,100"]);
        let balances = rows(&folder, "out/type2_balance.csv");
        assert_eq!(balances[0], "2,240,240,74,2", "charged when it left segment 10");
        assert_eq!((balances[1].as_str(), balances.len()), ("2,95,95,70,0", 2));
        assert_eq!(rows(&folder, "out/type3_daily.csv"), ["3,126,71,77"]);

        let figures = folder.json(&run);
        assert_right(&figures);
        assert_eq!(figures["unanswered"], 3, "without --tolls");
        assert_eq!(
            folder.text("out/type3_daily.csv").as_deref(),
            Some(""),
            "a kind without answers is an empty file"
        );
    }
    let ran = folder.run("bench lrb-full --input cars.csv");
    assert!(ran.stdout.contains("\n  unanswered  3 requests\n"), "{ran:?}");
}

/// The order of reports changes no result, as long as it is within the bound of the watermarks. The requests
/// of a second are answered after all reports of that second.
#[test]
fn the_order_of_lines_within_the_bound_does_not_matter() {
    let folder = Folder::new("lrb_full_unsorted");
    let mut lines = journey();
    let sorted = lines.clone();
    for pair in lines.chunks_exact_mut(2) {
        pair.swap(0, 1);
    }
    folder.write("sorted.csv", sorted.join("\n"));
    folder.write("unsorted.csv", lines.join("\n"));
    assert_right(&folder.json("bench lrb-full --input sorted.csv --results sorted"));
    let figures = folder.json("bench lrb-full --input unsorted.csv --out-of-order 120s --results unsorted");
    assert_right(&figures);
    assert_eq!(figures["late"], 0);
    for name in ["type0_toll.csv", "type1_accident.csv", "type2_balance.csv"] {
        assert_eq!(
            rows(&folder, &format!("sorted/{name}")),
            rows(&folder, &format!("unsorted/{name}")),
            "{name}"
        );
    }
}

/// A file may contain a car that passes through several segments in one second, although no real car reports
/// so often. The car is told the toll of each segment, and is charged for segment 10 alone.
#[test]
fn reports_of_one_second_are_taken_as_they_come() {
    let folder = Folder::new("lrb_full_one_second");
    let mut lines = crowd();
    lines.extend([9, 10, 11].map(|segment| report(95, 100, 35, 1, segment)));
    lines.extend([10, 9].map(|segment| report(100, 200, 35, 1, segment)));
    lines.extend([request(2, 95, 100, 70, -1), request(2, 125, 200, 71, -1)]);
    folder.write("cars.csv", lines.join("\n"));
    for options in ["", "--workers 2 --chain none --block-records 1"] {
        let figures = folder.json(&format!("bench lrb-full --input cars.csv --results out {options}"));
        assert_right(&figures);
        assert_eq!(rows(&folder, "out/type2_balance.csv"), ["2,125,125,71,2", "2,95,95,70,2"]);
    }
}

/// A run with late records is not compared with the reference, which has no watermarks and so cannot leave
/// these records out.
#[test]
fn without_the_bound_late_records_are_counted() {
    let folder = Folder::new("lrb_full_late");
    let mut lines = journey();
    let last = lines.pop().unwrap();
    lines.insert(0, last);
    folder.write("cars.csv", lines.join("\n"));
    let figures = folder.json("bench lrb-full --input cars.csv");
    assert_eq!((&figures["ok"], &figures["check"]), (&true.into(), &"conservation".into()), "{figures}");
    assert_eq!((&figures["events_in"], &figures["late"]), (&67.into(), &62.into()), "{figures}");
}

#[test]
fn an_empty_file_has_no_results() {
    let folder = Folder::new("lrb_empty");
    folder.write("cars.csv", "");
    folder.write("tolls.csv", "");
    for run in ["bench lrb", "bench lrb-full", "bench lrb-full --tolls tolls.csv"] {
        let figures = folder.json(&format!("{run} --input cars.csv --results out"));
        assert_right(&figures);
        assert_eq!((&figures["events_in"], &figures["results_out"]), (&0.into(), &0.into()));
    }
    let names = ["lrb.csv", "type0_toll.csv", "type1_accident.csv", "type2_balance.csv", "type3_daily.csv"];
    assert!(names.iter().all(|name| folder.text(&format!("out/{name}")).as_deref() == Some("")));
}

/// Rows with values out of range and rows with a wrong number of fields are counted and diverted; the good
/// rows between them are read.
#[test]
fn bad_lines_are_counted_and_diverted() {
    let folder = Folder::new("lrb_bad_lines");
    let good = report(0, 1, 30, 1, 10);
    let bad = [
        good.replace(",10,55440,", ",10,5280,"),
        good.replace(",30,", ",256,"),
        good.replace("0,0,1,", "1,0,1,"),
        good.rsplit_once(',').unwrap().0.to_owned(),
        format!("{good},0"),
        "\"".to_owned(),
        String::new(),
    ];
    let lines: Vec<&str> = bad.iter().flat_map(|line| [line.as_str(), good.as_str()]).collect();
    folder.write("cars.csv", lines.join("\n"));
    let diverted = [
        "1,\"field seg: \"\"10\"\" is not pos / 5280, rounded down\",",
        "3,\"field speed: \"\"256\"\" is not whole miles per hour, from 0 to 255\",",
        "5,\"field type: \"\"1\"\" is not 0, 2, 3 or 4\",",
        "7,short: 14 of 15 fields,",
        "9,long: more than 15 fields,",
        "11,malformed: a quote is left open at the line end,",
        "13,short: 0 of 15 fields,",
    ];
    for workload in ["lrb", "lrb-full"] {
        for options in ["", "--on-bad skip", "--on-bad divert:bad.csv"] {
            let figures = folder.json(&format!("bench {workload} --input cars.csv --results out {options}"));
            assert_right(&figures);
            assert_eq!((&figures["events_in"], &figures["bad"]), (&7.into(), &7.into()), "{figures}");
        }
        for file in [&format!("out/{workload}.bad.csv"), "bad.csv"] {
            let text = folder.text(file).unwrap();
            assert_eq!(text.lines().count(), diverted.len(), "{text}");
            assert!(text.lines().zip(diverted).all(|(line, start)| line.starts_with(start)), "{text}");
        }
        let ran = folder.run(&format!("bench {workload} --input cars.csv --on-bad fail"));
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
        assert!(ran.stderr.starts_with("error: BAD_LINE: "), "{ran:?}");
        assert!(ran.stderr.contains("cars.csv, line 1 (byte 0): field seg: \"10\" is not"), "{ran:?}");
    }
}

#[test]
fn generated_traffic_gives_the_references_results() {
    let folder = Folder::new("lrb_generated");
    for workload in ["lrb", "lrb-full"] {
        let in_disorder = "--seed 7 --out-of-order 6s --queries 2";
        for options in ["--queries 2 --workers 2 --chain none", in_disorder, "--seed 7 --results out"] {
            let figures = folder.json(&format!("bench {workload} --seconds 0.2 --warmup 0 {options}"));
            assert_right(&figures);
            assert!(figures["results_out"].as_u64().unwrap() > 0, "{figures}");
        }
    }
    let rows: usize = ["type0_toll.csv", "type1_accident.csv", "type2_balance.csv", "type3_daily.csv"]
        .map(|name| folder.text(&format!("out/{name}")).unwrap().lines().count())
        .iter()
        .sum();
    assert!(rows > 1_000, "{rows}");
    assert!(folder.text("out/lrb.csv").is_some());
}

/// Several queries under the full rules write result files with names of their own.
#[test]
fn several_queries_write_their_own_files() {
    let folder = Folder::new("lrb_queries");
    let figures =
        folder.json("bench lrb-full --queries 2 --seconds 0.1 --warmup 0 --rate 20000 --results out");
    assert_right(&figures);
    assert_eq!((&figures["queries"], &figures["offered_per_s"]), (&2.into(), &40_000.into()));
    let mut rows = 0;
    for name in ["type0_toll", "type1_accident", "type2_balance", "type3_daily"] {
        rows += (1..=2)
            .map(|query| folder.text(&format!("out/{name}-{query}.csv")).unwrap().lines().count())
            .sum::<usize>();
        assert_eq!(folder.text(&format!("out/{name}.csv")), None);
    }
    assert_eq!(figures["results_out"], rows);
}

#[test]
fn at_a_rate_latency_is_measured() {
    let folder = Folder::new("lrb_rate");
    for workload in ["lrb", "lrb-full"] {
        let figures = folder.json(&format!("bench {workload} --seconds 0.3 --warmup 0.1 --rate 20000"));
        assert_right(&figures);
        assert!(figures["latency_us"]["count"].as_u64().unwrap() > 0, "{figures}");
    }
}

#[test]
fn the_loop_gives_the_same_results() {
    let folder = Folder::new("lrb_loop");
    let figures = folder.json("bench lrb --api loop-blocks --seconds 0.1 --warmup 0.05 --workers 2");
    assert_right(&figures);
    assert_eq!((&figures["workload"], &figures["api"]), (&"lrb".into(), &"loop-blocks".into()));
}
