//! Tests of messages and recorded lines: the fields that are read, and the codes of errors.

use super::*;

/// Writes a message as its sensor, place and values, `-` for a missing one, or the code of the error.
fn read(text: &str) -> String {
    let value = |value: Option<f64>| value.map_or("-".to_owned(), |value| value.to_string());
    match message_of(text) {
        Ok(Message { sensor, longitude, latitude, values }) => {
            let values = values.map(value).join(" ");
            format!("{} {longitude} {latitude} | {values}", sensor.as_str())
        }
        Err(error) => error.code().to_owned(),
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(read(text), expected, "{text}");
}

/// Writes a message with the needed entries, more entries, and a base time.
fn with(entries: &str) -> String {
    let needed = r#"{"u":"string","n":"source","sv":"s1"},{"v":"6.5","u":"lon","n":"longitude"},{"v":"-46","n":"latitude"}"#;
    format!(r#"{{"e":[{needed}{entries}],"bt":1422748800000}}"#)
}

#[test]
fn messages_are_read() {
    check(&with(""), "s1 6.5 -46 | - - - - -");
    let all = r#",{"v":"8","n":"temperature"},{"v":"53.7","n":"humidity"},{"v":"0","n":"light"},{"v":411.02,"n":"dust"},{"v":"140","u":"per","n":"airquality_raw"}"#;
    check(&with(all), "s1 6.5 -46 | 8 53.7 0 411.02 140");
    check(
        &with(r#",{"n":"dust","v":""},{"n":"light","v":null},{"n":"humidity","sv":"5"}"#),
        "s1 6.5 -46 | - - - - -",
    );
    check(&with(r#",{"n":"dust","v":1},{"n":"dust","v":"2e3"}"#), "s1 6.5 -46 | - - - 2000 -");
    check(&with(r#",{"u":"m\/s\"2","n":"acc_x","v":"odd"},{}"#), "s1 6.5 -46 | - - - - -");
    check(&format!(" {} ", with("").replace([',', ':'], " , ").replace(" , \"", ": \"")), "SENML_FORM");
    let spaced = with(r#", { "n" : "dust" , "v" : "5" } "#);
    check(&spaced, "s1 6.5 -46 | - - - 5 -");
    check(&with("").replace("1422748800000", "\"1422748800000\""), "s1 6.5 -46 | - - - - -");
}

#[test]
fn wrong_messages() {
    let good = with("");
    for text in [
        "",
        "{}",
        "[]",
        "{\"bt\":1}",
        "{\"e\":1,\"bt\":1}",
        "{\"e\":[1],\"bt\":1}",
        "{\"e\":[{\"n\":{}}],\"bt\":1}",
    ] {
        check(text, "SENML_FORM");
    }
    check(&good[..good.len() - 1], "SENML_FORM");
    check(&format!("{good}x"), "SENML_FORM");
    check(&good.replace("],", "]"), "SENML_FORM");
    check(&good.replace("1422748800000", "1.5"), "SENML_TIME");
    check(&good.replace("1422748800000", "-1"), "SENML_TIME");
    check(&good.replace("1422748800000", "253402300800000"), "SENML_TIME");
    check(&good.replace(",\"bt\":1422748800000", ""), "SENML_TIME");
    check(&good.replace("\"sv\":\"s1\"", "\"sv\":\"\""), "SENML_SENSOR");
    check(&good.replace("s1", &"s".repeat(32)), "SENML_SENSOR");
    check(&good.replace("s1", "s\\u0031"), "SENML_SENSOR");
    check(&good.replace("source", "sender"), "SENML_SENSOR");
    check(&good.replace("longitude", "length"), "SENML_NUMBER");
    for value in ["inf", "NaN", "1,5", "x", "-"] {
        check(&with(&format!(r#",{{"n":"dust","v":"{value}"}}"#)), "SENML_NUMBER");
    }
}

#[test]
fn a_recorded_line_has_its_time_in_front() {
    let line = format!("1500,{}", with(""));
    let record = line_of(&line).unwrap();
    assert_eq!((record.event_time.as_micros(), &line[record.value]), (1_500_000, with("").as_str()));
    for (line, code) in [
        ("", "SENML_FORM"),
        ("15", "SENML_FORM"),
        (",{}", "SENML_TIME"),
        ("1s,{}", "SENML_TIME"),
        ("1,{}", "SENML_FORM"),
    ] {
        assert_eq!(line_of(line).unwrap_err().code(), code, "{line:?}");
    }
    let told = line_of(&line.replace("6.5", "east")).unwrap_err().to_string();
    assert_eq!(told, "longitude is \"east\", but must be a finite number");
}
