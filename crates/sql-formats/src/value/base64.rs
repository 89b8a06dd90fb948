//! Bytes as text in base64 with padding and the alphabet of RFC 4648, section 4.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Position of each byte value in the alphabet of base64; 64 for bytes that are not in the alphabet.
const PLACES: [u8; 256] = {
    let mut places = [64; 256];
    let mut place = 0;
    while place < 64 {
        places[ALPHABET[place] as usize] = place as u8;
        place += 1;
    }
    places
};

/// Appends bytes as base64 text.
pub(in super::super) fn write_base64(bytes: &[u8], to: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            to.push(if place <= group.len() { letter } else { b'=' });
        }
    }
}

/// Decodes base64 text and appends the bytes. Returns `None` if the text is invalid; some bytes may then have been
/// appended.
///
/// White space between groups of four is skipped, as in Jackson.
pub(in super::super) fn decode_base64(text: &[u8], to: &mut Vec<u8>) -> Option<()> {
    let mut at = 0;
    loop {
        while text.get(at).is_some_and(|byte| *byte <= b' ') {
            at += 1;
        }
        let group = match text.get(at..)? {
            [] => return Some(()),
            [a, b, c, d, ..] => [*a, *b, *c, *d],
            _ => return None,
        };
        at += 4;
        let padding = group.iter().rev().take_while(|byte| **byte == b'=').count();
        let mut bits = 0;
        for byte in &group[..4 - padding.min(3)] {
            let place = PLACES[usize::from(*byte)];
            if place == 64 {
                return None;
            }
            bits = bits << 6 | u32::from(place);
        }
        let [_, first, second, third] = (bits << (6 * padding.min(3))).to_be_bytes();
        match padding {
            0 => to.extend([first, second, third]),
            1 => to.extend([first, second]),
            2 => to.push(first),
            _ => return None,
        }
        if padding != 0 {
            return text[at..].iter().all(|byte| *byte <= b' ').then_some(());
        }
    }
}
