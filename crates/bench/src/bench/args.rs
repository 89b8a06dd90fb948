//! The options of `bench`: one field each, with its name, unit, default and help.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use thalweg::{
    Aims, Chaining, CostClock, EdgeLimits, Engine, EngineBuilder, Graph, Layout, Parallel, Query, Span,
    WatermarkStrategy,
};
use thalweg_cli::cost_clock::CostClockOption;
use thalweg_cli::failure::{self, WrongOption};
use thalweg_cli::options;
use thalweg_cli::policy_options::PolicyOptions;
use thalweg_cli::steering;
use thalweg_connectors::{Arrivals, Delay, EarlyShare, RateStep};
use thalweg_runtime::limits;
use thalweg_scheduling::{Policy, Settings, StreamBox, Trace, Traced, UnknownPolicy, policy};
use thalweg_workloads::loops::LoopKind;
use thalweg_workloads::lrb::LrbWindows;
use thalweg_workloads::riot::work;

use super::ablate::{self, Ablate};
use super::chain;
use super::explained::Explained;
use super::modes::{ExecutionOption, MemoryOption};
use super::observe::Observer;
use super::parallel::ParallelOption;
use super::parameters::PolicyParameters;
use super::steer::{SteerOption, SteerPlan};
use super::target::Target;
use super::workload::{Facts, Workload};
use crate::values::load::{self as changes, InputDelays, ShareStep, Steps};
use crate::values::{self, Aggressor, OnBadOption, Rate};

const EXAMPLES: &str = "\
Examples:
  thalweg bench ysb --workers 2
  thalweg bench ysb --rate 1M --seconds 10 --output json
  thalweg bench ysb --queries 8 --workers 2 --chain none
  thalweg bench ysb --keys 1M --workers 2
  thalweg bench nexmark-q5 --rate 500k --workers 2
  thalweg bench ysb --rate 50k --arrivals pareto:1.5 --delay zipf:0.99
  thalweg bench nyt --input trips.csv.gz --window 60s --results out
  thalweg bench etl --rate 1000 --operator-cost 50us --execution threads --chain none
  thalweg bench tenants --aggressor 2x --policy cameo_llf,fcfs --out page
  thalweg bench lrb-full --input cars.csv.gz --tolls tolls.csv.gz --results out

Exit code 0: the results are right; 1: they are not, or the run failed; 2: the
command line is wrong. Ctrl-C ends the run early and shows what was measured.";

/// Least and greatest `--operator-cost`.
const OPERATOR_COSTS: [Span; 2] = [Span::ZERO, Span::from_micros(work::COST_US_MAX)];

/// Time by which early records precede the others: an epoch, which is one second of event time.
const EPOCH: Span = Span::from_secs(1);

