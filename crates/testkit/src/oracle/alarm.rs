//! A keyed function with timers, with a simple rule: a key that has had no row for as long as a limit raises an
//! alarm.
//!
//! A row is late if its stamp lies below its watermark; late rows are ignored. A stamp `t` of a key causes one
//! alarm, at `t + limit`, if no other stamp of the key lies in `(t, t + limit)`.

use super::Row;

/// An alarm of a key that had no row. Alarms are sorted by time, then key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Alarm<K> {
    /// Time at which the key had had no row for as long as the limit, in microseconds.
    pub at_us: i128,
    /// Key of the alarm, which had no row for as long as the limit.
    pub key: K,
}

/// All alarms of an input, and the number of late rows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Alarms<K> {
    /// All alarms, sorted by time, then by key.
    pub alarms: Vec<Alarm<K>>,
    /// Number of late rows; these were ignored.
    pub late: u64,
}

/// Returns the alarms of keys that had no row for `limit_us` microseconds.
pub fn alarms<T, K: Ord>(rows: &[Row<T>], limit_us: i64, key_of: impl Fn(&T) -> K) -> Alarms<K> {
    let mut stamps: Vec<(K, i128)> = Vec::new();
    for row in rows.iter().filter(|row| !row.is_late()) {
        stamps.push((key_of(&row.value), i128::from(row.at_us)));
    }
    let late = (rows.len() - stamps.len()) as u64;
    stamps.sort();
    // Rows of one key with equal event times count as one.
    stamps.dedup();
    let limit = i128::from(limit_us);
    let is_followed: Vec<bool> = stamps
        .iter()
        .map(|(key, at)| stamps.iter().any(|(other, next)| other == key && at < next && *next < at + limit))
        .collect();
    let silent = stamps.into_iter().zip(is_followed).filter(|(_, is_followed)| !is_followed);
    let mut alarms: Vec<Alarm<K>> = silent.map(|((key, at), _)| Alarm { at_us: at + limit, key }).collect();
    alarms.sort();
    Alarms { alarms, late }
}

#[cfg(test)]
mod tests {
    use super::super::words::{key_of, rows};
    use super::*;

    fn check(input: &str, expected: &str) {
        let Alarms { alarms, late } = alarms(&rows(input), 10, key_of);
        let shown: Vec<String> =
            alarms.iter().map(|alarm| format!("{}@{}", alarm.key, alarm.at_us)).collect();
        assert_eq!(format!("{} late {late}", shown.join(" ")), expected, "{input}");
    }

    /// A silence of exactly the limit raises one alarm, and a shorter one raises none. The end of the input
    /// counts as silence.
    #[test]
    fn silence_is_told_once() {
        check("a1@0 a2@9 b1@9 a3@19 a4@19", "a@19 b@19 a@29 late 0");
        check("a1@30 a2@0 a3@5", "a@15 a@40 late 0");
    }

    #[test]
    fn late_rows_do_not_break_silence() {
        check("a1@0 a2@20 W12 a3@11 a4@12", "a@10 a@30 late 1");
    }
}
