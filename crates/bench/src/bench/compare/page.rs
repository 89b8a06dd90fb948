//! The HTML page of a comparison: a table for readers without JavaScript, and the plots.

use anyhow::{Context, Result};
use thalweg_cli::show;

use super::plots;
use crate::bench::comparison::{Comparison, Run};
use crate::bench::report::{Figures, GroupFigures};
use crate::bench::verdict::{Claim, Verdict, median};

/// HTML of the comparison page with `{{name}}` in place of each table and plot, which are filled in later.
const PAGE: &str = include_str!("../../../assets/compare.html");
/// The JavaScript library that draws the plots: see `assets/vega/README.md`.
const VEGA: &str = include_str!("../../../assets/vega/vega.min.js");
const VEGA_LITE: &str = include_str!("../../../assets/vega/vega-lite.min.js");
const VEGA_EMBED: &str = include_str!("../../../assets/vega/vega-embed.min.js");

/// Returns the whole page of a comparison as HTML.
pub fn page(comparison: &Comparison) -> Result<String> {
    let plots = serde_json::to_string(&plots::plots(comparison)).context("plots are numbers and names")?;
    let parts = [
        ("title", escaped(&comparison.title)),
        ("about", escaped(&comparison.about)),
        ("command", escaped(&comparison.command)),
        ("machine", escaped(&comparison.machine)),
        ("claims", claims(&comparison.claims)),
        ("table", table(comparison) + &groups(comparison) + &queues(comparison)),
        ("parameters", parameters(comparison)),
        ("vega", VEGA.to_owned()),
        ("vega_lite", VEGA_LITE.to_owned()),
        ("vega_embed", VEGA_EMBED.to_owned()),
        // The character `<` is escaped, so that no name in the data can end the script element that
        // holds it.
        ("plots", plots.replace('<', "\\u003c")),
    ];
    Ok(filled(PAGE, &parts))
}

/// Replaces each `{{name}}` of the page once. Text that was filled in is not searched again.
fn filled(page: &str, parts: &[(&str, String)]) -> String {
    let mut text =
        String::with_capacity(page.len() + parts.iter().map(|(_, part)| part.len()).sum::<usize>());
    let mut rest = page;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, after) = behind.split_once("}}").expect("every name of the page is closed");
        let part = parts.iter().find(|(known, _)| *known == name);
        text += before;
        text += &part.unwrap_or_else(|| panic!("the page asks for {name}")).1;
        rest = after;
    }
    text + rest
}

fn claims(claims: &[Claim]) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let mut text = "<h2>The paper's claims</h2>\n<div class=\"scroll\"><table class=\"claims\">\n\
                    <tr><th>paper</th><th>here</th><th>each repetition</th><th>verdict</th></tr>\n"
        .to_owned();
    for claim in claims {
        let Claim { paper, found, repetitions, verdict, .. } = claim;
        let class = match verdict {
            Verdict::Holds => "holds",
            Verdict::Weaker | Verdict::NotTested(_) => "weaker",
            Verdict::Reversed => "fails",
        };
        let each: Vec<String> = repetitions.iter().map(|value| format!("{value:.2}")).collect();
        text += &format!(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{}</td></tr>\n",
            escaped(paper),
            escaped(found),
            each.join(", "),
            escaped(&claim.verdict_text())
        );
    }
    text + "</table></div>\n<p>A claim of a factor <em>holds</em> if its direction is right in every repetition and the factor \
            found is at least the square root of the factor claimed. It is <em>weaker</em> if only the direction of the median \
            is right, and <em>reversed</em> if that is wrong.</p>"
}