/// The options of `bench`: the workload of a run and its settings.
#[derive(Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// The workload to run, or the experiment of a paper to repeat. An experiment needs --out: its page there
    /// shows the paper's claims beside what was found.
    #[arg(value_name = "WORKLOAD", value_enum)]
    pub target: Target,
    /// Form of the query: the typed interface, SQL, or one of the hand-written loops that the engine is measured against.
    #[arg(long, value_enum, default_value_t = Api::Typed)]
    pub api: Api,
    /// Threads that run the tasks.
    #[arg(long, value_enum, default_value_t = ExecutionOption::Workers)]
    pub execution: ExecutionOption,
    /// Memory of the edges between tasks.
    #[arg(long, value_enum, default_value_t = MemoryOption::Blocks)]
    pub memory: MemoryOption,
    /// Policy that picks the next task of a worker. Several policies, such as fcfs,enjima, run by turns and
    /// are compared; --out names the folder of the results.
    #[arg(long, value_name = "POLICY", value_delimiter = ',', default_value = "enjima")]
    #[arg(value_parser = PossibleValuesParser::new(policy::names()))]
    pub policy: Vec<String>,
    /// Give the threads of --execution threads priorities by a policy, in one of these forms: nice, nice-linear, rt
    /// (SCHED_RR), fifo, or shares, shares-linear and limit of control groups; for example congestion:nice. Costs of
    /// operators are CPU times then.
    #[arg(long, value_name = "POLICY:FORM", value_parser = SteerOption::parsed)]
    pub steer: Option<SteerOption>,
    /// Time between two looks of --steer at the queues, from 1ms to 60s.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = options::span_within(steering::PERIODS))]
    #[arg(default_value = "100ms", requires = "steer")]
    pub period: Span,
    /// With --steer: take the mean of a queue's lengths at the rounds of the last 10 s (256 at most) for its length.
    /// For policies that read nothing but lengths, costs and selectivities.
    #[arg(long, requires = "steer")]
    pub steer_mean: bool,
    /// Write figures.csv, series.csv, queues.csv, comparison.json and a page with plots, index.html, into this folder.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Show the tasks and links that a query becomes, and run nothing.
    #[arg(long, conflicts_with_all = ["out", "trace"])]
    pub explain: bool,
    /// Write the first 262144 calls to the policy into this file, for `thalweg replay`. This slows the run
    /// down.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Make fewer and shorter runs of an experiment, for a first look.
    #[arg(long)]
    pub quick: bool,
    /// Takes samples of the run, if it is observed.
    #[arg(skip)]
    pub observer: Option<Observer>,
    /// Number of latency-sensitive jobs of the workload `tenants`, if it is not a third of all its jobs.
    #[arg(skip)]
    pub sensitive_jobs: Option<u64>,
    /// Keeps the calls to the policy, for `--trace`.
    #[arg(skip)]
    pub calls: Option<Trace>,
    /// Switch off a mechanism of the engine, to measure its effect. The option may be given several times.
    #[arg(long, value_enum, value_name = "NAME")]
    pub ablate: Vec<Ablate>,
    /// Which operators share a task [default: default where --memory is blocks, else none].
    #[arg(long, value_parser = chain::parser())]
    pub chain: Option<Chaining>,
    /// Make every operator a task of its own, as --chain none does.
    #[arg(long, conflicts_with = "chain")]
    pub isolate: bool,
    /// How many workers may be inside one operator [default: epochs if --workers is above 1 and
    /// --memory is blocks, else serial; etl and stats are always serial].
    #[arg(long, value_enum)]
    pub parallel: Option<ParallelOption>,
    /// Threads that run operators; with --execution threads, cores that their threads may use.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::WORKERS), default_value_t = limits::WORKERS.default)]
    pub workers: u64,
    /// Queries that run at once and share the cache of one generator. Figures are totals over all queries.
    /// The queries are alike, except for mixed, which runs a third of them for each of its workloads, and
    /// tenants, of which one third is latency-sensitive and two thirds are bulk [default: 1; 6 for mixed, 12
    /// for tenants].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::QUERIES))]
    pub queries: Option<u64>,
    /// Sources of each query of tenants and of ipq1 to ipq3, from 1 to 64. They share the records, or with
    /// --message-records the messages, by turns, and a union merges them. Cameo's jobs have 64 [default: one
    /// source, with a split for each worker under --parallel epochs].
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = values::inputs)]
    pub inputs: Option<u64>,
    /// Number of different keys of generated records, such as 1M: campaigns of ysb, each with ten ads (up to 1M),
    /// and of ipq1 and ipq2 (10k), pairs of machines of netmon (100k), keys of join (1G; a record may have 100
    /// matches on average) [default: 100 campaigns, 9702 pairs, and for join as many as a stream has records per
    /// second].
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::keys)]
    pub keys: Option<u64>,
    /// Records per second that each query is offered, such as 20000 or 2.5M; for join, by both streams
    /// together; for nexmark, in events that the query reads. With `max` the generator is drained as fast as possible. For mixed, the rate is an average
    /// over the queries: YSB, LRB and NYT get 12, 3 and 8 of 23 parts. For tenants, it is the rate of each
    /// latency-sensitive query [default there: 64k, in messages of 1,000].
    #[arg(long, allow_hyphen_values = true, value_parser = values::rate, default_value = "max")]
    pub rate: Rate,
    /// Records per second of event time if the generator is drained. It decides how many records a window has
    /// [default: 10M for ysb, nyt and ipq1 to ipq3, 1M for grep, wordcount, distinct, tweets, etl and
    /// stats, 2M for join and ipq4, 500k for netmon, 100k for lrb, 5k for lrb-full; for nexmark, those that the
    /// query reads of 10k of all kinds].
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = values::rate_per_second)]
    pub nominal_rate: Option<u64>,
    /// Time within which a result must be out after its last event has arrived, such as 50ms. Policies that
    /// go by deadlines use it, and the figures show the share of results that were in time [default for
    /// tenants: 800ms; its bulk queries always have 2h].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = options::span)]
    pub latency_target: Option<Span>,
    /// Load offered to all bulk queries of tenants together: records per second, such as 20M, or a multiple
    /// of the load that they take alone, such as 2x, which is measured first [default: 1.92M for each query].
    /// --arrivals and --skew apply to the bulk queries only.
    #[arg(long, value_name = "LOAD", allow_hyphen_values = true, value_parser = values::aggressor)]
    pub aggressor: Option<Aggressor>,
    /// Records per second of each query that get a token. They come before records without a token. For
    /// --policy cameo_token.
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = values::rate_per_second)]
    pub token_rate: Option<u64>,
    /// Parameters of policies.
    #[command(flatten)]
    pub policy_options: PolicyOptions,
    /// Clock by which policies know the costs of operators.
    #[arg(long, value_enum, value_name = "CLOCK", default_value_t = CostClockOption::Wall)]
    pub cost_clock: CostClockOption,
    /// Changes of the rate, such as 2s:20k,4s:5k: each query is offered 20,000 records per second from 2
    /// seconds after the start on, and 5,000 from 4 seconds on. The start is that of the warm-up. Needs a
    /// --rate, which holds until the first change.
    #[arg(long, value_name = "STEPS", allow_hyphen_values = true, value_parser = changes::rate_steps)]
    pub rate_steps: Option<Steps<RateStep>>,
    /// Distribution of the times at which records are sent. With constant they are sent evenly; with poisson
    /// at random, with the --rate on average; with pareto:SHAPE evenly, but every second at a rate of its
    /// own, drawn from Pareto's distribution with the --rate as its mean and 20 times the --rate as its
    /// maximum. The lower the shape, from 1.01 on, the rarer and higher the bursts. Each query draws its own
    /// rates.
    #[arg(long, value_name = "ARRIVALS", allow_hyphen_values = true)]
    #[arg(value_parser = changes::arrivals, default_value = "constant")]
    pub arrivals: Arrivals,
    /// Send records in messages of this many records. All records of a message are sent at the same time.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = changes::message_records)]
    pub message_records: Option<u64>,
    /// Delay of records in transit: none, uniform:SPAN for up to this span, or zipf:EXPONENT for 1 to 1000 ms
    /// by Zipf's law. One delay is drawn for each message, or without --message-records for all records that
    /// are sent within a span as long as the longest delay, 10ms at least. No record overtakes another.
    /// Latency counts from the time at which a record is sent.
    #[arg(long, value_name = "DELAY", allow_hyphen_values = true)]
    #[arg(value_parser = changes::delay, default_value = "none")]
    pub delay: Delay,
    /// Delays of the inputs of each query in transit, such as 0s,200ms: the first input has the first delay, the
    /// second input the second, and so on, by turns. Each is at most 60s and comes on top of --delay. Records
    /// keep their event times, so windows wait for the input with the longest delay. Needs a --rate, and at
    /// least as many --inputs. Both groups of tenants have these delays.
    #[arg(long, value_name = "DELAYS", allow_hyphen_values = true, value_parser = changes::input_delays)]
    pub input_delays: Option<InputDelays>,
    /// Share the load by Zipf's law with this exponent. With 1, the second of several queries has half of the
    /// load of the first, and the third has a third. All queries together have the load that they would have
    /// without skew. If there is only one query, the splits of its generator share its load in this way; with
    /// --inputs, the inputs of each query do.
    #[arg(long, value_name = "EXPONENT", allow_hyphen_values = true)]
    #[arg(value_parser = changes::skew, default_value = "0")]
    pub skew: f64,
    /// Changes of the share of events that pass the filter of ysb, such as 2s:0.6,4s:0.2: a share of 0.6 from
    /// 2 seconds on, and 0.2 from 4 seconds on. Times are in event time, from the first event on. Until the
    /// first change the share is a third.
    #[arg(long, value_name = "STEPS", allow_hyphen_values = true, value_parser = changes::share_steps)]
    pub selectivity_steps: Option<Steps<ShareStep>>,
    /// Deploy each query at a random time within this span, such as 20s, instead of all at once. --warmup and
    /// --seconds count from the deployment of the last query on. With a --rate, the windows of ysb begin when
    /// their query is deployed, so that those of different queries end at different times.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    #[arg(value_parser = options::span, default_value = "0s")]
    pub deploy_within: Span,
    /// Let event time run this many times as fast as the clock, so that long windows fire soon. Windows,
    /// lateness and stamps are in event time, rates and latencies by the clock. Needs a --rate that is a
    /// multiple of this number. Result latency is not reported then.
    #[arg(long, value_name = "TIMES", allow_negative_numbers = true)]
    #[arg(value_parser = values::time_scale, default_value_t = 1)]
    pub time_scale: u64,
    /// Find the highest rate whose mean output delay is at most this span, such as 50ms. The output delay of
    /// a window is the time from when the watermark that closes it was taken in until its results are
    /// delivered. Of up to nine runs, the last one within the span is shown.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = options::span)]
    #[arg(conflicts_with_all = ["rate", "out"])]
    pub target_delay: Option<Span>,
    /// How long to measure a generated workload, in seconds.
    #[arg(long, allow_hyphen_values = true, value_parser = options::measured_seconds, default_value = "5")]
    pub seconds: f64,
    /// How long to run before measuring, in seconds.
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    #[arg(value_parser = options::seconds, default_value = "0.5")]
    pub warmup: f64,
    /// Number of times that the workload is run. Each run has an output of its own.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = values::times, default_value_t = 1)]
    pub repeat: u32,
    /// Size of the windows, such as 500ms or 60s [default: 10s for ysb, 2s for nyt, 30s for grep and
    /// wordcount, 1s for distinct, tweets, netmon, ipq1, ipq3 and ipq4, 10s for ipq2].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = options::span)]
    pub window: Option<Span>,
    /// Time from the start of one window to the start of the next, at most the size of a window [default: 1s
    /// for grep, wordcount and ipq2, the size for ysb, nyt and netmon; distinct, tweets and the other ipq
    /// always have the size].
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = options::span)]
    pub slide: Option<Span>,
    /// Windows of lrb, in whole seconds: size and slide of the windows of accidents, then the size of the
    /// windows of tolls, then that of the last windows, which join both; it is at most that of tolls. With
    /// 5s/3s,6s,2s the last windows are a third of the windows of tolls, as in Klink [default:
    /// 120s/30s,60s,60s].
    #[arg(long, value_name = "WINDOWS", allow_hyphen_values = true, value_parser = values::lrb_windows)]
    pub lrb_windows: Option<LrbWindows>,
    /// Recorded input instead of generated input, .csv or .csv.gz: TLC trip data (nyt), the benchmark's 15
    /// columns without a header (lrb, lrb-full), slice,src_ip,dst_ip,rtt (netmon), where slice n is second n.
    /// Or lines of text, .txt or .txt.gz, whose event times are a microsecond apart (grep, wordcount,
    /// tweets), a web server's log in the combined format (distinct), or messages of sensors in SenML, each behind
    /// its time in milliseconds and a comma, .csv or .csv.gz (etl, stats).
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Historical tolls, .csv or .csv.gz: vid,day,xway,toll without a header (lrb-full). Without them, type 3
    /// requests stay unanswered.
    #[arg(long, value_name = "FILE")]
    pub tolls: Option<PathBuf>,
    /// Scores of words, in the format of AFINN's files: a word, a tab and a whole number on each line
    /// (tweets) [default: the scores of generated tweets].
    #[arg(long, value_name = "FILE")]
    pub lexicon: Option<PathBuf>,
    /// Registered sensors, with a line identifier:location,type each, .txt or .txt.gz (etl); needed with --input
    /// [default: the generated sensors].
    #[arg(long, value_name = "FILE")]
    pub registry: Option<PathBuf>,
    /// Additional CPU time of each operator of etl and stats for each record, such as 100us, at most 10ms. It is
    /// multiplied by a weight of the operator, from 1/4 to 10: parsing costs 5 times as much, annotation and the
    /// Kalman filter 2 times.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    #[arg(value_parser = options::span_within(OPERATOR_COSTS), default_value = "0s")]
    pub operator_cost: Span,
    /// Write the result rows as CSV into this folder: ysb.csv and so on; type0_toll.csv, type1_accident.csv,
    /// type2_balance.csv and type3_daily.csv (lrb-full). With several queries the names are ysb-1.csv and so
    /// on. For nexmark-q10, whose rows are files, it is needed; they lie in a folder nexmark-q10.
    #[arg(long, value_name = "DIR")]
    pub results: Option<PathBuf>,
    /// Treatment of lines of --input that are not understood: fail, skip, or divert:FILE [default: divert to
    /// WORKLOAD.bad.csv in the folder of --results, or else in the current folder].
    #[arg(long, value_name = "CHOICE", value_parser = values::on_bad)]
    pub on_bad: Option<OnBadOption>,
    /// Greatest time by which a record may lie behind the latest record before it. Generated records are
    /// shuffled within this time, at most 1h.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    #[arg(value_parser = options::span, default_value = "0s")]
    pub out_of_order: Span,
    /// Percentage of the generated records that come an epoch early, which is a second of event time. Watermarks then lie
    /// an epoch further back, so that no record is late.
    #[arg(long, value_name = "PERCENT", allow_hyphen_values = true)]
    #[arg(value_parser = values::percent, default_value = "0")]
    pub late_share: f64,
    /// Least advance from one watermark to the next.
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    #[arg(value_parser = options::span, default_value = "1ms")]
    pub watermark_step: Span,
    /// Seed of all random numbers of the run.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = values::seed, default_value_t = 1)]
    pub seed: u64,
    /// Take ads and event types in turn instead of at random (ysb).
    #[arg(long)]
    pub cyclic: bool,
    /// Records per block.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::BLOCK_RECORDS), default_value_t = limits::BLOCK_RECORDS.default)]
    pub block_records: u64,
    /// Blocks per chunk.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(value_parser = options::within(&limits::CHUNK_BLOCKS), default_value_t = limits::CHUNK_BLOCKS.default)]
    pub chunk_blocks: u64,
    /// Memory that edges, state and buffers may hold, and after a run the reference of --input, such as 1GiB
    /// [default: 256MiB, and 16MiB more for each further split of a generator of text; 512MiB for join and
    /// ipq4, which keep some two million records, and for etl and stats, which hold 10 s of input; 1GiB for mixed and
    /// tenants; 2GiB for nexmark; and more for --keys: 1KiB each for ysb, 256 bytes for netmon].
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    #[arg(value_parser = options::bytes_within(&limits::MEMORY_BUDGET_BYTES))]
    pub memory_budget: Option<u64>,
    /// Format of the figures.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
}

