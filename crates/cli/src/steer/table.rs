//! The threads of a round as a table of at most 80 columns, the most urgent first.

use std::cmp::Reverse;

use thalweg_cli::show;
use thalweg_steer::steering::Row;

use super::short;

/// Largest number of threads in a table. The last line tells how many more there are.
const ROWS_MAX: usize = 20;

/// Width of the column with the name of a thread, in characters. Of a longer name only the end is shown, where the
/// number of the subtask is.
const NAME_COLUMNS: usize = 34;

/// The way in which tables are written.
pub enum Table {
    /// Each table is drawn over the previous one.
    InPlace {
        /// Number of lines of the previous table, which are above the cursor.
        drawn: usize,
    },
    /// Only one table is written, of the first round that has threads.
    Once {
        /// True if the table was written.
        is_done: bool,
    },
}

impl Table {
    /// Returns tables that are drawn over each other, for a terminal.
    pub fn in_place() -> Self {
        Table::InPlace { drawn: 0 }
    }

    /// Returns a table that is written once, for a file or another program.
    pub fn once() -> Self {
        Table::Once { is_done: false }
    }

    /// Returns the text that shows the threads of a round.
    pub fn draw(&mut self, rows: &[Row]) -> String {
        match self {
            Table::InPlace { drawn } => {
                let lines = lines(rows);
                let up = if *drawn > 0 { format!("\x1b[{drawn}A") } else { String::new() };
                // Lines of a longer previous table that remain below this table are cleared.
                let below = drawn.saturating_sub(lines.len());
                *drawn = lines.len();
                let mut text = up;
                for line in &lines {
                    text += &format!("\r{line}\x1b[K\n");
                }
                if below > 0 {
                    text += "\x1b[J";
                }
                text
            }
            Table::Once { is_done } if *is_done || rows.is_empty() => String::new(),
            Table::Once { is_done } => {
                *is_done = true;
                lines(rows).iter().map(|line| format!("{line}\n")).collect()
            }
        }
    }
}

fn lines(rows: &[Row]) -> Vec<String> {
    let mut lines =
        vec![format!("{:>8} {:>13} {:>9} {:>11}  name", "thread", "priority", "score", "waiting")];
    let mut sorted: Vec<&Row> = rows.iter().collect();
    sorted.sort_by_key(|row| Reverse(row.priority.urgency()));
    for Row { thread, pending, rank, priority } in sorted.iter().take(ROWS_MAX) {
        let score = rank.map_or("-".to_owned(), |rank| score(rank.score));
        let name = end_of(&thread.name, NAME_COLUMNS);
        let waiting = show::count(*pending);
        lines.push(format!(
            "{:>8} {:>13} {score:>9} {waiting:>11}  {name}",
            thread.key.thread,
            short(*priority)
        ));
    }
    let further = rows.len().saturating_sub(ROWS_MAX);
    if further > 0 {
        lines.push(format!("and {further} more"));
    }
    lines
}

/// Replaces each control character by a question mark: names of threads come from users of the engine, and control
/// characters could change the terminal.
pub fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

/// Formats the score of a thread in at most nine characters.
fn score(score: f64) -> String {
    let plain = format!("{score:.1}");
    if plain.len() <= 9 { plain } else { format!("{score:.2e}") }
}

/// Returns a text of at most `columns` characters: the whole text, or two dots and its end. Control characters, which
/// could change a terminal, are replaced.
fn end_of(text: &str, columns: usize) -> String {
    let text = &plain(text);
    let length = text.chars().count();
    if length <= columns {
        return text.to_owned();
    }
    let end: String = text.chars().skip(length - (columns - 2)).collect();
    format!("..{end}")
}

#[cfg(test)]
mod tests {
    use thalweg::scheduling::{OperatorId, Rank};
    use thalweg_steer::setting::{Class, CpuTime, Priority, Setting};
    use thalweg_steer::steering::Steered;
    use thalweg_steer::threads::ThreadKey;

    use super::*;

    fn row(thread: u32, name: &str, pending: u64, setting: Setting) -> Row {
        let key = ThreadKey { process: 7, thread, started: 1 };
        let rank = Some(Rank { class: 0, score: pending as f64, tie: 0 });
        Row {
            thread: Steered { key, operator: OperatorId(0), name: name.to_owned() },
            pending,
            rank,
            priority: setting.into(),
        }
    }

    #[test]
    fn the_most_urgent_thread_is_first_within_80_columns() {
        let long = "Source: a source with a long name -> Map -> Filter -> Sink: out (12/16)#0";
        let rows = [
            row(71, "map (1/2)#0", 0, Setting::nice(19)),
            row(1_234_567, long, 123_456_789, Setting::nice(-20)),
            Row { rank: None, ..row(73, "idle", 1, Setting::real_time(Class::Fifo, 98)) },
        ];
        let expected = [
            "  thread      priority     score     waiting  name",
            "      73       fifo 98         -           1  idle",
            " 1234567      nice -20    1.23e8 123,456,789  ..-> Filter -> Sink: out (12/16)#0",
            "      71       nice 19       0.0           0  map (1/2)#0",
        ];
        let lines = lines(&rows);
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
    }

    /// Groups have shares or limits, the greatest first.
    #[test]
    fn shares_and_limits_are_shown() {
        let of_group =
            |thread, time| Row { priority: Priority::Group(time), ..row(thread, "x", 1, Setting::DEFAULT) };
        let rows = [of_group(71, CpuTime::Shares(2)), of_group(72, CpuTime::Shares(262_144))];
        let shown = lines(&rows);
        assert!(
            shown[1].starts_with("      72 shares 262144 ") && shown[2].contains(" shares 2 "),
            "{shown:?}"
        );
        let shown = lines(&[of_group(73, CpuTime::LimitUs(200_000))]);
        assert!(shown[1].contains(" limit 200000 us "), "{shown:?}");
    }

    #[test]
    fn names_cannot_change_a_terminal() {
        let rows = [row(71, "a\x1b[2Jb\n", 0, Setting::nice(0))];
        assert!(lines(&rows)[1].ends_with("a?[2Jb?"), "{:?}", lines(&rows));
    }

    #[test]
    fn a_table_that_got_shorter_leaves_nothing_behind() {
        let rows = [row(71, "a", 1, Setting::nice(0)), row(72, "b", 2, Setting::nice(1))];
        let mut table = Table::in_place();
        assert!(!table.draw(&rows).contains("\x1b[J"));
        let second = table.draw(&rows[..1]);
        assert!(second.starts_with("\x1b[3A\r") && second.ends_with("\x1b[J"), "{second:?}");
        let many: Vec<Row> = (0..30).map(|thread| row(thread, "x", 1, Setting::nice(0))).collect();
        assert!(table.draw(&many).contains("and 10 more"));
    }

    #[test]
    fn a_file_gets_the_first_table_only() {
        let mut table = Table::once();
        assert_eq!(table.draw(&[]), "");
        assert_eq!(table.draw(&[row(71, "a", 1, Setting::nice(0))]).lines().count(), 2);
        assert_eq!(table.draw(&[row(71, "a", 1, Setting::nice(0))]), "");
    }
}
