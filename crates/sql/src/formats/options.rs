//! Options of a format as they are given: keys with values, each of which is taken once, and those that nobody takes
//! are refused with the name that is nearest.

use std::collections::BTreeMap;

use super::FormatError;

/// The options of one format: those whose keys begin with its name and a dot.
pub(super) struct Given<'a> {
    prefix: String,
    left: BTreeMap<&'a str, &'a str>,
    known: Vec<&'static str>,
}

impl<'a> Given<'a> {
    pub(super) fn new(format: &str, options: &'a BTreeMap<String, String>) -> Self {
        let prefix = format!("{format}.");
        let own = |(key, value): (&'a String, &'a String)| Some((key.strip_prefix(&prefix)?, value.as_str()));
        let left = options.iter().filter_map(own).collect();
        Given { prefix, left, known: Vec::new() }
    }

    /// The value of an option, if it is given; its name is without the format's.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// The value of an option that is true or false.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, FormatError> {
        match self.text(name) {
            None => Ok(default),
            Some(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(self.wrong(name, format!("'{text}' is neither 'true' nor 'false'"))),
        }
    }

    /// The value of an option that is one of several names, whatever their case.
    pub(super) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
        default: T,
    ) -> Result<T, FormatError> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let found = choices.iter().find(|(choice, _)| text.eq_ignore_ascii_case(choice));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(choice, _)| format!("'{choice}'")).collect();
            self.wrong(name, format!("'{text}' is not among {}", names.join(", ")))
        })
    }

    /// The value of an option is wrong.
    pub(super) fn wrong(&self, name: &str, reason: impl Into<String>) -> FormatError {
        FormatError::Option { option: format!("{}{name}", self.prefix), reason: reason.into() }
    }

    /// Refuses what was not taken.
    pub(super) fn finish(self) -> Result<(), FormatError> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(name) => Err(FormatError::UnknownOption {
                option: format!("{}{name}", self.prefix),
                near: nearest(name, self.known.iter().copied()).map(|near| format!("{}{near}", self.prefix)),
            }),
        }
    }
}

/// The name that takes the fewest edits to become `name`, if these are no more than a third of it.
pub(super) fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<String> {
    among
        .map(|known| (edits(name, known), known))
        .filter(|(edits, known)| edits * 3 <= known.len().max(3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, known)| known.to_owned())
}

/// How many bytes are to be put in, left out or changed: Levenshtein's distance, one row at a time.
fn edits(from: &str, to: &str) -> usize {
    let to = to.as_bytes();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, left) in from.bytes().enumerate() {
        let mut corner = row[0];
        row[0] = line + 1;
        for (place, right) in to.iter().enumerate() {
            let change = corner + usize::from(left != *right);
            corner = row[place + 1];
            row[place + 1] = change.min(row[place] + 1).min(corner + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    /// A slip of the finger is named; something else is not guessed at.
    #[test]
    fn nearest_names() {
        let names = ["ignore-parse-errors", "fail-on-missing-field", "null-literal"];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(nearest(name, names.into_iter()).as_deref(), expected, "{name}");
        };
        check("ignore-parse-error", Some("ignore-parse-errors"));
        check("fail_on_missing_field", Some("fail-on-missing-field"));
        check("nul-litteral", Some("null-literal"));
        check("compression", None);
        check("", None);
        check("é", None);
    }
}