/// Form of the query that a run executes: the typed interface, SQL, or a hand-written loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Api {
    /// The typed interface, run by the engine.
    Typed,
    /// A SQL query, run by the engine: one that means the same as the typed one (ysb), or the only form (nexmark).
    Sql,
    /// One hand-written loop per operator (all but nyt and lrb-full).
    LoopBlocks,
    /// One hand-written loop per operator, with a selection vector (ysb).
    LoopSelection,
    /// Two hand-written loops, each for a chain of operators (ysb).
    LoopChains,
    /// One hand-written loop for the whole query (ysb, netmon).
    LoopFused,
}

impl Api {
    /// Returns the kind of hand-written loop that `--api` asks for, if it asks for one.
    pub fn loop_kind(self) -> Option<LoopKind> {
        match self {
            Api::Typed | Api::Sql => None,
            Api::LoopBlocks => Some(LoopKind::Blocks),
            Api::LoopSelection => Some(LoopKind::Selection),
            Api::LoopChains => Some(LoopKind::Chains),
            Api::LoopFused => Some(LoopKind::Fused),
        }
    }
}

/// Format in which the figures of a run are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// A few lines of text for people.
    Text,
    /// One JSON object per run, each on a line of its own.
    Json,
}

#[cfg(test)]
impl BenchArgs {
    /// Parses the words that follow `bench` on a command line, for tests.
    pub fn parsed(words: &str) -> Self {
        use clap::{Args, Command, FromArgMatches};

        let command = BenchArgs::augment_args(Command::new("bench"));
        let words = ["bench"].into_iter().chain(words.split_whitespace());
        BenchArgs::from_arg_matches(&command.get_matches_from(words)).expect("tests know the options")
    }
}

