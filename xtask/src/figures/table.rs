//! Tables as Markdown: each figure has a row with its median and spread over all rounds, and its target.

pub(super) struct Table {
    /// Head of the first column: the name of the figures, and their unit if all have the same.
    pub(super) head: String,
    pub(super) rows: Vec<Row>,
}

/// A row of a table, which shows one figure.
pub(super) struct Row {
    pub(super) title: String,
    /// The values of the figure, one for each round of measurements.
    pub(super) figures: Vec<f64>,
    pub(super) unit: Unit,
    /// The values of the ceiling, one for each round of measurements; `None` if the figure has no ceiling. A
    /// ceiling is the figure of another run that this one can hardly exceed, such as the speed of a
    /// hand-written loop.
    pub(super) ceiling: Option<Vec<f64>>,
    pub(super) target: Option<Target>,
}

/// The way in which a figure is written in a table.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// The figure is written as a whole number. The head of the table names its unit.
    Whole,
    Micros,
    Percent,
    Ratio,
}

/// Bound of the median of a figure over all rounds.
#[derive(Clone, Copy)]
pub(super) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// The median should be at least this ratio of the median of the row's ceiling.
    OfCeiling(f64),
}

impl Row {
    /// Creates a row without a ceiling and without a target.
    pub(super) fn new(title: impl Into<String>, figures: &[f64], unit: Unit) -> Self {
        Row { title: title.into(), figures: figures.to_vec(), unit, ceiling: None, target: None }
    }

    /// Returns this row of the table with a target for its figure.
    pub(super) fn aiming(self, target: Target) -> Self {
        Row { target: Some(target), ..self }
    }
}

impl Table {
    /// Returns the table as Markdown. It has a column for ceilings if a row has a ceiling.
    pub(super) fn markdown(&self) -> String {
        let has_ceilings = self.rows.iter().any(|row| row.ceiling.is_some());
        let ceiling = |cell: &str| if has_ceilings { format!(" {cell} |") } else { String::new() };
        let mut page =
            format!("| {} | median | least..most |{} target |\n", self.head, ceiling("of its ceiling"));
        page += &format!("|---|---|---|{}---|\n", if has_ceilings { "---|" } else { "" });
        for Row { title, figures, unit, ceiling: of, target } in &self.rows {
            let sorted = sorted(figures);
            let (middle, least, most) = (median(figures), sorted[0], sorted[sorted.len() - 1]);
            let ratio = of.as_ref().map(|of| middle / median(of));
            let target = target.map_or("-".to_owned(), |target| target.text(middle, ratio, *unit));
            let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
            page += &format!(
                "| {title} | {} | {}..{} |{} {target} |\n",
                unit.text(middle),
                unit.number(least),
                unit.text(most),
                ceiling(&ratio)
            );
        }
        page
    }
}

impl Target {
    fn text(self, median: f64, of_ceiling: Option<f64>, unit: Unit) -> String {
        let (words, is_met) = match self {
            Target::AtLeast(bound) => (format!("at least {}", unit.text(bound)), bound <= median),
            Target::AtMost(bound) => (format!("at most {}", unit.text(bound)), median <= bound),
            Target::OfCeiling(bound) => {
                (format!("at least {bound:.2} of it"), of_ceiling.is_some_and(|ratio| bound <= ratio))
            }
        };
        format!("{words}{}", if is_met { "" } else { ": missed" })
    }
}

impl Unit {
    fn number(self, figure: f64) -> String {
        match self {
            Unit::Whole => format!("{figure:.0}"),
            Unit::Micros if figure < 99.95 => format!("{figure:.1}"),
            Unit::Micros => format!("{figure:.0}"),
            Unit::Percent | Unit::Ratio => format!("{figure:.2}"),
        }
    }

    fn text(self, figure: f64) -> String {
        let unit = match self {
            Unit::Whole | Unit::Ratio => "",
            Unit::Micros => " us",
            Unit::Percent => " %",
        };
        self.number(figure) + unit
    }
}

/// Returns the median of some figures. If their number is even, it is the upper of the two in the middle.
pub(super) fn median(figures: &[f64]) -> f64 {
    sorted(figures)[figures.len() / 2]
}

fn sorted(figures: &[f64]) -> Vec<f64> {
    let mut figures = figures.to_vec();
    figures.sort_by(f64::total_cmp);
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rows: Vec<Row>, markdown: &str) {
        assert_eq!(Table { head: "figure".to_owned(), rows }.markdown(), markdown);
    }

    #[test]
    fn medians_stand_beside_their_targets() {
        check(
            vec![
                Row::new("speed", &[200.0, 100.0, 900.0], Unit::Whole).aiming(Target::AtLeast(200.0)),
                Row::new("delay", &[1_250.4, 55.26, 99.96], Unit::Micros).aiming(Target::AtMost(99.0)),
                Row::new("share", &[0.5], Unit::Percent).aiming(Target::AtMost(1.0)),
                Row::new("part", &[0.949], Unit::Ratio),
            ],
            "| figure | median | least..most | target |\n\
             |---|---|---|---|\n\
             | speed | 200 | 100..900 | at least 200 |\n\
             | delay | 100 us | 55.3..1250 us | at most 99.0 us: missed |\n\
             | share | 0.50 % | 0.50..0.50 % | at most 1.00 % |\n\
             | part | 0.95 | 0.95..0.95 | - |\n",
        );
    }

    /// The ratio to a ceiling is the ratio of the two medians, and a table with a ceiling has a column for
    /// it.
    #[test]
    fn ceilings_have_a_column_where_there_are_any() {
        let ceiling = Some(vec![200.0, 100.0, 900.0]);
        check(
            vec![
                Row::new("loop", &[200.0, 100.0, 900.0], Unit::Whole),
                Row {
                    ceiling: ceiling.clone(),
                    ..Row::new("engine", &[60.0, 50.0, 70.0], Unit::Whole).aiming(Target::OfCeiling(0.8))
                },
                Row { ceiling, ..Row::new("fast", &[170.0], Unit::Whole).aiming(Target::OfCeiling(0.8)) },
            ],
            "| figure | median | least..most | of its ceiling | target |\n\
             |---|---|---|---|---|\n\
             | loop | 200 | 100..900 | - | - |\n\
             | engine | 60 | 50..70 | 0.30 | at least 0.80 of it: missed |\n\
             | fast | 170 | 170..170 | 0.85 | at least 0.80 of it |\n",
        );
    }
}
