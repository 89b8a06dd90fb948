//! The table: medians of speeds, and of ratios within a round.

use std::fmt::Write;

use serde_json::{Value, json};

use super::side::Side;
use super::{Plan, THREADS};
use crate::engines::median;

/// A side, and its speed in each round for each number of threads.
pub(super) struct Measured {
    pub(super) side: Side,
    pub(super) figures: [Vec<f64>; THREADS.len()],
}

impl Measured {
    /// Creates a side without figures.
    pub(super) fn new(side: Side) -> Self {
        Measured { side, figures: Default::default() }
    }
}

/// All figures of a command.
pub(super) struct Table<'a> {
    pub(super) measured: Vec<Measured>,
    /// Names of the peers, with their versions.
    pub(super) versions: Vec<(&'static str, String)>,
    pub(super) plan: &'a Plan,
}

impl Table<'_> {
    /// Writes the table as Markdown.
    pub(super) fn markdown(&self) -> String {
        let mut page =
            "| question, and unit of speeds | program | 1 thread | 2 threads | engine / peer, 1 | 2 |\n"
                .to_owned();
        page.push_str("|---|---|---|---|---|---|\n");
        let mut last = None;
        for measured in &self.measured {
            let question = measured.side.question;
            let title = if last == Some(question) { String::new() } else { question.title(self.plan.sizes) };
            last = Some(question);
            let speeds = measured.figures.iter().map(|figures| shown(median(figures)));
            let ratios = (0..THREADS.len()).map(|threads| shown(self.ratio(measured, threads)));
            let cells: Vec<String> = speeds.chain(ratios).collect();
            let _ = writeln!(page, "| {title} | {} | {} |", measured.side.title(), cells.join(" | "));
        }
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let _ = writeln!(
            page,
            "\nMedians of {} interleaved rounds; {}. Programs in Rust are compared with the typed interface, and the others with \
             SQL.",
            self.plan.rounds,
            versions.join(", ")
        );
        page
    }

    /// Returns all figures.
    pub(super) fn json(&self) -> Value {
        let sides = self.measured.iter().flat_map(|measured| {
            THREADS.iter().enumerate().map(move |(place, threads)| {
                json!({
                    "question": measured.side.question.name(),
                    "title": measured.side.question.title(self.plan.sizes),
                    "program": measured.side.title(),
                    "compared_with": measured.side.compared_with().map(Side::title),
                    "threads": threads,
                    "speeds": measured.figures[place],
                    "median": median(&measured.figures[place]),
                    "engine_to_peer": self.ratio(measured, place),
                })
            })
        });
        let versions: Vec<Value> =
            self.versions.iter().map(|(name, version)| json!({ "name": name, "version": version })).collect();
        json!({
            "rounds": self.plan.rounds,
            "megabytes": self.plan.sizes.megabytes,
            "percent": self.plan.sizes.percent,
            "seed": 1,
            "peers": versions,
            "sides": sides.collect::<Vec<_>>(),
        })
    }

    /// Returns how many times as fast as the side the engine is: the median of the ratios within a round.
    fn ratio(&self, of: &Measured, threads: usize) -> Option<f64> {
        let engine = of.side.compared_with()?;
        let engine = self.measured.iter().find(|measured| measured.side == engine)?;
        let pairs = engine.figures[threads].iter().zip(&of.figures[threads]);
        median(&pairs.map(|(engine, peer)| engine / peer).collect::<Vec<f64>>())
    }
}

/// Returns a figure with two or three digits that count; `-` for none.
fn shown(figure: Option<f64>) -> String {
    match figure {
        None => "-".to_owned(),
        Some(figure) if figure < 10.0 => format!("{figure:.2}"),
        Some(figure) if figure < 100.0 => format!("{figure:.1}"),
        Some(figure) => format!("{figure:.0}"),
    }
}