impl BenchArgs {
    /// Returns the workload to run; for an experiment, the workload that it runs.
    pub fn workload(&self) -> Workload {
        match self.target {
            Target::Workload(workload) => workload,
            Target::Experiment(experiment) => experiment.workload(),
        }
    }

    /// Returns the name of the policy. If several policies are compared, returns the first.
    pub fn policy(&self) -> &str {
        self.policy.first().map_or("", String::as_str)
    }

    /// Returns which operators share a task, by the options or their defaults.
    pub fn chaining(&self) -> Chaining {
        let usual = if self.memory == MemoryOption::Blocks { Chaining::Default } else { Chaining::None };
        if self.isolate { Chaining::None } else { self.chain.unwrap_or(usual) }
    }

    /// Returns how many workers may be inside one operator, by the options or their defaults.
    pub fn parallel(&self) -> ParallelOption {
        let is_serial = self.workload().facts().is_serial;
        let may_share = self.workers > 1 && self.memory == MemoryOption::Blocks && !is_serial;
        let default = if may_share { ParallelOption::Epochs } else { ParallelOption::Serial };
        self.parallel.unwrap_or(default)
    }

    /// Returns how the engine divides queries into tasks, by the options.
    pub fn layout(&self) -> Layout {
        let parallel = match self.parallel() {
            ParallelOption::Serial => Parallel::Serial,
            ParallelOption::Epochs => Parallel::Epochs { workers: self.sharers() },
        };
        Layout { chaining: self.chaining(), parallel }
    }

