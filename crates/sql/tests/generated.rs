//! Queries over generated tables give the same rows for any number of workers, which are as many readers of a table where
//! nothing depends on them.
#![forbid(unsafe_code)]

use std::sync::{Arc, Mutex};

use thalweg::scheduling::policy::by_name;
use thalweg::{Chaining, Clock, Engine, Graph, Layout, Parallel, SystemClock};

use thalweg_sql::connect::{Division, Output, RowSink, World, bind_source};
use thalweg_sql::job::{BATCH_EDGES, Shown, assemble};
use thalweg_sql::plan::Node;
use thalweg_sql::session::{Action, Session};

#[path = "support/kept.rs"]
mod kept;
use kept::Kept;

/// Plans the only job of a text for some workers. The lines that it shows go to `kept`.
fn planned(sql: &str, workers: usize, clock: &Arc<dyn Clock>, kept: &Kept) -> Graph {
    let actions = Session::new(Arc::clone(clock)).read(sql).expect("the query is fine");
    let job = actions.iter().find_map(|action| match action {
        Action::Run(job) => Some(job),
        _ => None,
    });
    let job = job.expect("a job");
    let stdout: Output = Arc::new(Mutex::new(Box::new(kept.clone())));
    let division = Division { workers, ..Division::default() };
    let world = World { clock: Arc::clone(clock), division, ..World::default() };
    let mut shown = |columns: &[_], changes: thalweg_sql::bind::changelog::Changes| {
        let shown = Shown::text(columns, job.settings.zone, !changes.is_none(), Output::clone(&stdout));
        Ok(Box::new(shown) as Box<dyn RowSink>)
    };
    let assembled = assemble(job, clock, &world, &mut shown).expect("the tables are there");
    let parallel = if workers > 1 { Parallel::Epochs { workers } } else { Parallel::Serial };
    assembled.query.plan(Layout { chaining: Chaining::Default, parallel }).expect("a plan")
}

/// Runs a query; returns the lines that it shows, sorted, and its count of late rows.
fn run(sql: &str, workers: usize, policy: &str) -> (Vec<String>, u64) {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let kept = Kept::default();
    let graph = planned(sql, workers, &clock, &kept);
    let engine = Engine::builder().workers(workers as u64).clock(Arc::clone(&clock)).edges(BATCH_EDGES);
    let engine = engine.policy(by_name(policy).expect("a policy")).build().expect("an engine");
    let report = engine.submit(graph).expect("it fits").wait().expect("it ends");
    let bytes = kept.0.lock().expect("nobody panics").clone();
    let mut lines: Vec<String> = String::from_utf8(bytes).expect("text").lines().map(str::to_owned).collect();
    lines.sort();
    (lines, report.total(|counts| counts.late))
}

/// Compares the rows of a query for several numbers of workers and policies.
fn check(sql: &str) {
    let expected = run(sql, 1, "enjima");
    assert!(expected.0.len() > 3, "{sql}: {expected:?}");
    for workers in [2, 3, 8] {
        for policy in ["enjima", "fcfs", "klink"] {
            let found = run(sql, workers, policy);
            assert!(found == expected, "{sql} {workers} {policy}: {} rows", found.0.len());
        }
    }
}

/// Returns the number of readers of the only table of a query, whose rows may come in any order, for three workers.
fn readers(sql: &str) -> usize {
    let actions = Session::new(Arc::new(SystemClock::default())).read(sql).expect("the query is fine");
    let [Action::Run(job)] = &actions[..] else { panic!("one job") };
    let scan = job.parts[0].plan.walk().find_map(|part| match &part.node {
        Node::Scan { table, places } => Some((table, places)),
        _ => None,
    });
    let (table, places) = scan.expect("a table");
    let division = Division { readers: 3, ..Division::default() };
    bind_source(table, places, &World { division, ..World::default() }).expect("a table").len()
}

