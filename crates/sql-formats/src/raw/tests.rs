//! Tests of the format `raw`: lines and numbers without encoding.

use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use std::sync::Arc;

use crate::tests::{bind, check, decode, rewrite};
use crate::{Format, RowKind};

/// In the format `raw`, lines are text or bytes, and empty lines are empty values.
#[test]
fn lines() {
    check(
        "raw",
        "a STRING",
        "47.29.201.179 - - \"GET /\" 200\r\n\nä\n\u{feff}x",
        "(47.29.201.179 - - \"GET /\" 200) () (ä) (\u{feff}x)",
    );
    check("raw", "a STRING", b"a\n\xff\nb\n", "(a) (b) !2 at 2: byte 0 of the record is no UTF-8");
    check("raw", "a BYTES NOT NULL", b"a\n\xff\n\n", "(61) (ff) ()");
    assert_eq!(rewrite("raw", "a STRING", "a\n\nä").as_deref(), Ok("a\n\nä\n"));
}

/// The format `raw` reads numbers of every width, in both byte orders, even if their bytes look
/// like line ends.
#[test]
fn numbers() {
    check("raw", "a INT", [0, 0, 10, 13, 255, 255, 255, 255], "(2573) (-1)");
    check("raw raw.endianness=little-endian", "a INT", [13, 10, 0, 0], "(2573)");
    check("raw", "a SMALLINT", [1, 2, 3], "(258) !1 at 2: the input ends after 1 bytes of 2");
    check("raw", "a TINYINT", [128, 127], "(-128) (127)");
    check("raw", "a BOOLEAN", [0, 1, 10], "(false) (true) (true)");
    check("raw", "a BIGINT", i64::MIN.to_be_bytes(), "(-9223372036854775808)");
    check("raw", "a FLOAT", 1.5_f32.to_be_bytes(), "(1.5)");
    check("raw raw.endianness=LITTLE-ENDIAN", "a DOUBLE", (-0.25_f64).to_le_bytes(), "(-0.25)");
    for (table, bytes) in
        [("a INT", &[1, 2, 3, 4][..]), ("a DOUBLE", &[64, 1, 2, 3, 4, 5, 6, 7]), ("a BOOLEAN", &[1, 0])]
    {
        for order in ["big", "little"] {
            let format = bind(&format!("raw raw.endianness={order}-endian"), table).expect("it is bound");
            let mut decoder = format.decoder(&[0]);
            decoder.take(bytes, true, 10, &mut |_| {});
            let mut written = Vec::new();
            format
                .encoder()
                .expect("it writes")
                .write(&decoder.finish().rows, None, &mut written)
                .expect("written");
            assert_eq!(written, bytes, "{table}");
        }
    }
    let format = bind("raw", "a INT").expect("it is bound");
    assert_eq!(decode(&format, &[0], &[0; 12], 5, 2).rows.len(), 3);
}

/// Rows that the format `raw` cannot represent give an error and not a wrong line.
#[test]
fn unwritable_rows() {
    let write = |format: &Format, kinds: Option<&[RowKind]>, value: Option<i32>| {
        let column: ArrayRef = Arc::new(Int32Array::from(vec![value]));
        let rows = RecordBatch::try_new(format.schema(&[0]), vec![column]).expect("a batch");
        let mut to = Vec::new();
        let written = format.encoder().expect("it writes").write(&rows, kinds, &mut to);
        (written.map_err(|error| error.to_string()), to.len())
    };
    let format = bind("raw", "a INT").expect("it is bound");
    let null = "NULL has no raw form: write COALESCE(value, other)".to_owned();
    assert_eq!(write(&format, None, None), (Err(null), 0));
    for name in ["raw", "json", "csv"] {
        let format = bind(name, "a INT").expect("it is bound");
        let change = format!("format '{name}' has no form for -D, a change: write 'debezium-json'");
        assert_eq!(write(&format, Some(&[RowKind::Delete]), Some(1)), (Err(change), 0));
    }
}
