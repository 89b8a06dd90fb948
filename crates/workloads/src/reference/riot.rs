//! Shared by the references of [`etl`](super::etl) and [`stats`](super::stats): the content of a message, read by a
//! small parser of JSON which builds the whole value.
//!
//! The rules: a message is an object with an array `e` of objects, and a time `bt`. Values are texts, numbers or words;
//! objects stand nowhere else. A text ends at the next quote that no backslash escapes. The sensor (`sv` of `source`)
//! has 1 to 31 bytes and no control character, quote or backslash. Longitude and latitude are finite numbers; the value
//! of an observation is a finite number, or it is empty, `null` or missing. Of equal names, the last counts. Times are
//! whole milliseconds up to the year 9999. A recorded line is a time, a comma and a message.

/// Names of the observations of a message, in the order of its fields.
pub const FIELDS: [&str; 5] = ["temperature", "humidity", "light", "dust", "airquality_raw"];

/// The content of a message.
#[derive(Clone, PartialEq, Debug)]
pub struct Content {
    /// Identifier of the sensor.
    pub sensor: String,
    /// Longitude of the sensor.
    pub longitude: f64,
    /// Latitude of the sensor.
    pub latitude: f64,
    /// The values of the observations in the order of [`FIELDS`]; `None` for a missing one.
    pub values: [Option<f64>; 5],
}

/// A message of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageInput {
    /// Event time of the message, in microseconds since the Unix epoch.
    pub event_time_us: i64,
    /// Index of the text of the message among the different texts, from 0.
    pub text: usize,
}

/// Returns the event time in microseconds and the message of a recorded line; `None` if one of them is not valid.
pub fn recorded_message(line: &str) -> Option<(i64, &str)> {
    let comma = line.find(',')?;
    let time_ms = whole_ms(&line[..comma])?;
    content_of(&line[comma + 1..])?;
    Some((time_ms * 1_000, &line[comma + 1..]))
}

/// Returns the content of a message; `None` if it is bad.
pub fn content_of(text: &str) -> Option<Content> {
    let characters: Vec<char> = text.chars().collect();
    let mut at = 0;
    let json = json(&characters, &mut at)?;
    if at < characters.len() {
        return None;
    }
    let Json::Object(members) = json else { return None };
    let (mut entries, mut time) = (None, String::new());
    for (name, value) in members {
        match (name.as_str(), value) {
            ("e", Json::Array(array)) => entries = Some(array),
            ("bt", Json::Scalar(text)) => time = text,
            ("e" | "bt", _) | (_, Json::Array(_) | Json::Object(_)) => return None,
            (_, Json::Scalar(_)) => {}
        }
    }
    whole_ms(&time)?;
    let (mut sensor, mut places, mut values) =
        (String::new(), [String::new(), String::new()], [const { String::new() }; 5]);
    for entry in entries? {
        let Json::Object(members) = entry else { return None };
        let mut texts = [const { String::new() }; 3];
        for (name, value) in members {
            let Json::Scalar(text) = value else { return None };
            if let Some(place) = ["n", "v", "sv"].iter().position(|known| *known == name) {
                texts[place] = text;
            }
        }
        let [name, number, words] = texts;
        if let Some(field) = FIELDS.iter().position(|field| *field == name) {
            values[field] = number;
        } else {
            match name.as_str() {
                "source" => sensor = words,
                "longitude" => places[0] = number,
                "latitude" => places[1] = number,
                _ => {}
            }
        }
    }
    let is_escaped = |character: char| character < ' ' || character == '"' || character == '\\';
    if sensor.is_empty() || 31 < sensor.len() || sensor.contains(is_escaped) {
        return None;
    }
    let mut numbers = [None; 5];
    for (number, text) in numbers.iter_mut().zip(&values) {
        *number = if text.is_empty() { None } else { Some(finite(text)?) };
    }
    Some(Content { sensor, longitude: finite(&places[0])?, latitude: finite(&places[1])?, values: numbers })
}

fn finite(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    if number.is_finite() { Some(number) } else { None }
}

