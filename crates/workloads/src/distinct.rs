//! Distinct: counts the different URLs that were requested in each window.
//!
//! ```text
//! source -> distinct per window, 1 s -> tumbling count, 1 s -> sink
//! ```
//!
//! 1. [`generator()`]: requests that follow from a seed.
//! 2. [`weblog`]: recorded requests, in the combined log format.
//! 3. [`query`]: the query in the typed interface.
//! 4. [`loops`]: the same job without an engine.
//!
//! The results must equal [`crate::reference::distinct`].
//!
//! Source: the StreamBox paper, section 9, "Counting Distinct URLs"; its data set has 70 million URLs.

pub mod loops;
pub mod query;
pub mod weblog;

use thalweg_model::{Entropy, SeededEntropy, Span, Windowed};

use crate::prose::TextGenerator;
use crate::prose::vocabulary::Vocabulary;
use crate::reference::distinct::DistinctRow;

/// Window size of the counts of different URLs, unless a run asks for another.
pub const WINDOW: Span = Span::from_secs(1);

/// Number of different URLs in the generated requests. They take 5 MB of text, and 3 MB for the place of each
/// URL in it.
pub const URLS: usize = 1 << 17;

/// Number of generated requests after which the sequence repeats; their indexes take 4 MB. It exceeds the
/// requests of one second, so that no two windows are alike.
pub const REQUESTS: usize = 1 << 20;

/// Returns requests that follow from a seed: the URL of rank `rank` is drawn with a probability proportional to
/// `1 / rank`.
pub fn generator(seed: u64) -> TextGenerator {
    let vocabulary = Vocabulary::new();
    let mut entropy = SeededEntropy::new(seed);
    let urls: Vec<String> = (0..URLS)
        .map(|number| {
            let [folder, page] = [(); 2].map(|()| vocabulary.draw(&mut entropy));
            format!("/archive/{folder}/{page}/{number:05x}.html")
        })
        .collect();
    let ranks = (URLS + 1) as f64;
    TextGenerator::of(urls.into_iter())
        .drawn(REQUESTS, || (ranks.powf(entropy.unit()) as usize - 1).min(URLS - 1))
}

impl From<&Windowed<(), u64>> for DistinctRow {
    fn from(result: &Windowed<(), u64>) -> Self {
        let window_start_ms = result.window.start.as_micros().div_euclid(1_000);
        DistinctRow { window_start_ms, urls: result.value }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn many_urls_are_different_and_a_few_are_everywhere() {
        let generator = generator(1);
        let requests = || (0..REQUESTS as u64).map(|index| &generator.texts()[generator.place_of(index)]);
        let urls: HashSet<&str> = requests().map(|url| url.as_str()).collect();
        assert!((URLS / 2..URLS).contains(&urls.len()), "{} URLs", urls.len());
        let first = &generator.texts()[0];
        let often = requests().filter(|url| url.ends_with("/00000.html")).count();
        assert!((50_000..70_000).contains(&often), "{often} of {REQUESTS}");
        assert!(first.buffer().is_some(), "a URL is no word");
    }
}
