//! Options of a format as given by the user. The format reads the value of each option that it knows, which removes
//! the option here; options which remain are refused, and the error names the most similar option.

use std::collections::BTreeMap;

use super::FormatError;

/// The options of one format, whose keys begin with its name and a dot.
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

    /// Removes an option and returns its value, or `None` if the user gave none. `name` is the option's key
    /// without the prefix of the format.
    pub(super) fn text(&mut self, name: &'static str) -> Option<&'a str> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// Removes a boolean option of the format and returns its value, or `default` if the user gave none.
    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool, FormatError> {
        match self.text(name) {
            None => Ok(default),
            Some(text) if text.trim().eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.trim().eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(self.wrong(name, format!("'{text}' is neither 'true' nor 'false'"))),
        }
    }

    /// Removes an option whose value must be one of several names, whatever their case. Returns the item of
    /// `choices` with that name, or `default` if the user gave none.
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

    /// Makes the error for an option that has a wrong value.
    pub(super) fn wrong(&self, name: &str, reason: impl Into<String>) -> FormatError {
        FormatError::Option { option: format!("{}{name}", self.prefix), reason: reason.into() }
    }

    /// Refuses options that the format does not know: those that it has not read.
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

/// Returns the name with the fewest edits to `name`, if these are at most a third of its length.
pub(super) fn nearest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<String> {
    among
        .map(|known| (edits(name, known), known))
        .filter(|(edits, known)| edits * 3 <= known.len().max(3))
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, known)| known.to_owned())
}

/// Returns the number of bytes to insert, delete or change to turn one name into another. This is
/// Levenshtein's distance, computed one row at a time.
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

    /// A misspelt name is answered with the nearest known name; for an entirely different word there is none.
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