    /// Plans a query with its aims, such as a latency target. With `--explain`, the plan is returned as an
    /// error that ends the run.
    pub fn plan(&self, query: Query) -> Result<Graph> {
        let graph = query.plan(self.layout()).map_err(|error| failure::of_plan(&error))?;
        if self.explain {
            return Err(Explained(graph.physical_plan().to_string()).into());
        }
        Ok(graph.with_aims(self.aims()))
    }

    /// Returns the aims of each query, such as its latency target.
    pub fn aims(&self) -> Aims {
        let latency_target = self.latency_target.map(|target| {
            Duration::from_micros(
                target.as_micros().try_into().expect("a span of an option is not below zero"),
            )
        });
        Aims { latency_target, tokens_per_s: self.token_rate }
    }

    /// Returns the number of splits that generate the input of a query. Each of several inputs is a split.
    pub fn splits(&self) -> usize {
        match (self.several_inputs(), self.parallel()) {
            (Some(inputs), _) => inputs,
            // A join has two streams, which are two inputs for the engine already, so they are not split.
            (None, ParallelOption::Epochs) if self.workload().facts().streams == 1 => self.sharers(),
            (None, ParallelOption::Epochs | ParallelOption::Serial) => 1,
        }
    }

    /// Returns the number of inputs of a query, if it has more than one.
    pub fn several_inputs(&self) -> Option<usize> {
        let inputs = self.inputs.filter(|inputs| *inputs > 1)?;
        Some(usize::try_from(inputs).expect("the bound of inputs fits"))
    }

