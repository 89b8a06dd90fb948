//! Patterns of PRINTF: text and conversions such as `%-10.3f`.
//!
//! Source: Java 17, `java.util.Formatter` (the grammar of a format specifier, and which flags go together).

/// A part of a pattern.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Piece {
    Text(String),
    Conversion(Conversion),
}

/// A place of a pattern into which a value is written.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Conversion {
    pub(super) of: Of,
    pub(super) flags: Flags,
    /// Least number of characters.
    pub(super) width: Option<usize>,
    /// Digits of a fraction, or the greatest number of characters.
    pub(super) precision: Option<usize>,
    pub(super) index: Index,
}

/// Which value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    /// The value behind the one of the place before that has no number.
    Next,
    /// The value of the place before: `%<s`.
    Last,
    /// The value with an index, from 0 on: `%1$s` has 0.
    Given(usize),
}

/// Form in which a value is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Of {
    Flag,
    Text,
    Character,
    Decimal,
    Octal,
    Hexadecimal,
    Fixed,
    Scientific,
    General,
    Percent,
}

/// Flags of a conversion.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Flags {
    pub(super) is_left: bool,
    pub(super) is_alternate: bool,
    pub(super) is_signed: bool,
    pub(super) is_spaced: bool,
    pub(super) is_zero_padded: bool,
    pub(super) is_grouped: bool,
    pub(super) is_bracketed: bool,
    /// Whether the letter of the conversion is a capital.
    pub(super) is_upper: bool,
}

/// Returns the pieces of a pattern; `None` if it is not valid.
pub(super) fn parsed(pattern: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some((text, behind)) = rest.split_once('%') {
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        let (piece, left) = conversion(behind)?;
        pieces.push(piece);
        rest = left;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Some(pieces)
}

/// Reads a conversion behind its `%`, and returns the text behind it.
fn conversion(text: &str) -> Option<(Piece, &str)> {
    let mut rest = text;
    let mut index = Index::Next;
    let (number, behind) = digits(rest);
    if let (Some(number), Some(behind)) = (number, behind.strip_prefix('$')) {
        index = Index::Given(number?.checked_sub(1)?);
        rest = behind;
    }
    let mut flags = Flags::default();
    while let Some(character) = rest.chars().next() {
        let flag = match character {
            '-' => &mut flags.is_left,
            '#' => &mut flags.is_alternate,
            '+' => &mut flags.is_signed,
            ' ' => &mut flags.is_spaced,
            '0' => &mut flags.is_zero_padded,
            ',' => &mut flags.is_grouped,
            '(' => &mut flags.is_bracketed,
            '<' => {
                index = Index::Last;
                rest = &rest[1..];
                continue;
            }
            _ => break,
        };
        if std::mem::replace(flag, true) {
            return None;
        }
        rest = &rest[1..];
    }
    let (width, behind) = digits(rest);
    let width = width.map_or(Some(None), |width| width.map(Some))?;
    rest = behind;
    let mut precision = None;
    if let Some(behind) = rest.strip_prefix('.') {
        let (number, behind) = digits(behind);
        precision = Some(number??);
        rest = behind;
    }
    let letter = rest.chars().next()?;
    let behind = &rest[letter.len_utf8()..];
    flags.is_upper = letter.is_ascii_uppercase();
    let of = match letter {
        'b' | 'B' => Of::Flag,
        's' | 'S' => Of::Text,
        'c' | 'C' => Of::Character,
        'd' => Of::Decimal,
        'o' => Of::Octal,
        'x' | 'X' => Of::Hexadecimal,
        'f' => Of::Fixed,
        'e' | 'E' => Of::Scientific,
        'g' | 'G' => Of::General,
        '%' => Of::Percent,
        'n' => {
            let is_plain = flags == Flags::default() && width.is_none() && precision.is_none();
            return is_plain.then(|| (Piece::Text("\n".to_owned()), behind));
        }
        _ => return None,
    };
    is_valid(of, flags, width, precision)
        .then_some((Piece::Conversion(Conversion { of, flags, width, precision, index }), behind))
}

/// Reads digits at the beginning of a text: a number, `None` within if it is too large, or no number.
fn digits(text: &str) -> (Option<Option<usize>>, &str) {
    let end = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    match end {
        0 => (None, text),
        _ => {
            let number: Option<i32> = text[..end].parse().ok();
            (Some(number.and_then(|number| usize::try_from(number).ok())), &text[end..])
        }
    }
}

/// Returns whether a conversion takes its flags, width and precision.
fn is_valid(of: Of, flags: Flags, width: Option<usize>, precision: Option<usize>) -> bool {
    let Flags {
        is_left, is_alternate, is_signed, is_spaced, is_zero_padded, is_grouped, is_bracketed, ..
    } = flags;
    let is_of_number = is_signed || is_spaced || is_zero_padded || is_grouped || is_bracketed;
    if width.is_none() && (is_left || is_zero_padded) {
        return false;
    }
    if (is_signed && is_spaced) || (is_left && is_zero_padded) {
        return false;
    }
    match of {
        Of::Flag | Of::Text => !is_alternate && !is_of_number,
        Of::Character | Of::Percent => !is_alternate && !is_of_number && precision.is_none(),
        Of::Decimal => !is_alternate && precision.is_none(),
        Of::Octal | Of::Hexadecimal => {
            precision.is_none() && !is_signed && !is_spaced && !is_grouped && !is_bracketed
        }
        Of::Fixed => true,
        Of::Scientific => !is_grouped,
        Of::General => !is_alternate,
    }
}