/// Returns the HTML table of medians, with a row for each policy or mode and each value of the
/// varied parameter.
fn table(comparison: &Comparison) -> String {
    let axis = comparison.axis.as_deref();
    let mut text = "<table>\n<tr><th></th>".to_owned();
    if let Some(axis) = axis {
        text += &format!("<th>{}</th>", escaped(axis));
    }
    text += "<th>throughput</th><th>latency, mean</th><th>p50</th><th>p99</th>\
             <th>latency inside, mean</th><th>p99</th><th>output delay, mean</th>\
             <th>p99</th><th>result latency, mean</th><th>p99</th><th>overdue markers</th><th>results</th>\
             <th>deadlines met</th><th>choosing</th><th>runs</th></tr>\n";
    for at in comparison.places() {
        for label in comparison.labels() {
            let runs = comparison.runs.iter().filter(|run| run.label == label && run.at == at).count();
            if runs == 0 {
                continue;
            }
            let of = |figure: fn(&Figures) -> Option<f64>| comparison.median(label, at, figure);
            let micros =
                |micros: Option<f64>| micros.map_or("-".to_owned(), |micros| show::latency(micros * 1e3));
            let share =
                |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
            let count = |count: Option<f64>| count.map_or("-".to_owned(), |count| format!("{count:.0}"));
            let mut cells = vec![escaped(label)];
            if axis.is_some() {
                cells.push(at.map_or(String::new(), |at| at.to_string()));
            }
            cells.extend([
                throughput(comparison, label, at),
                micros(of(|figures| figures.latency_us.map(|latency| latency.mean))),
                micros(of(|figures| figures.latency_us.map(|latency| latency.p50))),
                micros(of(|figures| figures.latency_us.map(|latency| latency.p99))),
                micros(of(|figures| figures.processing_latency_us.map(|latency| latency.mean))),
                micros(of(|figures| figures.processing_latency_us.map(|latency| latency.p99))),
                micros(of(|figures| figures.output_delay_us.map(|delay| delay.mean))),
                micros(of(|figures| figures.output_delay_us.map(|delay| delay.p99))),
                micros(of(|figures| figures.result_latency_us.map(|latency| latency.mean))),
                micros(of(|figures| figures.result_latency_us.map(|latency| latency.p99))),
                count(of(|figures| Some(figures.overdue?.markers? as f64))),
                count(of(|figures| Some(figures.overdue?.results? as f64))),
                share(of(|figures| figures.deadlines_met)),
                share(of(|figures| figures.scheduling_share)),
                runs.to_string(),
            ]);
            text += &format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
        }
    }
    text + "</table>"
}

/// Returns the median throughput as text, with the lowest and the highest throughput if they
/// differ.
fn throughput(comparison: &Comparison, label: &str, at: Option<f64>) -> String {
    let runs = comparison.runs.iter().filter(|run| run.label == label && run.at == at);
    let mut all: Vec<f64> = runs.map(|run| run.figures.throughput_per_s).collect();
    all.sort_by(f64::total_cmp);
    let Some(median) = median(all.clone()) else { return "-".to_owned() };
    match (all.first(), all.last()) {
        (Some(least), Some(most)) if least < most => {
            format!("{} ({} to {})", show::rate(median), show::rate(*least), show::rate(*most))
        }
        _ => show::rate(median),
    }
}

/// Returns the HTML table of the mean lengths of queues and the mean priorities of threads, with a row for each task, if
/// threads of some run were steered: medians of the runs with the highest value of the varied parameter.
fn queues(comparison: &Comparison) -> String {
    if comparison.runs.iter().all(|run| run.figures.steer.is_none()) {
        return String::new();
    }
    let most = comparison.places().last().copied().flatten();
    let labels = comparison.labels();
    let mut tasks: Vec<&str> = Vec::new();
    for task in comparison.runs.iter().flat_map(|run| &run.series.tasks) {
        if !tasks.contains(&task.as_str()) {
            tasks.push(task);
        }
    }
    let place = most.map_or(String::new(), |at| format!(" at {at}"));
    let mut text = format!("\n<h2>Queues and priorities{place}</h2>\n<table>\n<tr><th>task</th>");
    for label in &labels {
        text += &format!("<th>{}: mean queue</th><th>nice or priority</th>", escaped(label));
    }
    text += "</tr>\n";
    for task in tasks {
        let mut cells = vec![escaped(task)];
        for label in &labels {
            let runs = || comparison.runs.iter().filter(|run| run.label == *label && run.at == most);
            let pending = |run: &Run| {
                let place = run.series.tasks.iter().position(|known| known == task)?;
                run.series.mean_pending.get(place).copied()
            };
            let shown = |of: Option<f64>| of.map_or("-".to_owned(), |of| format!("{of:.1}"));
            cells.push(shown(median(runs().filter_map(pending).collect())));
            let steered = |run: &Run| {
                let operator = run.figures.steered_operator(task)?;
                Some(if operator.priority > 0.0 { operator.priority } else { operator.nice })
            };
            cells.push(shown(median(runs().filter_map(steered).collect())));
        }
        text += &format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
    }
    text + "</table>"
}

