//! Settings of Flink that change rows, and that this engine does not have. A value with an effect in Flink is refused, so that no
//! result differs silently; other settings of Flink are accepted without effect, also those by which windows fire early, since
//! the rows that are left in the end are the same.
//!
//! Source: Flink, `ExecutionConfigOptions`, `WindowEmitStrategy`, `TableConfigOptions`.

use thalweg_sql_tables::error::{Code, SqlError};

use super::duration;

/// A setting of Flink of which only the values without an effect are accepted.
struct Foreign {
    key: &'static str,
    /// Returns whether a value, in lower case, leaves all rows as they are.
    is_idle: fn(&str) -> bool,
    /// Part of the error text that says what happens here, and what to write.
    help: &'static str,
}

const FOREIGN: [Foreign; 5] = [
    Foreign {
        key: "table.exec.emit.allow-lateness",
        is_idle: |value| duration(value).is_some_and(|span| span.is_zero()),
        help: "late rows are dropped; declare a WATERMARK that waits longer",
    },
    Foreign {
        key: "table.exec.legacy-cast-behaviour",
        is_idle: |value| value == "disabled",
        help: "a cast that fails is an error; write TRY_CAST for NULL",
    },
    Foreign {
        key: "table.exec.sink.type-length-enforcer",
        is_idle: |value| value == "ignore",
        help: "text and bytes are written as they are; write CAST(.. AS VARCHAR(n)) to cut them",
    },
    Foreign {
        key: "table.column-expansion-strategy",
        is_idle: str::is_empty,
        help: "SELECT * has all columns; name the columns",
    },
    Foreign { key: "table.sql-dialect", is_idle: |value| value == "default", help: "there is one dialect" },
];

/// Refuses settings whose values change rows in Flink and not here. `get` returns the value of a key of the session.
///
/// # Errors
/// [`Code::Unsupported`] for the first such setting.
pub(super) fn check_foreign<'a>(get: &impl Fn(&str) -> Option<&'a str>) -> Result<(), SqlError> {
    for Foreign { key, is_idle, help } in FOREIGN {
        if let Some(value) = get(key)
            && !is_idle(&value.trim().to_ascii_lowercase())
        {
            let message = format!("'{key}' is '{value}', which is not supported");
            return Err(SqlError::new(Code::Unsupported, message).help(help));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, value: &str) -> bool {
        check_foreign(&|asked: &str| (asked == key).then_some(value)).is_ok()
    }

    #[test]
    fn a_value_without_effect_is_accepted() {
        assert!(
            check("table.exec.emit.allow-lateness", "0 s") && check("table.exec.emit.allow-lateness", "0")
        );
        assert!(!check("table.exec.emit.allow-lateness", "5 s"));
        assert!(check("table.exec.emit.early-fire.enabled", "true"));
        assert!(check("table.exec.sink.type-length-enforcer", "IGNORE"));
        assert!(!check("table.exec.sink.type-length-enforcer", "TRIM_PAD"));
        assert!(check("table.exec.mini-batch.enabled", "true"));
    }
}