/// A table has several readers only where each watermark is below the times of all rows that follow.
#[test]
fn a_table_whose_rows_may_be_late_has_one_reader() {
    let check = |columns: &str, options: &str, expected: usize| {
        let sql = format!("CREATE TABLE t ({columns}) WITH ({options});\nSELECT * FROM t;");
        assert_eq!(readers(&sql), expected, "{sql}");
    };
    let free = "'rows-per-second' = '9223372036854775807'";
    check(
        "n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND",
        &format!("'connector' = 'datagen', {free}"),
        1,
    );
    let ysb = |watermark: &str, options: &str, expected: usize| {
        let columns =
            format!("ad_id BIGINT, event_time TIMESTAMP(3), WATERMARK FOR event_time AS {watermark}");
        check(&columns, &format!("'connector' = 'ysb'{options}"), expected);
    };
    ysb("event_time - INTERVAL '0.001' SECOND", "", 3);
    ysb("event_time - INTERVAL '0' SECOND", "", 1);
    ysb("event_time", "", 1);
    ysb("event_time + INTERVAL '1' SECOND", "", 1);
    ysb("event_time - INTERVAL '1' SECOND", ", 'rows-per-second' = '1000'", 1);
    ysb("event_time - INTERVAL '1' SECOND", ", 'scan.watermark.idle-timeout' = '1 s'", 1);
    let nexmark = |columns: &str, events: &str, expected: usize| {
        check(columns, &format!("'connector' = 'nexmark', 'thalweg.rate' = 'max'{events}"), expected);
    };
    let auction = |time: &str| {
        format!("id BIGINT, `{time}` TIMESTAMP(3), WATERMARK FOR `{time}` AS `{time}` - INTERVAL '4' SECOND")
    };
    nexmark(&auction("dateTime"), ", 'thalweg.events' = 'auction'", 3);
    // Auctions do not expire in the order in which they come.
    nexmark(&auction("expires"), ", 'thalweg.events' = 'auction'", 1);
    let of_all = |time: &str| {
        format!(
            "event_type INT, auction ROW<id BIGINT, `dateTime` TIMESTAMP(3), expires TIMESTAMP(3)>, bid ROW<`dateTime` TIMESTAMP(3)>, \
             ts AS {time}, WATERMARK FOR ts AS ts - INTERVAL '4' SECOND"
        )
    };
    nexmark(&of_all("CASE event_type WHEN 1 THEN auction.`dateTime` ELSE bid.`dateTime` END"), "", 3);
    nexmark(&of_all("COALESCE(auction.`dateTime`, bid.`dateTime`)"), "", 3);
    nexmark(&of_all("CASE event_type WHEN 1 THEN auction.expires ELSE bid.`dateTime` END"), "", 1);
    nexmark(&of_all("COALESCE(auction.`dateTime`, auction.expires, bid.`dateTime`)"), "", 1);
    nexmark(&of_all("bid.`dateTime` + INTERVAL '1' SECOND"), "", 1);
}

const BIDS: &str = "CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND) WITH ('connector' = 'nexmark', 'thalweg.events' = 'bid', 'thalweg.rate' = 'max', 'events.num' = '300000');\n";

const EVENTS: &str = "CREATE TABLE event (event_type INT, person ROW<id BIGINT, `dateTime` TIMESTAMP(3)>, auction ROW<id BIGINT, seller BIGINT, `dateTime` TIMESTAMP(3)>, bid ROW<auction BIGINT, price BIGINT, `dateTime` TIMESTAMP(3)>, ts AS CASE event_type WHEN 0 THEN person.`dateTime` WHEN 1 THEN auction.`dateTime` ELSE bid.`dateTime` END, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'nexmark', 'thalweg.rate' = 'max', 'events.num' = '200000');\n";

