//! Tests that compare texts with `str`, and tests of the reuse of text buffers.

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher};

use proptest::prelude::*;

use super::*;
use crate::state::{StateReader, StateWriter};

/// Returns one text in every form in which it can be stored: in the value itself if it is short, alone in a
/// buffer, and as a part of a buffer.
fn forms(text: &str) -> Vec<Text> {
    let within = TextBuffer::new(format!("before {text} behind, so that it is a part"));
    let owned = TextBuffer::new(text.to_owned());
    let (length, buffer) = (text.len() as u32, owned.clone());
    let never_inline = Text(Form::Shared { length, buffer, offset: 0 });
    vec![
        Text::from(text),
        Text::from(text.to_owned()),
        within.text(7..7 + text.len()),
        owned.all(),
        never_inline,
    ]
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hasher that records each call. The hashes of a text and of a `str` must agree for every hasher, not only
/// for SipHash.
#[derive(Default)]
struct Told(Vec<Vec<u8>>);

impl Hasher for Told {
    fn write(&mut self, bytes: &[u8]) {
        self.0.push(bytes.to_vec());
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn told_by(value: &(impl Hash + ?Sized)) -> Vec<Vec<u8>> {
    let mut told = Told::default();
    value.hash(&mut told);
    told.0
}

/// Generates texts whose length is around the maximum for storage in place, with characters of one to four
/// bytes.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(prop_oneof![Just('a'), Just('b'), Just('ß'), Just('€'), Just('😀')], 0..16)
            .prop_map(String::from_iter),
        "[ -~]{18,26}",
        ".{0,60}",
    ]
}

proptest! {
    #[test]
    fn a_text_is_the_str_that_it_is(one in texts(), other in texts()) {
        for text in forms(&one) {
            prop_assert_eq!((text.as_str(), text.as_bytes(), text.len()), (&*one, one.as_bytes(), one.len()));
            prop_assert_eq!((format!("{text:?}"), text.to_string()), (format!("{one:?}"), one.clone()));
            prop_assert_eq!(hash_of(&text), hash_of(one.as_str()));
            prop_assert_eq!(told_by(&text), told_by(one.as_str()));
            prop_assert_eq!(text.detached(), text.clone());
            for another in forms(&other) {
                prop_assert_eq!(text == another, one == other);
                prop_assert_eq!(text.cmp(&another), one.cmp(&other));
                prop_assert_eq!(text == *other, one == other);
            }
        }
    }

    #[test]
    fn parts_of_parts_are_parts(text in texts(), cuts in proptest::array::uniform4(0..100usize)) {
        let boundary = |text: &str, cut: usize| {
            let places: Vec<usize> = (0..=text.len()).filter(|place| text.is_char_boundary(*place)).collect();
            places[cut % places.len()]
        };
        let cut = |text: &str, one: usize, other: usize| {
            let (one, other) = (boundary(text, one), boundary(text, other));
            one.min(other)..one.max(other)
        };
        let outer = cut(&text, cuts[0], cuts[1]);
        let inner = cut(&text[outer.clone()], cuts[2], cuts[3]);
        for form in forms(&text) {
            let part = form.slice(outer.clone());
            prop_assert_eq!(part.as_str(), &text[outer.clone()]);
            prop_assert!(part.slice(inner.clone()) == text[outer.clone()][inner.clone()]);
            prop_assert_eq!(form.slice(..), form.clone());
            prop_assert!(form.slice(outer.start..) == text[outer.start..]);
        }
    }

    /// A text saves the same bytes as a `String`. So a key type may be changed from one to the other and
    /// still read old state.
    #[test]
    fn saved_and_loaded_it_is_the_same(text in texts()) {
        let saved = |value: &dyn Fn(&mut StateWriter)| {
            let mut writer = StateWriter::default();
            value(&mut writer);
            writer.into_bytes()
        };
        let of_string = saved(&|writer| writer.put(&(7u8, &text)).unwrap());
        for form in forms(&text) {
            let bytes = saved(&|writer| writer.put(&(7u8, &form)).unwrap());
            prop_assert_eq!(&bytes, &of_string);
            let mut reader = StateReader::new(&bytes);
            prop_assert_eq!(reader.take::<(u8, Text)>().unwrap(), (7, form));
            reader.finish().unwrap();
        }
    }

    /// Buffers are filled, dropped and refilled in any sequence. Texts stay unchanged, and the reported bytes
    /// are those of all buffers.
    #[test]
    fn buffers_come_back_and_no_text_changes(steps in proptest::collection::vec((0..4u8, 0..9usize), 0..100)) {
        let mut pool = TextPool::new();
        let mut alive: Vec<(Text, String)> = Vec::new();
        for (number, (kind, place)) in steps.into_iter().enumerate() {
            if kind < 2 || alive.is_empty() {
                let mut draft = pool.draft();
                assert!(draft.is_empty());
                let lines: Vec<String> =
                    (0..=place).map(|line| format!("line {line} of buffer {number}, longer than a word")).collect();
                let ranges: Vec<_> = lines.iter().map(|line| draft.push(line)).collect();
                let buffer = pool.seal(draft);
                alive.extend(ranges.into_iter().zip(lines).map(|(range, line)| (buffer.text(range), line)));
            } else {
                alive.swap_remove(place % alive.len());
            }
            for (text, line) in &alive {
                prop_assert_eq!(text.as_str(), line.as_str());
            }
            let sealed: usize = pool.sealed.iter().map(TextBuffer::held_bytes).sum();
            prop_assert_eq!(pool.held_bytes(), sealed + pool.sealed.capacity() * size_of::<TextBuffer>());
        }
    }
}

/// A map with keys of type `Text` can be searched by `str`, and a map with keys of type `String` by `Text`.
#[test]
fn it_can_be_looked_up_by_str() {
    let map: HashMap<Text, u32> =
        [("a", 1), ("a word that is longer than most", 2)].map(|(k, v)| (k.into(), v)).into();
    assert_eq!(
        (map.get("a"), map.get("a word that is longer than most"), map.get("b")),
        (Some(&1), Some(&2), None)
    );
    let hasher = map.hasher();
    assert_eq!(hasher.hash_one(Text::from("b")), hasher.hash_one("b"));
}

#[test]
fn what_is_short_holds_no_buffer_back() {
    let buffer = TextBuffer::new("x".repeat(INLINE_BYTES_MAX + 1));
    assert!(buffer.text(0..INLINE_BYTES_MAX).buffer().is_none());
    assert!(buffer.all().slice(1..).buffer().is_none());
    assert!(buffer.all().buffer().is_some());
    let detached = buffer.all().detached();
    drop(buffer);
    assert_eq!(detached.buffer().map(TextBuffer::as_str), Some(detached.as_str()));
}

#[test]
#[should_panic(expected = "char boundary")]
fn no_text_ends_within_a_character() {
    Text::from("straße").slice(..5);
}

/// A steady stream with a constant number of live buffers makes no more buffers than that number and `LOOKS`
/// together.
#[test]
fn a_steady_stream_makes_no_new_buffers() {
    let mut pool = TextPool::new();
    let mut alive = std::collections::VecDeque::new();
    let mut new = 0;
    for _ in 0..1_000 {
        let mut draft = pool.draft();
        new += usize::from(draft.is_new());
        let line = draft.push("a line that is longer than a word is");
        alive.push_back(pool.seal(draft).text(line));
        if alive.len() > 40 {
            alive.pop_front();
        }
    }
    // A free buffer is found at the latest when all other buffers have been inspected.
    assert!(new <= 40 + pool::LOOKS, "{new} buffers for 40 that are alive");
}

/// When a burst of texts is over, the buffers that it needed are dropped.
#[test]
fn a_burst_leaves_few_buffers() {
    let mut pool = TextPool::new();
    let mut next = || {
        let mut draft = pool.draft();
        let line = draft.push("a line that is longer than a word is");
        (pool.seal(draft).text(line), pool.sealed.len())
    };
    let burst: Vec<Text> = (0..1_000).map(|_| next().0).collect();
    drop(burst);
    let left = (0..1_000).map(|_| next().1).last();
    assert!(left <= Some(20), "{left:?} buffers for one that is alive");
}
