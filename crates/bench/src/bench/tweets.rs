//! `bench tweets`: the query, or its hand-written loop, from generated or recorded tweets.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use thalweg::{Coded, Graph, Query, Record, Source, Text, Windowed};
use thalweg_cli::interrupt::Interrupt;
use thalweg_connectors::RowWriter;
use thalweg_workloads::prose::TextGenerator;
use thalweg_workloads::prose::vocabulary::SCORED;
use thalweg_workloads::reference::lines::LineInput;
use thalweg_workloads::reference::tweets::{TweetsRow, lexicon_of_lines, tweets_rows};
use thalweg_workloads::tweets::{self, Lexicon, Mood, Sentiment, loops, query};

use super::args::BenchArgs;
use super::lines::{self, LineWorkload};
use super::report::Figures;
use super::rows::{Kept, Rows};
use super::{files, windows};

/// Runs the query of tweets, or its hand-written loop.
pub fn run(args: &BenchArgs, interrupt: Option<&Interrupt>) -> Result<Figures> {
    let workload = Tweets::of(args)?;
    if args.input.is_none() {
        let names: Vec<String> = args.query_names().iter().map(|name| format!("{name}.csv")).collect();
        files::refuse_one_for_two(args, &names, None)?;
    }
    lines::run(args, &workload, |options| loops::run(options, &workload.lexicon), row_of, interrupt)
}

struct Tweets {
    lexicon: Arc<Lexicon>,
    /// Text of the lexicon's file, for the reference; `None` if the lexicon is that of generated
    /// tweets.
    text: Option<String>,
}

impl Tweets {
    /// Reads the lexicon that the options name, or takes the one of generated tweets.
    fn of(args: &BenchArgs) -> Result<Self> {
        let Some(path) = &args.lexicon else {
            let lexicon = Lexicon::of(SCORED).expect("each word has one score");
            return Ok(Tweets { lexicon: Arc::new(lexicon), text: None });
        };
        let shown = path.display();
        let text = fs::read_to_string(path).with_context(|| format!("--lexicon: {shown} cannot be read"))?;
        let lexicon = Lexicon::parse(&text)
            .map_err(|error| anyhow!("{}: --lexicon: {shown}: {error}", error.code()))?;
        Ok(Tweets { lexicon: Arc::new(lexicon), text: Some(text) })
    }
}

impl LineWorkload for Tweets {
    type Row = TweetsRow;

    fn generator(seed: u64) -> TextGenerator {
        tweets::generator(seed)
    }

    fn plan<S>(
        &self,
        args: &BenchArgs,
        name: &str,
        splits: impl IntoIterator<Item = S>,
    ) -> Result<(Graph, Kept<TweetsRow>)>
    where
        S: Source<Item = Text> + 'static,
    {
        let file = args.results_file(&format!("{name}.csv"))?;
        let (sink, kept) = Rows::new(|record| row_of(&record.value), file, write_row)?;
        let query = Query::new(name);
        let (windows, lexicon) = (windows::tumbling_windows(args), Arc::clone(&self.lexicon));
        query::moods_and_words(&query, splits, args.strategy(), windows, lexicon, sink);
        Ok((args.plan(query)?, kept))
    }

    fn rows(
        &self,
        args: &BenchArgs,
        inputs: &mut dyn Iterator<Item = LineInput>,
        lines: &[&str],
    ) -> Vec<TweetsRow> {
        let lexicon = self.text.as_deref().map_or(SCORED.to_vec(), lexicon_of_lines);
        tweets_rows(inputs, lines, &lexicon, windows::reference_windows(args))
    }
}

fn row_of(result: &Windowed<(), Mood>) -> TweetsRow {
    let Mood { sentiment: Sentiment { tweets, score }, words } = &result.value;
    TweetsRow {
        window_start_ms: result.window.start.as_micros().div_euclid(1_000),
        tweets: *tweets,
        score: *score,
        words: words.iter().map(|(count, word)| (word.to_string(), *count)).collect(),
    }
}

fn write_row(record: &Record<Windowed<(), Mood>>, row: &mut RowWriter) {
    let TweetsRow { window_start_ms, tweets, score, words } = row_of(&record.value);
    row.push_i64(window_start_ms);
    row.push_u64(tweets);
    row.push_i64(score);
    let words: Vec<String> = words.iter().map(|(word, count)| format!("{word}:{count}")).collect();
    row.push_str(&words.join(" "));
}