    /// Returns the number of workers that share an operator: all workers, but at most as many as a task can
    /// have inputs.
    fn sharers(&self) -> usize {
        let workers = self.workers.min(limits::INPUTS_PER_TASK.max);
        usize::try_from(workers).expect("the limit of inputs fits")
    }

    /// Returns the number of queries that run at once.
    pub fn queries(&self) -> u64 {
        self.queries.unwrap_or(self.workload().facts().queries)
    }

    /// Returns the names of the queries: the workload's, followed by a number if there are several.
    pub fn query_names(&self) -> Vec<String> {
        let workload = self.workload().facts().name;
        match self.queries() {
            1 => vec![workload.to_owned()],
            queries => (1..=queries).map(|number| format!("{workload}-{number}")).collect(),
        }
    }

    /// Returns how sources make watermarks. If some records come an epoch early, all other records are an
    /// epoch behind them, and the watermark follows these other records.
    pub fn strategy(&self) -> WatermarkStrategy {
        let early = if self.input.is_none() && 0.0 < self.late_share { EPOCH } else { Span::ZERO };
        let behind_us = self.out_of_order.as_micros().saturating_add(early.as_micros());
        WatermarkStrategy::bounded_out_of_order(Span::from_micros(behind_us)).with_step(self.watermark_step)
    }

    /// Returns which generated records come an epoch early.
    pub fn early(&self) -> EarlyShare {
        EarlyShare { percent: self.late_share, epoch: EPOCH, seed: self.seed }
    }

    /// Returns the parameters that users set for policies. The noise of costs is drawn from the seed of the run,
    /// unless it has a seed of its own.
    pub fn policy_settings(&self) -> Settings {
        let usual = Settings { cameo_noise_seed: self.seed, ..Settings::default() };
        self.policy_options.settings_over(usual)
    }