fn whole_ms(text: &str) -> Option<i64> {
    if text.is_empty() || text.chars().any(|character| !character.is_ascii_digit()) {
        return None;
    }
    let time_ms: i64 = text.parse().ok()?;
    if time_ms <= 253_402_300_799_999 { Some(time_ms) } else { None }
}

/// A value of JSON. A scalar is a text without its quotes, a number or a word, as it is written; `null` becomes an
/// empty text.
enum Json {
    Object(Vec<(String, Json)>),
    Array(Vec<Json>),
    Scalar(String),
}

/// Reads the value of JSON at index `at` of `text`, with the blanks around it, and moves `at` behind them. Returns
/// `None` if there is no valid value, or if arrays and objects are nested more than three deep.
fn json(text: &[char], at: &mut usize) -> Option<Json> {
    json_within(text, at, 3)
}

fn json_within(text: &[char], at: &mut usize, depth: usize) -> Option<Json> {
    skip_blanks(text, at);
    let first = *text.get(*at)?;
    let value = match first {
        '{' | '[' if depth == 0 => return None,
        '{' => {
            let mut members = Vec::new();
            list(text, at, '}', |text, at| {
                skip_blanks(text, at);
                if text.get(*at) != Some(&'"') {
                    return None;
                }
                let Json::Scalar(name) = json_within(text, at, 0)? else { return None };
                if text.get(*at) != Some(&':') {
                    return None;
                }
                *at += 1;
                members.push((name, json_within(text, at, depth - 1)?));
                Some(())
            })?;
            Json::Object(members)
        }
        '[' => {
            let mut elements = Vec::new();
            list(text, at, ']', |text, at| {
                elements.push(json_within(text, at, depth - 1)?);
                Some(())
            })?;
            Json::Array(elements)
        }
        '"' => {
            let start = *at + 1;
            *at = start;
            while *text.get(*at)? != '"' {
                *at += if text[*at] == '\\' { 2 } else { 1 };
            }
            let content = text[start..*at].iter().collect();
            *at += 1;
            Json::Scalar(content)
        }
        _ => {
            let start = *at;
            while text.get(*at).is_some_and(|next| next.is_ascii_alphanumeric() || "+-.".contains(*next)) {
                *at += 1;
            }
            let word: String = text[start..*at].iter().collect();
            if word.is_empty() {
                return None;
            }
            Json::Scalar(if word == "null" { String::new() } else { word })
        }
    };
    skip_blanks(text, at);
    Some(value)
}

/// Reads an array or an object whose first bracket is at index `at`, up to its last bracket `end`. Calls `element` to
/// read each element.
fn list(
    text: &[char],
    at: &mut usize,
    end: char,
    mut element: impl FnMut(&[char], &mut usize) -> Option<()>,
) -> Option<()> {
    *at += 1;
    skip_blanks(text, at);
    if text.get(*at) == Some(&end) {
        *at += 1;
        return Some(());
    }
    loop {
        element(text, at)?;
        let next = *text.get(*at)?;
        *at += 1;
        match next {
            ',' => {}
            next if next == end => return Some(()),
            _ => return None,
        }
    }
}

fn skip_blanks(text: &[char], at: &mut usize) {
    while text.get(*at).is_some_and(|character| " \t\r\n".contains(*character)) {
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"e":[{"n":"source","sv":"s1"},{"n":"longitude","v":"6.5"},{"n":"latitude","v":-46},{"v":"8","n":"dust"}],"bt":"7"}"#;

    #[test]
    fn messages_are_read() {
        let content = content_of(GOOD).unwrap();
        assert_eq!((content.sensor.as_str(), content.longitude, content.latitude), ("s1", 6.5, -46.0));
        assert_eq!(content.values, [None, None, None, Some(8.0), None]);
        let line = format!("1500,{GOOD}");
        assert_eq!(recorded_message(&line), Some((1_500_000, GOOD)));
        for (from, to) in [
            ("s1", ""),
            ("6.5", "east"),
            ("\"7\"", "-7"),
            ("],", "]"),
            ("}]", "}"),
            ("8", "inf"),
            ("{\"n\"", "{n"),
        ] {
            assert_eq!(content_of(&GOOD.replacen(from, to, 1)), None, "{to} for {from}");
        }
    }
}