/// A query whose operators take rows in the order of their arrival has one reader of each table, others have one for each worker.
#[test]
fn a_query_that_takes_the_order_of_rows_has_one_reader() {
    let check = |rest: &str, expected: usize| {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let graph = planned(&format!("{BIDS}{rest}"), 3, &clock, &Kept::default());
        let is_reader = |name: &&str| *name == "bid" || name.starts_with("bid-");
        assert_eq!(graph.task_names().filter(is_reader).count(), expected, "{rest}");
    };
    check("SELECT auction, price FROM bid;", 3);
    check("SELECT auction, price FROM bid LIMIT 3;", 1);
    check("SELECT auction, CURRENT_WATERMARK(`dateTime`) FROM bid;", 1);
    check("SET 'table.exec.source.idle-timeout' = '1 s'; SELECT auction, price FROM bid;", 1);
    check("SELECT auction, COUNT(*) FROM bid GROUP BY auction;", 3);
    check("SELECT auction, LAST_VALUE(price) FROM bid GROUP BY auction;", 1);
    check("SELECT auction, COUNT(*) OVER (PARTITION BY auction ORDER BY `dateTime`) FROM bid;", 1);
    let sessions =
        "TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '1' SECOND))";
    check(&format!("SELECT bidder, COUNT(*) FROM {sessions} GROUP BY bidder, window_start, window_end;"), 3);
    check(
        "CREATE TABLE a (n BIGINT) WITH ('connector' = 'blackhole'); CREATE TABLE b (n BIGINT) WITH ('connector' = 'blackhole'); \
         EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT price FROM bid; \
         INSERT INTO b SELECT price FROM (SELECT price, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price) AS r FROM bid) WHERE r = 1; END;",
        1,
    );
}

#[test]
fn windows_over_bids() {
    check(&format!(
        "{BIDS}SELECT window_start, auction, COUNT(*), SUM(price) FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND)) WHERE auction < 3000 GROUP BY window_start, window_end, auction;"
    ));
    check(&format!(
        "{BIDS}SELECT window_start, MAX(price), COUNT(DISTINCT bidder) FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND)) GROUP BY window_start, window_end;"
    ));
}

#[test]
fn sessions_of_bids() {
    check(&format!(
        "{BIDS}SELECT bidder, COUNT(*), MAX(price), window_start, window_end FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '1' SECOND)) GROUP BY bidder, window_start, window_end;"
    ));
    check(&format!(
        "{BIDS}SELECT bidder, MOD(auction, 3), COUNT(*), window_start FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '1' SECOND)) WHERE price > 500 GROUP BY MOD(auction, 3), bidder, window_start, window_end;"
    ));
}

#[test]
fn windows_over_all_events() {
    check(&format!(
        "{EVENTS}SELECT window_start, event_type, COUNT(*), MAX(bid.price) FROM TABLE(TUMBLE(TABLE event, DESCRIPTOR(ts), INTERVAL '1' SECOND)) GROUP BY window_start, window_end, event_type;"
    ));
}

#[test]
fn filters_groups_joins_and_ranks() {
    check(&format!("{BIDS}SELECT auction, price, `dateTime` FROM bid WHERE MOD(auction, 123) = 0;"));
    check(&format!(
        "{BIDS}SELECT MOD(auction, 100), COUNT(*), MIN(`dateTime`) FROM bid GROUP BY MOD(auction, 100);"
    ));
    check(&format!(
        "{BIDS}SELECT a.auction, COUNT(*) FROM bid a JOIN bid b ON a.auction = b.auction AND a.`dateTime` = b.`dateTime` WHERE MOD(a.auction, 50) = 1 GROUP BY a.auction;"
    ));
    // The rows of ranks depend on the order of arrival among equal rows, so one reader gives them.
    check(&format!(
        "{BIDS}SELECT auction, bidder, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY MOD(auction, 10) ORDER BY MOD(price, 3) DESC) AS r FROM bid) WHERE r <= 2;"
    ));
    check(&format!(
        "{BIDS}SELECT auction, LAST_VALUE(price) FROM bid WHERE MOD(auction, 100) = 3 GROUP BY auction;"
    ));
    check(&format!(
        "{BIDS}SELECT auction, price, COUNT(*) OVER (PARTITION BY auction ORDER BY `dateTime` ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM bid WHERE MOD(auction, 100) = 3;"
    ));
}