    /// Makes the policy of a run, by its name and its parameters.
    fn made_policy(&self) -> Result<Box<dyn Policy>, UnknownPolicy> {
        if self.ablate.contains(&Ablate::NoPriority) {
            Ok(Box::new(StreamBox::without_priority()))
        } else {
            policy::configured(self.policy(), &self.policy_settings())
        }
    }

    /// Returns the parameters of the policy of a run, as the policy tells them; `None` if no policy chooses
    /// the tasks.
    pub fn policy_parameters(&self) -> Option<PolicyParameters> {
        let is_asked = self.execution == ExecutionOption::Workers;
        let policy = self.made_policy().ok().filter(|_| is_asked);
        policy.map(|policy| PolicyParameters(policy.parameters()))
    }

    /// Returns how the threads of the run are steered; `None` if the operating system alone schedules them.
    pub fn steer_plan(&self) -> Option<SteerPlan> {
        let option = self.steer.clone()?;
        let (period, takes_means) = (self.period, self.steer_mean);
        Some(SteerPlan { option, period, takes_means, settings: self.policy_settings() })
    }

    /// Returns the builder of an engine with all settings of the options.
    pub fn engine(&self) -> Result<EngineBuilder> {
        let policy = self.made_policy();
        let policy = policy.map_err(|error| WrongOption(format!("--policy: {error}")))?;
        let within_32_bits = |number| u32::try_from(number).expect("limits of edges fit 32 bits");
        let Facts { chunks_per_edge, marks_per_edge, .. } = *self.workload().facts();
        let edges = EdgeLimits {
            block_records: within_32_bits(self.block_records),
            chunk_blocks: within_32_bits(self.chunk_blocks),
            chunks_max: chunks_per_edge,
            marks_max: marks_per_edge,
        };
        let builder = Engine::builder().workers(self.workers).memory_budget_bytes(self.memory_budget_bytes());
        let policy = match &self.calls {
            Some(calls) => Box::new(Traced::new(policy, calls)),
            None => policy,
        };
        let policy = match &self.observer {
            Some(observer) => observer.watch(policy),
            None => policy,
        };
        let builder = builder.execution(self.execution.execution()).memory(self.memory.memory());
        // The system may take a thread off its core in the middle of a run, so wall time is no cost there.
        let cost_clock = if self.steer.is_some() { CostClock::Cpu } else { self.cost_clock.cost_clock() };
        let builder = builder.cost_clock(cost_clock).steered(self.steer.is_some());
        Ok(builder.edges(edges).ablations(ablate::of_engine(&self.ablate)).policy(policy))
    }

    /// Returns the memory budget of the engine, in bytes, by the options or their defaults.
    pub fn memory_budget_bytes(&self) -> u64 {
        let Facts { memory_budget_bytes, split_bytes, keys, .. } = self.workload().facts();
        let further_splits = self.splits() as u64 - 1;
        let of_keys = keys.as_ref().map_or(0, |keys| keys.bytes * self.keys.unwrap_or(0) * self.queries());
        self.memory_budget.unwrap_or(memory_budget_bytes + split_bytes * further_splits + of_keys)
    }

    /// Returns whether event times go by the clock at a rate, so that both can be compared.
    pub fn is_by_clock(&self) -> bool {
        self.time_scale == 1 && self.workload().facts().nexmark.is_none()
    }

    /// Returns the records per second of event time, of all streams together, that apply if the generator is
    /// drained.
    pub fn nominal_rate_per_s(&self) -> u64 {
        self.nominal_rate.unwrap_or(self.workload().facts().nominal_rate_per_s)
    }

    /// Returns the path of the file `name` in the folder of results, and makes the folder if it does not exist;
    /// `None` if no results are wanted.
    pub fn results_file(&self, name: &str) -> Result<Option<PathBuf>> {
        let Some(folder) = &self.results else { return Ok(None) };
        if folder.exists() && !folder.is_dir() {
            bail!("--results: {} is a file, but must be a folder; take another path", folder.display());
        }
        std::fs::create_dir_all(folder)
            .with_context(|| format!("--results: the folder {} cannot be made", folder.display()))?;
        let file = folder.join(name);
        if file.is_dir() {
            bail!("--results: {} is a folder, but a file of that name is to be written", file.display());
        }
        Ok(Some(file))
    }
}
