//! Texts of Nexmark: names of people and things, channels with their addresses, and letters that fill up
//! rows.
//!
//! Filling letters are slices of one long text which is made in advance: a slice costs one copy, whatever its
//! length.

use crate::connect::draw;

/// The hot channels, through which half of all bids come.
const HOT_CHANNELS: [&str; 4] = ["Google", "Facebook", "Baidu", "Apple"];

/// The number of channels that are not hot; the other half of all bids comes through them.
const OTHER_CHANNELS: u64 = 10_000;

/// The number of positions at which a slice of the letters made in advance may begin.
const STARTS: u64 = 1 << 16;

pub(super) const FIRST_NAMES: [&str; 11] =
    ["Ada", "Boris", "Clara", "Dmitri", "Elsa", "Felix", "Greta", "Hugo", "Irene", "Jonas", "Kira"];

pub(super) const LAST_NAMES: [&str; 9] =
    ["Adler", "Brandt", "Castro", "Dumont", "Eriksen", "Ferrari", "Greene", "Hansen", "Ivanov"];

pub(super) const CITIES: [&str; 10] =
    ["Tucson", "Fresno", "Oakland", "Nampa", "Salem", "Eugene", "Tacoma", "Spokane", "Laramie", "Casper"];

/// States in the north-west of the USA and around, where people live; some queries select them.
pub(super) const STATES: [&str; 6] = ["AZ", "CA", "ID", "OR", "WA", "WY"];

/// Texts that are made in advance, from which values of Nexmark events are cut.
pub(super) struct Words {
    /// Random letters from a to z.
    letters: String,
    /// Random letters with a space at every 13th place, on average.
    spaced: String,
    /// The names of Nexmark's channels, such as Google or Facebook, each with its URL: first those that many bids name, then
    /// the others.
    channels: Vec<(String, String)>,
}

impl Words {
    /// Makes the texts from a seed. `longest` is the greatest length of a slice.
    pub(super) fn new(seed: u64, longest: usize, has_channels: bool) -> Self {
        let length = STARTS + longest as u64;
        let letter = |bits| char::from(b'a' + draw::below(bits, 26) as u8);
        let letters = (0..length).map(|place| letter(draw::at(seed, place))).collect();
        let spaced = (0..length).map(|place| match draw::split(draw::at(!seed, place), 13) {
            (0, _) => ' ',
            (_, bits) => letter(bits),
        });
        let spaced = spaced.collect();
        let mut words = Words { letters, spaced, channels: Vec::new() };
        if has_channels {
            let hot = HOT_CHANNELS
                .iter()
                .enumerate()
                .map(|(place, name)| ((*name).to_owned(), words.address(draw::at(seed ^ 1, place as u64))));
            let others = (0..OTHER_CHANNELS).map(|channel| {
                let (tenth, bits) = draw::split(draw::at(seed ^ 2, channel), 10);
                let mut address = words.address(bits);
                if tenth > 0 {
                    // The reversed bits of its number give each channel an id of its own that looks random.
                    address += &format!("&channel_id={}", (channel as i32).reverse_bits().unsigned_abs());
                }
                (format!("channel-{channel}"), address)
            });
            words.channels = hot.chain(others).collect();
        }
        words
    }

    /// Returns a slice of `length` random letters.
    #[inline]
    pub(super) fn letters(&self, bits: u64, length: usize) -> &str {
        let start = draw::below(bits, STARTS) as usize;
        self.letters.get(start..start + length).unwrap_or_default()
    }

    /// Returns a slice of letters and spaces, of at least 3 and less than `length` characters, trimmed of
    /// spaces at its ends.
    #[inline]
    pub(super) fn spaced(&self, bits: u64, length: u64) -> &str {
        let (more, bits) = draw::split(bits, length.saturating_sub(3));
        let start = draw::below(bits, STARTS) as usize;
        self.spaced.get(start..start + 3 + more as usize).unwrap_or_default().trim()
    }

    /// Draws the channel of a bid, and returns its name and address.
    #[inline]
    pub(super) fn channel(&self, bits: u64) -> (&str, &str) {
        let hot = HOT_CHANNELS.len() as u64;
        let place = match draw::split(bits, 2) {
            (0, bits) => hot + draw::below(bits, OTHER_CHANNELS),
            (_, bits) => draw::below(bits, hot),
        };
        self.channels.get(place as usize).map_or(("", ""), |(name, address)| (name, address))
    }

    /// Returns the bytes of memory of all texts made in advance.
    pub(super) fn held_bytes(&self) -> usize {
        let channels = self.channels.iter().map(|(name, address)| name.capacity() + address.capacity());
        self.letters.capacity() + self.spaced.capacity() + channels.sum::<usize>()
    }

    /// Composes a web address with three directories of three or four letters.
    fn address(&self, bits: u64) -> String {
        let directory = |place: u64| {
            let (more, bits) = draw::split(draw::at(bits, place), 2);
            self.letters(bits, 3 + more as usize)
        };
        let (first, second, third) = (directory(0), directory(1), directory(2));
        format!("https://www.nexmark.com/{first}/{second}/{third}/item.htm?query=1")
    }
}
