//! Tests of INSERT OVERWRITE: the old files are there until the new ones are complete, and then they are gone.

use crate::connect::bed::{Folder, batch, rows_of, table, write};
use crate::connect::job_end::JobEnd;
use crate::connect::{World, bind_sink};
use crate::table::Table;

fn plain(is_replaced: bool) -> Table {
    let of = super::of("", "'path' = 'out', 'format' = 'json'");
    Table { is_replaced, ..of }
}

fn parted(is_replaced: bool) -> Table {
    let of = table(
        "CREATE TABLE t (a INT, k STRING) PARTITIONED BY (k)
         WITH ('connector' = 'filesystem', 'path' = 'out', 'format' = 'json')",
    );
    Table { is_replaced, ..of }
}

fn bounded(folder: &Folder) -> World {
    World { end: JobEnd::new(true), ..folder.world() }
}

fn rows(of: &Table, folder: &Folder) -> Vec<String> {
    let mut rows = rows_of(of, &folder.world(), 10).unwrap();
    rows.sort();
    rows
}

#[test]
fn the_files_of_a_table_are_replaced() {
    let folder = Folder::new();
    folder.put("out/old.json", "{\"a\":1}\n");
    folder.put("out/deep/old.json", "{\"a\":2}\n");
    folder.put("out/_kept", "x");
    folder.put("out/other.json.inprogress", "x");
    let world = bounded(&folder);
    let of = plain(true);
    let mut to = bind_sink(&of, &of.written_columns(), &world).unwrap();
    to.write(&batch(&of, "{\"a\":3}"), None).unwrap();
    assert_eq!(rows(&of, &folder), ["1,NULL", "2,NULL"], "nothing goes before the end");
    to.finish().unwrap();
    assert_eq!(rows(&of, &folder), ["3,NULL"]);
    let names = folder.names();
    assert!(
        names.contains(&"out/_kept".to_owned()) && names.contains(&"out/other.json.inprogress".to_owned())
    );
    // A query without rows leaves an empty table.
    write(&of, &bounded(&folder), "", None).unwrap();
    assert!(rows(&of, &folder).is_empty());
    // INSERT INTO adds.
    write(&plain(false), &bounded(&folder), "{\"a\":4}", None).unwrap();
    write(&plain(false), &bounded(&folder), "{\"a\":5}", None).unwrap();
    assert_eq!(rows(&of, &folder), ["4,NULL", "5,NULL"]);
}

#[test]
fn only_partitions_with_rows_are_replaced() {
    let folder = Folder::new();
    write(&parted(false), &bounded(&folder), "{\"a\":1,\"k\":\"x\"}\n{\"a\":2,\"k\":\"y\"}", None).unwrap();
    write(&parted(true), &bounded(&folder), "{\"a\":3,\"k\":\"x\"}\n{\"a\":4,\"k\":\"z\"}", None).unwrap();
    assert_eq!(rows(&parted(true), &folder), ["2,y", "3,x", "4,z"]);
    write(&parted(true), &bounded(&folder), "", None).unwrap();
    assert_eq!(rows(&parted(true), &folder), ["2,y", "3,x", "4,z"]);
}

/// A job that fails, and one that is stopped, leave the old files, and none of their own.
#[test]
fn a_job_that_is_not_complete_replaces_nothing() {
    for is_stopped in [false, true] {
        let folder = Folder::new();
        folder.put("out/old.json", "{\"a\":1}\n");
        let (of, world) = (plain(true), bounded(&folder));
        let mut to = bind_sink(&of, &of.written_columns(), &world).unwrap();
        to.write(&batch(&of, "{\"a\":3}"), None).unwrap();
        if is_stopped {
            world.end.note_cut();
            to.finish().unwrap();
        }
        drop(to);
        assert_eq!(folder.names(), ["out/old.json"]);
    }
}

/// A link is removed, and what it leads to stays.
#[test]
fn links_are_not_followed() {
    let folder = Folder::new();
    folder.put("elsewhere/old.json", "{\"a\":1}\n");
    folder.put("out/x.json", "{\"a\":2}\n");
    std::os::unix::fs::symlink(folder.0.join("elsewhere"), folder.0.join("out/link")).unwrap();
    let of = plain(true);
    assert_eq!(rows(&of, &folder), ["1,NULL", "2,NULL"]);
    write(&of, &bounded(&folder), "{\"a\":3}", None).unwrap();
    assert_eq!(rows(&of, &folder), ["3,NULL"]);
    assert!(folder.names().contains(&"elsewhere/old.json".to_owned()));
}
