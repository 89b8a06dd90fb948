//! The table of workloads over lines. Each entry has the generator, the query, the hand-written loop, the
//! reference, the columns of the results and the form of recorded lines; `lines.rs` runs all of them.

use std::fs;
use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use thalweg::{Coded, Query, Record, Text, Windowed};
use thalweg_connectors::{RowError, RowWriter};
use thalweg_workloads::loops::LoopReport;
use thalweg_workloads::prose::vocabulary::SCORED;
use thalweg_workloads::prose::{LoopOptions, TextGenerator};
use thalweg_workloads::reference::distinct::{DistinctRow, distinct_rows, recorded_request};
use thalweg_workloads::reference::grep::{GrepRow, grep_rows};
use thalweg_workloads::reference::tweets::{TweetsRow, lexicon_of_lines, tweets_rows};
use thalweg_workloads::reference::wordcount::{WordRow, word_rows};
use thalweg_workloads::tweets::{Lexicon, Mood};
use thalweg_workloads::{distinct, grep, tweets, wordcount};

use super::{LineInputs, LineSource, LineWorkload, RowsOf};
use crate::bench::args::BenchArgs;
use crate::bench::files;
use crate::bench::windows::{reference_windows, sliding_windows, tumbling_windows};

/// The workload `grep`: lines with a match, and matches, per sliding window.
pub struct Grep;

impl LineWorkload for Grep {
    type Out = Windowed<(), grep::Found>;
    type Row = GrepRow;
    const GENERATOR: fn(u64) -> TextGenerator = grep::generator;

    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>) {
        let (strategy, windows) = (args.strategy(), sliding_windows(args));
        grep::query::occurrences_per_window(query, splits, strategy, windows, sink);
    }

    fn run_loop(&self, options: LoopOptions<'_>) -> LoopReport<Self::Out> {
        grep::loops::run(options)
    }

    fn rows(&self, args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<GrepRow> {
        grep_rows(inputs, lines, reference_windows(args))
    }

    fn write(record: &Record<Self::Out>, row: &mut RowWriter) {
        let GrepRow { window_start_ms, lines, occurrences } = GrepRow::from(&record.value);
        row.push_i64(window_start_ms);
        [lines, occurrences].into_iter().for_each(|number| row.push_u64(number));
    }
}

/// The workload `wordcount`: occurrences of each word per sliding window.
pub struct WordCount;

impl LineWorkload for WordCount {
    type Out = Windowed<Text, u64>;
    type Row = WordRow;
    const GENERATOR: fn(u64) -> TextGenerator = wordcount::generator;

    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>) {
        let (strategy, windows) = (args.strategy(), sliding_windows(args));
        wordcount::query::words_per_window(query, splits, strategy, windows, sink);
    }

    fn run_loop(&self, options: LoopOptions<'_>) -> LoopReport<Self::Out> {
        wordcount::loops::run(options)
    }

    fn rows(&self, args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<WordRow> {
        word_rows(inputs, lines, reference_windows(args))
    }

    fn write(record: &Record<Self::Out>, row: &mut RowWriter) {
        let Windowed { window, key, value, .. } = &record.value;
        row.push_i64(window.start.as_micros().div_euclid(1_000));
        row.push_str(key);
        row.push_u64(*value);
    }
}

/// The workload `distinct`: number of different URLs per tumbling window, from generated requests or a web
/// server's log.
pub struct Distinct;

impl LineWorkload for Distinct {
    type Out = Windowed<(), u64>;
    type Row = DistinctRow;
    const GENERATOR: fn(u64) -> TextGenerator = distinct::generator;

    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>) {
        let (strategy, windows) = (args.strategy(), tumbling_windows(args));
        distinct::query::different_per_window(query, splits, strategy, windows, sink);
    }

    fn run_loop(&self, options: LoopOptions<'_>) -> LoopReport<Self::Out> {
        distinct::loops::run(options)
    }

    fn rows(&self, args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<DistinctRow> {
        distinct_rows(inputs, lines, reference_windows(args))
    }

    fn write(record: &Record<Self::Out>, row: &mut RowWriter) {
        let DistinctRow { window_start_ms, urls } = DistinctRow::from(&record.value);
        row.push_i64(window_start_ms);
        row.push_u64(urls);
    }

    fn keep_part(_number: u64, line: &str) -> Result<Record<Range<usize>>, RowError> {
        let request = distinct::weblog::request_of(line);
        request.map_err(|error| RowError { field: "line", reason: error.to_string() })
    }

    fn recorded(_number: usize, line: &str) -> Option<(i64, &str)> {
        recorded_request(line)
    }
}

/// The workload `tweets`: tumbling windows in which the mood changes, with their most frequent words.
pub struct Tweets {
    lexicon: Arc<Lexicon>,
    /// Text of the lexicon's file, for the reference; `None` if the lexicon is that of generated
    /// tweets.
    text: Option<String>,
}

impl Tweets {
    /// Reads the lexicon that the options name, or takes the one of generated tweets. Refuses result files
    /// that would replace the file of the lexicon.
    pub fn of(args: &BenchArgs) -> Result<Self> {
        let workload = match &args.lexicon {
            Some(path) => {
                let shown = path.display();
                let text =
                    fs::read_to_string(path).with_context(|| format!("--lexicon: {shown} cannot be read"))?;
                let lexicon = Lexicon::parse(&text)
                    .map_err(|error| anyhow!("{}: --lexicon: {shown}: {error}", error.code()))?;
                Tweets { lexicon: Arc::new(lexicon), text: Some(text) }
            }
            None => {
                let lexicon = Lexicon::of(SCORED).expect("each word has one score");
                Tweets { lexicon: Arc::new(lexicon), text: None }
            }
        };
        if args.input.is_none() {
            let names: Vec<String> = args.query_names().iter().map(|name| format!("{name}.csv")).collect();
            files::refuse_one_for_two(args, &names, None)?;
        }
        Ok(workload)
    }
}

impl LineWorkload for Tweets {
    type Out = Windowed<(), Mood>;
    type Row = TweetsRow;
    const GENERATOR: fn(u64) -> TextGenerator = tweets::generator;

    fn add<S: LineSource>(&self, query: &Query, args: &BenchArgs, splits: Vec<S>, sink: RowsOf<Self>) {
        let (strategy, windows) = (args.strategy(), tumbling_windows(args));
        tweets::query::moods_and_words(query, splits, strategy, windows, Arc::clone(&self.lexicon), sink);
    }

    fn run_loop(&self, options: LoopOptions<'_>) -> LoopReport<Self::Out> {
        tweets::loops::run(options, &self.lexicon)
    }

    fn rows(&self, args: &BenchArgs, inputs: &mut LineInputs<'_>, lines: &[&str]) -> Vec<TweetsRow> {
        let lexicon = self.text.as_deref().map_or(SCORED.to_vec(), lexicon_of_lines);
        tweets_rows(inputs, lines, &lexicon, reference_windows(args))
    }

    fn write(record: &Record<Self::Out>, row: &mut RowWriter) {
        let TweetsRow { window_start_ms, tweets, score, words } = TweetsRow::from(&record.value);
        row.push_i64(window_start_ms);
        row.push_u64(tweets);
        row.push_i64(score);
        let words: Vec<String> = words.iter().map(|(word, count)| format!("{word}:{count}")).collect();
        row.push_str(&words.join(" "));
    }
}
