//! Functions of other engines that Flink and this engine lack under their name, each with what to write instead.

/// Names of functions, in upper case and in the order of the alphabet, and what to write in their place.
const INSTEAD: [(&str, &str); 35] = [
    ("ANY_VALUE", "FIRST_VALUE(x)"),
    ("APPROX_PERCENTILE", "PERCENTILE(x, 0.95)"),
    ("APPROX_QUANTILE", "PERCENTILE(x, 0.95)"),
    ("ARG_MAX", "ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC), and keep the first"),
    ("ARG_MIN", "ROW_NUMBER() OVER (PARTITION BY k ORDER BY x), and keep the first"),
    ("ARRAY_LENGTH", "CARDINALITY(a)"),
    ("COUNTIF", "COUNT(*) FILTER (WHERE condition)"),
    ("COUNT_IF", "COUNT(*) FILTER (WHERE condition)"),
    ("DATEDIFF", "TIMESTAMPDIFF(DAY, earlier, later)"),
    ("DATE_ADD", "t + INTERVAL '1' DAY"),
    ("DATE_DIFF", "TIMESTAMPDIFF(DAY, earlier, later)"),
    ("DATE_PART", "EXTRACT(HOUR FROM t)"),
    ("DATE_SUB", "t - INTERVAL '1' DAY"),
    ("DATE_TRUNC", "FLOOR(t TO DAY)"),
    ("EPOCH", "EXTRACT(EPOCH FROM t)"),
    ("EPOCH_MS", "TO_TIMESTAMP_LTZ(n, 3)"),
    ("GENERATE_SERIES", "a table WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', ..)"),
    ("GETDATE", "LOCALTIMESTAMP"),
    ("GROUP_CONCAT", "LISTAGG(x, ',')"),
    ("ISNULL", "COALESCE(x, y), or x IS NULL"),
    ("JSON_EXTRACT", "JSON_VALUE(j, '$.a'), or JSON_QUERY(j, '$.a') for an object or array"),
    ("LEN", "CHAR_LENGTH(x)"),
    ("LENGTH", "CHAR_LENGTH(x)"),
    ("MEDIAN", "PERCENTILE(x, 0.5)"),
    ("NVL", "COALESCE(x, y)"),
    ("QUANTILE", "PERCENTILE(x, 0.95)"),
    ("REGEXP_MATCHES", "REGEXP(x, pattern)"),
    ("STARTS_WITH", "STARTSWITH(x, y)"),
    ("STRFTIME", "DATE_FORMAT(t, 'yyyy-MM-dd')"),
    ("STRING_AGG", "LISTAGG(x, ',')"),
    ("STRPTIME", "TO_TIMESTAMP(x, 'yyyy-MM-dd')"),
    ("TIME_BUCKET", "FROM TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' MINUTE)"),
    ("TO_CHAR", "DATE_FORMAT(t, 'yyyy-MM-dd')"),
    ("TRY_TO_NUMBER", "TRY_CAST(x AS DOUBLE)"),
    ("UNIXEPOCH", "UNIX_TIMESTAMP()"),
];

/// Returns what to write in place of a function of another engine; `None` if the name, in upper case, is not known.
pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    let place = INSTEAD.binary_search_by_key(&name, |(known, _)| known).ok()?;
    Some(INSTEAD[place].1)
}

#[cfg(test)]
mod tests {
    use super::super::expression::function_names;
    use super::*;

    /// Each name is found, and is that of no function which there is.
    #[test]
    fn names_are_sorted_and_of_others() {
        for (name, instead) in INSTEAD {
            assert_eq!(instead_of(name), Some(instead), "{name}");
            assert!(function_names().all(|known| known != name), "{name}");
        }
        assert_eq!(instead_of("SUM"), None);
    }
}
