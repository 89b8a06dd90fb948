//! Finds the values of the columns that a query reads in a JSON object, guided by the object that was read
//! before. Records of one input mostly have the same keys in the same order and notation.
//!
//! ```text
//! {"user_id": "8f3a...", "ad_type": "banner", ...}
//!  ^^^^^^^^^^^          ^^^^^^^^^^^^^
//!  gap 0                gap 1: from the end of a value to the beginning of the next
//! ```
//!
//! The gaps of the object before are kept, each with the key of the value after it. If a gap is repeated byte for
//! byte, one comparison replaces reading blanks, a comma, a key and a colon, and looking up the key.

use super::scan::{Broken, Kind, Scan, Slot};
use super::text;

/// Bounds on the number of kept gaps and on the bytes of each. A gap is the text between two values of an
/// object, such as `, "key": `; gaps are kept to recognise them in the next object. They need bounds, because
/// keys come from outside. An object with more or longer keys is read without kept gaps from that point on.
const GAPS_MAX: usize = 1_024;
const GAP_BYTES_MAX: usize = 256;

/// Finds the values of some keys in JSON objects.
pub(in super::super) struct Walk {
    keys: Vec<String>,
    gaps: Vec<Gap>,
}

struct Gap {
    bytes: Vec<u8>,
    key: Option<usize>,
}

impl Walk {
    pub(in super::super) fn new(keys: impl IntoIterator<Item = String>) -> Self {
        Walk { keys: keys.into_iter().collect(), gaps: Vec::new() }
    }

    /// Scans the JSON object at the current position; `depth` is the number of arrays and objects around it.
    /// Each [`Slot`] in `slots` gets the value of the key with its index, or the last value if the key occurs
    /// several times. The slot of a key that does not occur is [`Slot::MISSING`].
    #[inline]
    pub(in super::super) fn object(
        &mut self,
        text: &str,
        scan: &mut Scan<'_>,
        depth: usize,
        slots: &mut [Slot],
    ) -> Result<(), Broken> {
        slots.fill(Slot::MISSING);
        // The text before the first value, without the opening brace, is the first gap. So it may begin with
        // blanks.
        scan.expect(b'{', "'{'")?;
        for place in 0.. {
            let key = match self.gaps.get(place) {
                Some(gap) if scan.passes(&gap.bytes) => {
                    // The text before this value begins with the same bytes as the text before it in the
                    // previous object, but more blanks may follow these bytes here.
                    scan.pass_blanks();
                    gap.key
                }
                _ => match self.gap(text, scan, place)? {
                    Some(key) => key,
                    None => break,
                },
            };
            let value = scan.value(depth + 1)?;
            if let Some(key) = key {
                slots[key] = value;
            }
        }
        Ok(())
    }

    /// Reads the text between two values (a gap): a comma, the next key and a colon. Keeps the gap for the
    /// next object. Returns the index of the key, or `Some(None)` if the query does not read its value;
    /// `None` at the end of the object.
    fn gap(
        &mut self,
        text: &str,
        scan: &mut Scan<'_>,
        place: usize,
    ) -> Result<Option<Option<usize>>, Broken> {
        let start = scan.at;
        scan.pass_blanks();
        if scan.eat(b'}') {
            return Ok(None);
        }
        if place != 0 {
            scan.expect(b',', "',' or '}'")?;
            scan.pass_blanks();
        }
        let name = scan.key()?;
        let key = match name.kind {
            Kind::Escaped => {
                let mut letters = Vec::new();
                text::unescape(name.of(text), &mut letters);
                self.keys.iter().position(|key| key.as_bytes() == letters)
            }
            _ => self.keys.iter().position(|key| key == name.of(text)),
        };
        let bytes = scan.since(start);
        if place < GAPS_MAX && bytes.len() <= GAP_BYTES_MAX && place <= self.gaps.len() {
            if place == self.gaps.len() {
                self.gaps.push(Gap { bytes: Vec::new(), key: None });
            }
            let gap = &mut self.gaps[place];
            gap.bytes.clear();
            gap.bytes.extend_from_slice(bytes);
            gap.key = key;
        }
        Ok(Some(key))
    }
}