/// Returns the HTML table of medians of each group of queries, with a row for each policy or mode
/// and each value of the varied parameter.
fn groups(comparison: &Comparison) -> String {
    let groups = comparison.groups();
    if groups.is_empty() {
        return String::new();
    }
    let mut text = "\n<table>\n<tr><th></th>".to_owned();
    if let Some(axis) = &comparison.axis {
        text += &format!("<th>{}</th>", escaped(axis));
    }
    text += "<th>queries</th><th>throughput</th><th>latency, mean</th><th>p50</th><th>p99</th><th>output delay, p99</th>\
             <th>results p50</th><th>p99</th><th>last event p50</th><th>p99</th>\
             <th>overdue</th><th>deadlines met</th><th>in time</th></tr>\n";
    for at in comparison.places() {
        for (label, group) in
            comparison.labels().into_iter().flat_map(|label| groups.iter().map(move |group| (label, group)))
        {
            let of = |figure: fn(&GroupFigures) -> Option<f64>| {
                comparison.median_of_group(label, at, group, figure)
            };
            let Some(throughput) = of(|figures| Some(figures.throughput_per_s)) else { continue };
            let micros =
                |micros: Option<f64>| micros.map_or("-".to_owned(), |micros| show::latency(micros * 1e3));
            let share =
                |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0));
            let mut cells = vec![escaped(label)];
            if comparison.axis.is_some() {
                cells.push(at.map_or(String::new(), |at| at.to_string()));
            }
            cells.extend([
                escaped(group),
                show::rate(throughput),
                micros(of(|figures| figures.latency_us.map(|latency| latency.mean))),
                micros(of(|figures| figures.latency_us.map(|latency| latency.p50))),
                micros(of(|figures| figures.latency_us.map(|latency| latency.p99))),
                micros(of(|figures| figures.output_delay_us.map(|delay| delay.p99))),
                micros(of(|figures| figures.results_us().map(|latency| latency.p50))),
                micros(of(|figures| figures.results_us().map(|latency| latency.p99))),
                micros(of(|figures| figures.events_us().map(|latency| latency.p50))),
                micros(of(|figures| figures.events_us().map(|latency| latency.p99))),
                of(|figures| Some(figures.overdue?.results? as f64))
                    .map_or("-".to_owned(), |count| format!("{count:.0}")),
                share(of(|figures| figures.deadlines_met)),
                share(of(|figures| figures.in_time)),
            ]);
            text += &format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>"));
        }
    }
    text + "</table>"
}

/// Returns the HTML table of the parameters of policies, with a row for each policy or mode that has some. All runs
/// of a policy or mode have the same.
fn parameters(comparison: &Comparison) -> String {
    let of_label = |label: &str| {
        let figures = comparison.runs.iter().find(|run| run.label == label).map(|run| &run.figures)?;
        let (policy, parameters) = (figures.policy.as_ref()?, figures.policy_parameters.as_ref()?);
        let cells = [label, policy.as_str(), &parameters.text()].map(escaped);
        Some(format!("<tr><td>{}</td></tr>\n", cells.join("</td><td>")))
    };
    let rows: String = comparison.labels().into_iter().filter_map(of_label).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = "<h2>Parameters of policies</h2>\n<div class=\"scroll\"><table class=\"claims\">\n\
                <tr><th></th><th>policy</th><th>parameters</th></tr>\n";
    format!("{head}{rows}</table></div>")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_in_is_not_looked_through_again() {
        let parts = [("a", "{{b}}".to_owned()), ("b", "<x>".to_owned())];
        assert_eq!(filled("1 {{a}} 2 {{b}} 3", &parts), "1 {{b}} 2 <x> 3");
        assert_eq!(escaped("a < b & c"), "a &lt; b &amp; c");
    }

    /// None of the embedded scripts contains the end tag of a script, which would end its element
    /// too early.
    #[test]
    fn nothing_that_is_embedded_ends_its_element() {
        for script in [VEGA, VEGA_LITE, VEGA_EMBED] {
            assert!(!script.contains("</script"));
        }
    }
}
