//! Tables, windows, names and targets of queries, and files that are refused. Jobs of a running Flink are left to the room
//! `steer`.

use thalweg_model::EventTime;

use super::*;

const TABLES: &str = "
    CREATE TABLE bids (item BIGINT, price BIGINT, at_local TIMESTAMP(3), at_utc TIMESTAMP_LTZ(3),
        WATERMARK FOR at_local AS at_local - INTERVAL '1' SECOND)
        WITH ('connector' = 'kafka', 'topic' = 'bids', 'properties.bootstrap.servers' = 'x:9092', 'format' = 'json');
    CREATE TABLE clicks (item BIGINT, moment TIMESTAMP_LTZ(3), WATERMARK FOR moment AS moment)
        WITH ('connector' = 'datagen');
    CREATE TABLE a (item BIGINT, n BIGINT) WITH ('connector' = 'print');
    CREATE TABLE b (item BIGINT, n BIGINT) WITH ('connector' = 'print');";

/// Returns the queries of a text behind the tables.
#[track_caller]
fn declared(text: &str) -> Vec<Declared> {
    let script = Script::of_file("q.sql".to_owned(), &format!("{TABLES}\n{text}"));
    script.jobs().unwrap().iter().filter_map(of_job).collect()
}

/// Checks the first end of a window after 100 s in the one query of a text, in seconds; `None` stands for any instant, and
/// `i64::MAX` for none.
#[track_caller]
fn check(text: &str, expected: Option<i64>) {
    let [query] = &declared(text)[..] else { panic!("{text}") };
    let next = query.horizon.as_ref().map(|horizon| horizon.next_after(EventTime::from_secs(100)));
    let expected = expected.map(|s| if s == i64::MAX { EventTime::MAX } else { EventTime::from_secs(s) });
    assert_eq!(next, expected, "{text}");
}

fn windows(function: &str) -> String {
    format!(
        "INSERT INTO a SELECT item, COUNT(*) FROM TABLE({function}) GROUP BY item, window_start, window_end;"
    )
}

#[test]
fn windows_tell_when_results_come() {
    check(&windows("TUMBLE(TABLE bids, DESCRIPTOR(at_local), INTERVAL '30' SECOND)"), Some(120));
    let tumble = "TUMBLE(TABLE bids, DESCRIPTOR(at_local), INTERVAL '30' SECOND, INTERVAL '7' SECOND)";
    check(&windows(tumble), Some(127));
    let hop = "HOP(TABLE bids, DESCRIPTOR(at_local), INTERVAL '15' SECOND, INTERVAL '60' SECOND)";
    check(&windows(hop), Some(105));
    let steps = "CUMULATE(TABLE bids, DESCRIPTOR(at_local), INTERVAL '20' SECOND, INTERVAL '60' SECOND)";
    check(&windows(steps), Some(120));
    let session = "SESSION(TABLE bids PARTITION BY item, DESCRIPTOR(at_local), INTERVAL '5' SECOND)";
    check(&windows(session), None);
    check("INSERT INTO a SELECT item, price FROM bids;", Some(i64::MAX));
}

/// Windows that divide a quarter of an hour end at the same instants in all zones, and others do not.
#[test]
fn windows_of_time_zones_are_known_where_zones_agree() {
    let of = |minutes: u32| {
        windows(&format!("TUMBLE(TABLE clicks, DESCRIPTOR(moment), INTERVAL '{minutes}' MINUTE)"))
    };
    let zone = "SET 'table.local-time-zone' = 'Asia/Kathmandu';";
    check(&format!("{zone} {}", of(5)), Some(300));
    check(&format!("{zone} {}", of(60)), None);
    check(&of(60), Some(3_600));
    let local = windows("TUMBLE(TABLE bids, DESCRIPTOR(at_local), INTERVAL '1' HOUR)");
    check(&format!("{zone} {local}"), Some(3_600));
}

#[test]
fn rows_that_wait_for_a_watermark_may_come_at_any_instant() {
    let over = "INSERT INTO a SELECT item, COUNT(*) OVER (PARTITION BY item ORDER BY at_local) FROM bids;";
    check(over, None);
    let interval = "INSERT INTO a SELECT l.item, r.price FROM bids l JOIN bids r ON l.item = r.item
        AND l.at_local BETWEEN r.at_local AND r.at_local + INTERVAL '1' MINUTE;";
    check(interval, None);
}

#[test]
fn tables_names_and_targets_are_told() {
    let tumble = windows("TUMBLE(TABLE bids, DESCRIPTOR(at_local), INTERVAL '30' SECOND)");
    let text = format!(
        "SET 'thalweg.latency-target' = '50 ms'; {tumble} SET 'pipeline.name' = 'both';
        RESET 'thalweg.latency-target';
        EXECUTE STATEMENT SET BEGIN
            INSERT INTO a SELECT item, price FROM bids;
            INSERT INTO b SELECT item, CAST(NULL AS BIGINT) FROM clicks;
        END; SELECT item FROM bids;"
    );
    let found = declared(&text);
    let shown: Vec<_> = found
        .iter()
        .map(|query| (&*query.name, query.reads.len(), query.writes.len(), query.latency_target))
        .collect();
    let target = Some(Span::from_millis(50));
    let expected = [("insert-into_default_catalog.default_database.a", 1, 1, target), ("both", 2, 2, None)];
    assert_eq!(shown, expected);
}

#[test]
fn files_without_a_query_are_refused() {
    let folder = std::env::temp_dir().join(format!("thalweg-declared-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("q.sql");
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        read(&file).unwrap_err().to_string()
    };
    assert!(refused(b"SELECT 1;").contains("no statement in it writes a table"));
    assert!(refused(b"SELEKT 1;").contains("SELEKT"));
    assert!(refused(b"\xff").contains("no UTF-8"));
    fs::remove_file(&file).unwrap();
    assert!(read(&file).unwrap_err().to_string().contains("--sql"));
    fs::remove_dir_all(&folder).unwrap();
}
