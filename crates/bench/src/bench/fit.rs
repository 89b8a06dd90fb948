//! Checks which options of `bench` go together.
//!
//! A request that cannot be fulfilled is refused. An option that would have no effect is reported, so that
//! nobody compares runs by a setting that neither of them used. Such an option is not refused, so that one
//! script can run every `--api` with the same options.

use anyhow::Result;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use thalweg::{Chaining, SlidingWindows, Span};
use thalweg_cli::failure::WrongOption;
use thalweg_cli::policy_options::PolicyOptions;
use thalweg_connectors::{Arrivals, Delay, PARETO_TIMES_MAX, zipf_parts};
use thalweg_runtime::limits;
use thalweg_scheduling::policy::{cameo, klink, streambox};
use thalweg_workloads::lrb::LrbWindows;

use super::ablate::{self, Ablate};
use super::args::{Api, BenchArgs};
use super::chain;
use super::files;
use super::load::{self, QueryLoad};
use super::mixed;
use super::modes::{ExecutionOption, MemoryOption};
use super::nexmark::queries;
use super::parallel::ParallelOption;
use super::steer::SteerOption;
use super::target::{Experiment, Target};
use super::tenants;
use super::windows;
use super::workload::{Facts, Keys, Windows, Workload};
use crate::values::Rate;

/// Largest span of event time within which generated records are shuffled: larger than any run needs, and
/// small enough that the numbers which generators compute from an index stay in range.
const DISORDER_MAX: Span = Span::from_secs(3_600);

/// Longest time over which the queries of a run may be deployed; a longer run makes no sense.
const DEPLOY_WITHIN_MAX: Span = Span::from_secs(3_600);

/// Number of repetitions of an experiment, unless a run asks for another. An effect that has the same
/// direction in each of them is hardly chance.
const REPETITIONS: u32 = 3;

/// Highest rate of a stream in records per second, the limit of any generator.
const RATE_PER_S_MAX: u64 = 1_000_000_000;

/// Returns the options of each part of the workload whose queries are alike; most workloads have one part.
pub fn parts(args: &BenchArgs) -> Vec<BenchArgs> {
    match args.workload() {
        Workload::Mixed => mixed::parts(args),
        Workload::Tenants => tenants::parts(args),
        _ => vec![args.clone()],
    }
}

/// Refuses options of `bench` that do not fit the workload or each other.
pub fn check(args: &BenchArgs) -> Result<()> {
    let refusal = || {
        let facts = args.workload().facts();
        of_nexmark(args, facts)
            .or_else(|| of_windows(args, facts))
            .or_else(|| of_window_count(args, facts))
            .or_else(|| of_files(args, facts))
            .or_else(|| of_generator(args, facts))
            .or_else(|| of_groups(args, facts))
            .or_else(|| parts(args).iter().find_map(|part| of_rate(part, part.workload().facts())))
            .or_else(|| of_keys(args, facts))
            .or_else(|| of_operators(args, facts))
            .or_else(|| of_memory(args))
            .or_else(|| parts(args).iter().find_map(|part| of_load(part, part.workload().facts())))
            .or_else(|| of_time_scale(args))
            .or_else(|| of_trace(args))
            .or_else(|| of_explain(args))
            .or_else(|| of_ablate(args))
            .or_else(|| of_steer(args))
    };
    refusal()
        .or_else(|| of_loop(args))
        .or_else(|| of_sql(args))
        .map_or(Ok(()), |problem| Err(WrongOption(problem).into()))
}

/// Returns why the mechanisms that `--ablate` switches off do not fit the policy; `None` if they fit.
fn of_ablate(args: &BenchArgs) -> Option<String> {
    let other = args.policy.iter().find(|policy| *policy != streambox::NAME);
    let policy = other.filter(|_| args.ablate.contains(&Ablate::NoPriority))?;
    Some(format!("--ablate no-priority is for --policy streambox: {policy} has no passes to do without"))
}

/// Returns why the threads of a run cannot be steered; `None` if they can, or if nobody asks for it.
fn of_steer(args: &BenchArgs) -> Option<String> {
    args.steer.as_ref()?;
    if args.api.loop_kind().is_some() || args.execution != ExecutionOption::Threads {
        return Some(
            "--steer is for a thread for each task: add --execution threads, or leave it away".to_owned(),
        );
    }
    args.input.is_some().then(|| "--steer is for generated input: leave --input away".to_owned())
}

/// Returns the reason why `--explain` cannot be used with the other options given, if there is one.
fn of_explain(args: &BenchArgs) -> Option<String> {
    if !args.explain {
        return None;
    }
    if matches!(args.target, Target::Experiment(_)) {
        return Some("--explain shows one query, and an experiment runs many: take its workload".to_owned());
    }
    match args.workload() {
        Workload::Mixed | Workload::Tenants => {
            Some("--explain shows one query, and this workload has several: take one of them".to_owned())
        }
        _ if args.api.loop_kind().is_some() => {
            Some("--explain shows the plan of a query, and a loop has none: leave --api away".to_owned())
        }
        _ => None,
    }
}

/// Returns why the options for windows cannot be used as given; `None` if they can.
fn of_windows(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let name = facts.name;
    if args.lrb_windows.is_some() && args.workload() != Workload::Lrb {
        return Some(format!("--lrb-windows is for lrb: leave it away for {name}"));
    }
    let Some(Windows { size, unit, units, may_overlap, .. }) = &facts.windows else {
        let (option, _) =
            [("window", args.window), ("slide", args.slide)].into_iter().find(|(_, span)| span.is_some())?;
        return Some(format!("--{option}: the windows of {name} are part of its rules; leave it away"));
    };
    let is_whole = |span: Span| span >= *unit && span.as_micros() % unit.as_micros() == 0;
    let given = [("window", args.window), ("slide", args.slide)];
    let wrong =
        given.into_iter().find_map(|(option, span)| Some((option, span.filter(|span| !is_whole(*span))?)));
    if let Some((option, span)) = wrong {
        return Some(format!("--{option} is {span}, but {name} takes whole {units}, from {unit} on"));
    }
    let (window, slide) = (args.window.unwrap_or(*size), args.slide?);
    if !may_overlap && slide != window {
        return Some(format!("--slide is {slide}, but windows of {name} lie back to back; leave it away"));
    }
    (window < slide).then(|| {
        format!("--slide is {slide}, but must be at most the windows' size, {window}, or records fall between them")
    })
}

/// Returns an error message if windows are so long and so dense that a record would belong to too many of
/// them.
fn of_window_count(args: &BenchArgs, facts: &Facts) -> Option<String> {
    facts.windows.as_ref()?;
    let (size, slide) = windows::sizes(args);
    SlidingWindows::of_size(size).every(slide).err().map(|error| format!("--window, --slide: {error}"))
}

/// Returns why the options that name files to be read cannot be used as given; `None` if they can.
fn of_files(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let name = facts.name;
    if args.tolls.is_some() && !facts.has_tolls {
        let others = Workload::names_of(|facts| facts.has_tolls);
        return Some(format!("--tolls is for {others}: leave it away for {name}"));
    }
    if args.lexicon.is_some() && !facts.has_lexicon {
        let others = Workload::names_of(|facts| facts.has_lexicon);
        return Some(format!("--lexicon is for {others}: leave it away for {name}"));
    }
    if args.registry.is_some() && !facts.has_registry {
        let others = Workload::names_of(|facts| facts.has_registry);
        return Some(format!("--registry is for {others}: leave it away for {name}"));
    }
    args.input.as_ref()?;
    if !facts.is_recorded {
        let others = Workload::names_of(|facts| facts.is_recorded);
        return Some(format!("--input: {name} has no recorded input; leave it away, or take {others}"));
    }
    if facts.has_registry && args.registry.is_none() {
        return Some(format!(
            "--input: {name} drops messages of sensors that are not registered; add --registry FILE, with a line \
             identifier:location,type for each"
        ));
    }
    if args.rate != Rate::Max {
        return Some(
            "--rate: recorded input is read as fast as can be; leave it away with --input".to_owned(),
        );
    }
    if args.target_delay.is_some() {
        return Some("--target-delay: recorded input has no rate; leave it away with --input".to_owned());
    }
    let one = "--queries: recorded input is read by one query; leave it away with --input";
    (args.queries() != 1).then(|| one.to_owned())
}

/// Returns why the options of the generator cannot be used as given; `None` if they can.
fn of_generator(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let name = facts.name;
    if args.cyclic && !facts.has_cycle {
        let others = Workload::names_of(|facts| facts.has_cycle);
        return Some(format!("--cyclic is for {others}: leave it away for {name}"));
    }
    if args.inputs.is_some() && !facts.has_inputs {
        let others = Workload::names_of(|facts| facts.has_inputs);
        return Some(format!("--inputs is for {others}: leave it away for {name}"));
    }
    if let Some(problem) = of_input_delays(args, facts) {
        return Some(problem);
    }
    if args.selectivity_steps.is_some() && !facts.has_selectivity {
        let others = Workload::names_of(|facts| facts.has_selectivity);
        return Some(format!("--selectivity-steps is for {others}: leave it away for {name}"));
    }
    if DEPLOY_WITHIN_MAX < args.deploy_within {
        let span = args.deploy_within;
        return Some(format!("--deploy-within is {span}, but must be at most {DEPLOY_WITHIN_MAX}"));
    }
    if args.input.is_none() && DISORDER_MAX < args.out_of_order {
        let span = args.out_of_order;
        return Some(format!(
            "--out-of-order is {span}, but generated records are shuffled over at most {DISORDER_MAX}"
        ));
    }
    None
}

/// Returns why the delays of the inputs of a query cannot be used as given; `None` if they can.
fn of_input_delays(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let delays = args.input_delays.as_ref()?.0.len();
    if !facts.has_inputs {
        let others = Workload::names_of(|facts| facts.has_inputs);
        return Some(format!("--input-delays is for {others}: leave it away for {}", facts.name));
    }
    let inputs = args.several_inputs().unwrap_or(1);
    let least = delays.max(2);
    (inputs < least).then(|| {
        format!(
            "--input-delays has {delays} for the inputs of a query, of which there are {inputs}; add --inputs {least}, or \
             more"
        )
    })
}

/// Returns why the numbers of queries cannot be used as given, in a workload whose queries are not all alike;
/// `None` if they can.
fn of_groups(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let (name, queries, together) = (facts.name, args.queries(), facts.queries_together);
    if queries % together != 0 {
        let most = limits::QUERIES.max / together * together;
        let next = queries.next_multiple_of(together).min(most);
        return Some(format!(
            "--queries is {queries}, but {name} has a multiple of {together}, so many of each kind; take {next}"
        ));
    }
    if !facts.has_aggressor {
        let others = Workload::names_of(|facts| facts.has_aggressor);
        return args.aggressor.map(|_| format!("--aggressor is for {others}: leave it away for {name}"));
    }
    let unlike = [
        ("target-delay", args.target_delay.is_some()),
        ("out-of-order", args.out_of_order > Span::ZERO),
        ("late-share", args.late_share > 0.0),
    ];
    if let Some((option, _)) = unlike.into_iter().find(|(_, is_given)| *is_given) {
        return Some(format!("--{option}: the load of {name} is part of its rules; leave it away"));
    }
    tenants::problem(args)
}

/// Returns why the rate, or the number of records per second of event time, cannot be used as given; `None`
/// if both can.
fn of_rate(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let name = facts.name;
    if args.input.is_some() {
        return None;
    }
    let (option, rate_per_s) = match args.rate {
        Rate::PerSecond(rate_per_s) => ("rate", rate_per_s),
        Rate::Max => ("nominal-rate", args.nominal_rate_per_s()),
    };
    if rate_per_s % facts.streams != 0 {
        let streams = facts.streams;
        return Some(format!(
            "--{option} is {rate_per_s} records/s, but the {streams} streams of {name} share it; take a multiple of {streams}"
        ));
    }
    let max = facts.rate_per_s_max.filter(|&max| max < rate_per_s)?;
    let problem = format!("--{option} is {rate_per_s} records/s, but {name} has no room for more than {max}");
    Some(format!("{problem}; take less of it and more --queries"))
}

/// Mean number of matches of a record of the join above which a run would make little else than results.
const MATCHES_MAX: u64 = 100;

/// Returns why the number of keys cannot be used as given; `None` if it can.
fn of_keys(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let keys = args.keys?;
    let name = facts.name;
    let Some(Keys { what, max, .. }) = &facts.keys else {
        let others = Workload::names_of(|facts| facts.keys.is_some());
        return Some(format!("--keys is for {others}: leave it away for {name}"));
    };
    if *max < keys {
        return Some(format!("--keys is {keys}, but {name} has at most {max} {what}"));
    }
    let unlike = [("input", args.input.is_some()), ("selectivity-steps", args.selectivity_steps.is_some())];
    if let Some((option, _)) = unlike.into_iter().find(|(_, is_given)| *is_given) {
        return Some(format!("--{option}: such events have their own {what}; leave --keys away"));
    }
    if args.api.loop_kind().is_some() || args.api == Api::Sql {
        return Some(format!("--keys: only the typed query of {name} has other {what}; leave --api away"));
    }
    let rate_per_s = match args.rate {
        Rate::PerSecond(rate_per_s) => rate_per_s / args.time_scale.max(1),
        Rate::Max => args.nominal_rate_per_s(),
    };
    let least = (rate_per_s / facts.streams).div_ceil(MATCHES_MAX);
    (args.workload() == Workload::Join && keys < least).then(|| {
        format!(
            "--keys is {keys}, but must be at least {least} at this rate: a record has at most {MATCHES_MAX} matches on \
             average"
        )
    })
}

/// Returns why a query of Nexmark cannot be run with the options; `None` if it can, and for other workloads.
fn of_nexmark(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let query = facts.nexmark?;
    let name = query.name;
    let of_load = [
        ("rate-steps", args.rate_steps.is_some()),
        ("arrivals", args.arrivals != Arrivals::Constant),
        ("message-records", args.message_records.is_some()),
        ("delay", args.delay != Delay::None),
        ("skew", args.skew > 0.0),
        ("out-of-order", args.out_of_order > Span::ZERO),
        ("late-share", args.late_share > 0.0),
        ("time-scale", args.time_scale != 1),
    ];
    if let Some((option, _)) = of_load.into_iter().find(|(_, is_given)| *is_given) {
        return Some(format!(
            "--{option}: events of {name} come in the order of their times, at one steady rate; leave it away"
        ));
    }
    if args.target_delay.is_some() {
        return Some(format!("--target-delay: {name} is run at a rate that is given; take --rate instead"));
    }
    match (query.name == queries::TO_FILES, &args.results) {
        (true, None) => Some(format!("--results: the rows of {name} are files; say into which folder")),
        (false, Some(_)) => Some(format!(
            "--results: {name} drops its rows, and only {} writes files; leave it away",
            queries::TO_FILES
        )),
        _ => None,
    }
}

/// Returns why options for the operators of a query cannot be used as given; `None` if they can.
fn of_operators(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let name = facts.name;
    if facts.is_serial && args.parallel() == ParallelOption::Epochs {
        return Some(format!(
            "--parallel epochs: results of {name} depend on the order in which messages arrive, so each operator is for \
             one worker at a time; take serial, or leave it away"
        ));
    }
    let others = || Workload::names_of(|facts| facts.has_operator_cost);
    (args.operator_cost > Span::ZERO && !facts.has_operator_cost)
        .then(|| format!("--operator-cost is for {}: leave it away for {name}", others()))
}

/// Returns an error message if an option is given that edges made of queues do not support.
fn of_memory(args: &BenchArgs) -> Option<String> {
    let is_shared = args.memory != MemoryOption::Blocks && args.parallel() == ParallelOption::Epochs;
    is_shared.then(|| {
        let memory = args.memory.name();
        format!("--parallel epochs: --memory {memory} is for serial queries; take serial, or blocks")
    })
    .or_else(|| {
        let is_fused = args.memory != MemoryOption::Blocks && args.chaining() != Chaining::None;
        is_fused.then(|| {
            let (chain, memory) = (chain::name(args.chaining()), args.memory.name());
            format!("--chain {chain}: --memory {memory} is for operators that are a task each; take none, or blocks")
        })
    })
}

/// Returns why the options for a changing or uneven load cannot be used as given; `None` if they can.
fn of_load(args: &BenchArgs, facts: &Facts) -> Option<String> {
    let given = [
        ("rate-steps", args.rate_steps.is_some()),
        ("arrivals", args.arrivals != Arrivals::Constant),
        ("message-records", args.message_records.is_some()),
        ("delay", args.delay != Delay::None),
        ("skew", args.skew > 0.0),
        ("input-delays", args.input_delays.is_some()),
    ];
    let (option, _) = given.into_iter().find(|(_, is_given)| *is_given)?;
    let (name, queries) = (facts.name, args.queries());
    if args.api.loop_kind().is_some() {
        // A hand-written loop has no rate. The check of the options of hand-written loops has already refused
        // these options and `--rate`.
        return None;
    }
    if args.input.is_some() {
        return Some(format!(
            "--{option}: recorded input is read as fast as can be; leave it away with --input"
        ));
    }
    if args.target_delay.is_some() {
        return Some(format!(
            "--{option}: a rate that is searched for is steady; leave it away with --target-delay"
        ));
    }
    let Rate::PerSecond(rate_per_s) = args.rate else {
        return Some(format!("--{option} is for records that come at a rate; add one, such as --rate 10k"));
    };
    let disorder = [("out-of-order", args.out_of_order > Span::ZERO), ("late-share", args.late_share > 0.0)];
    if let (true, Some((disorder, _))) =
        (!["skew", "input-delays"].contains(&option), disorder.into_iter().find(|(_, is_given)| *is_given))
    {
        return Some(format!("--{option}: such records come in order; leave --{disorder} away"));
    }
    let streams = facts.streams;
    let mut steps = args.rate_steps.iter().flat_map(|steps| &steps.0).map(|step| step.rate_per_s);
    if let Some(rate_per_s) = steps.clone().find(|rate_per_s| rate_per_s % streams != 0) {
        return Some(format!(
            "--rate-steps has {rate_per_s} records/s, but the {streams} streams of {name} share it; take a multiple of {streams}"
        ));
    }
    let shares = |rate_per_s| match load::split_skew(args) {
        Some(exponent) => zipf_parts(rate_per_s, args.splits(), exponent),
        None => load::rates(args, rate_per_s),
    };
    let outside = |rate_per_s| {
        shares(rate_per_s).into_iter().find(|rate_per_s| !(1..=RATE_PER_S_MAX).contains(rate_per_s))
    };
    if let Some(share) = std::iter::once(rate_per_s).chain(&mut steps).find_map(outside) {
        let who = match args.several_inputs() {
            Some(_) => "input",
            None if queries == 1 => "split",
            None => "query",
        };
        return Some(format!(
            "--skew is {}, which gives some {who} {share} records/s, but it must have from 1 to {RATE_PER_S_MAX}; take less of it, or another --rate",
            args.skew
        ));
    }
    let refused = |query: &QueryLoad| query.load.check(query.rate_per_s).err();
    let error = load::of_queries(args).iter().find_map(refused)?;
    Some(format!("--arrivals: {error}: bursts have up to {PARETO_TIMES_MAX} times as many"))
}

/// Returns an error message if `--time-scale` is given and another option or the workload requires that event
/// time runs as fast as the clock.
fn of_time_scale(args: &BenchArgs) -> Option<String> {
    let scale = args.time_scale;
    if scale == 1 {
        return None;
    }
    let Rate::PerSecond(rate_per_s) = args.rate else {
        return Some(
            "--time-scale is for records that come at a rate; add one, such as --rate 1M".to_owned(),
        );
    };
    if !(rate_per_s / args.workload().facts().streams).is_multiple_of(scale) {
        return Some(format!(
            "--time-scale is {scale}, but must divide the rate of each stream; take another --rate than {rate_per_s}"
        ));
    }
    let unlike = [
        ("rate-steps", args.rate_steps.is_some()),
        ("arrivals", args.arrivals != Arrivals::Constant),
        ("message-records", args.message_records.is_some()),
        ("delay", args.delay != Delay::None),
        ("skew", args.skew > 0.0),
        ("deploy-within", args.deploy_within > Span::ZERO),
    ];
    if let Some((option, _)) = unlike.into_iter().find(|(_, is_unlike)| *is_unlike) {
        return Some(format!("--{option}: such a load goes by the clock; leave --time-scale away"));
    }
    if matches!(args.workload(), Workload::Mixed | Workload::Tenants) {
        let name = args.workload().facts().name;
        return Some(format!("--time-scale: the load of {name} goes by the clock; leave it away"));
    }
    let by_clock = args.policy.iter().find(|policy| policy.starts_with(klink::NAME))?;
    Some(format!("--policy {by_clock} compares event time with the clock; leave --time-scale away"))
}

/// Returns an error message if `--trace` is given and there are no calls to a policy or several runs.
fn of_trace(args: &BenchArgs) -> Option<String> {
    let file = args.trace.as_ref()?;
    if args.policy.len() > 1 || args.repeat > 1 || args.target_delay.is_some() {
        return Some("--trace keeps one run: take one --policy, once, without --target-delay".to_owned());
    }
    if args.execution == ExecutionOption::Threads || args.api.loop_kind().is_some() {
        return Some("--trace: without workers nobody asks a policy; leave it away".to_owned());
    }
    if args.ablate.contains(&Ablate::NoPriority) {
        return Some(
            "--trace: what a policy without priority was asked cannot be replayed; leave it away".to_owned(),
        );
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    if file.is_dir() || folder.is_some_and(|folder| !folder.is_dir()) {
        return Some(format!("--trace: {} is no file in a folder that there is", file.display()));
    }
    let inputs = [&args.input, &args.tolls, &args.lexicon, &args.registry];
    let is_read = inputs.into_iter().flatten().any(|input| files::replaces(file, input));
    is_read.then(|| format!("--trace: {} is read; take another file", file.display()))
}

/// Returns an error message if an option is given that a hand-written loop does not support.
fn of_loop(args: &BenchArgs) -> Option<String> {
    let (kind, facts) = (args.api.loop_kind()?, args.workload().facts());
    let Facts { name, windows, loops, .. } = facts;
    let api = kind.name();
    if !loops.contains(&kind) {
        let there_is = match loops {
            [] if facts.nexmark.is_some() => "no hand-written loop; take sql".to_owned(),
            [] => "no hand-written loop; take typed".to_owned(),
            [one] => format!("no other hand-written loop than {0}; take {0} or typed", one.name()),
            some => {
                let names: Vec<&str> = some.iter().map(|kind| kind.name()).collect();
                format!("no such hand-written loop; take {} or typed", names.join(", "))
            }
        };
        return Some(format!("--api {api}: {name} has {there_is}"));
    }
    if args.queries() != 1 {
        return Some(format!(
            "--queries: a hand-written loop is one query; leave it away with --api {api}, or take typed"
        ));
    }
    let size = windows.as_ref().map(|windows| windows.size);
    let slide = windows.as_ref().map(|windows| windows.slide.unwrap_or(windows.size));
    let unlike = [
        ("rate", args.rate != Rate::Max),
        ("target-delay", args.target_delay.is_some()),
        ("rate-steps", args.rate_steps.is_some()),
        ("arrivals", args.arrivals != Arrivals::Constant),
        ("message-records", args.message_records.is_some()),
        ("delay", args.delay != Delay::None),
        ("skew", args.skew > 0.0),
        ("selectivity-steps", args.selectivity_steps.is_some()),
        ("window", size.is_some_and(|size| args.window.is_some_and(|window| window != size))),
        ("lrb-windows", args.lrb_windows.is_some_and(|windows| windows != LrbWindows::default())),
        ("slide", slide.is_some_and(|usual| args.slide.is_some_and(|slide| slide != usual))),
        ("input", args.input.is_some()),
        ("results", args.results.is_some()),
    ];
    let (option, _) = unlike.into_iter().find(|(_, is_unlike)| *is_unlike)?;
    let into = size.map_or(String::new(), |size| format!(" into windows of {size}"));
    let loops = format!("the hand-written loops drain the generator{into} and write no file");
    Some(format!("--{option}: {loops}; leave it away with --api {api}, or take typed"))
}

/// Returns an error message if an option is given that a query in SQL does not support.
fn of_sql(args: &BenchArgs) -> Option<String> {
    let Facts { name, windows, nexmark, .. } = args.workload().facts();
    if args.api != Api::Sql || nexmark.is_some() {
        return None;
    }
    if args.workload() != Workload::Ysb {
        return Some(format!(
            "--api sql: {name} is not asked in SQL here, only ysb and nexmark are; take typed, or see examples/"
        ));
    }
    let size = windows.as_ref().map(|windows| windows.size);
    let unlike = [
        ("rate", args.rate != Rate::Max),
        ("target-delay", args.target_delay.is_some()),
        ("selectivity-steps", args.selectivity_steps.is_some()),
        ("deploy-within", args.deploy_within > Span::ZERO),
        ("out-of-order", args.out_of_order > Span::ZERO),
        ("late-share", args.late_share > 0.0),
        ("cyclic", args.cyclic),
        ("window", args.window.is_some_and(|window| Some(window) != size)),
        ("slide", args.slide.is_some_and(|slide| Some(slide) != size)),
        ("results", args.results.is_some()),
    ];
    let (option, _) = unlike.into_iter().find(|(_, is_unlike)| *is_unlike)?;
    Some(format!(
        "--{option}: in SQL the events come in order and as fast as they are taken, into windows of 10 s, and no file is written; leave it away with --api sql, or take typed"
    ))
}

/// Returns the options of an experiment: two workers and a few seconds for each run, unless the command line
/// says otherwise. `cameo-fig8c` varies the number of workers itself, from two down to one.
pub fn experiment(experiment: Experiment, args: &BenchArgs, given: &ArgMatches) -> BenchArgs {
    let is_given = |id: &str| given.value_source(id) == Some(ValueSource::CommandLine);
    // Options that the experiment itself chooses get their defaults.
    let usual = BenchArgs::augment_args(Command::new("bench")).get_matches_from(["bench", "ysb"]);
    let usual =
        BenchArgs::from_arg_matches(&usual).expect("every option of `bench` that is not given has a default");
    let BenchArgs {
        target, workers, seconds, warmup, repeat, quick, seed, block_records, memory_budget, ..
    } = *args;
    let out = args.out.clone();
    let mut args = BenchArgs {
        target,
        workers,
        seconds,
        warmup,
        repeat,
        out,
        quick,
        seed,
        block_records,
        memory_budget,
        ..usual
    };
    if !is_given("workers") || experiment == Experiment::CameoFig8c {
        args.workers = 2;
    }
    if !is_given("seconds") {
        args.seconds = experiment.seconds();
    }
    if !is_given("warmup") {
        args.warmup = if args.quick { 0.2 } else { 0.5 };
    }
    if !is_given("repeat") && !args.quick {
        args.repeat = REPETITIONS;
    }
    args
}

/// Returns a note for each option that was given and has no effect.
pub fn idle_options(args: &BenchArgs, given: &ArgMatches) -> Vec<String> {
    if let Target::Experiment(experiment) = args.target {
        let mut taken = vec![
            "target",
            "seconds",
            "warmup",
            "repeat",
            "out",
            "quick",
            "seed",
            "block_records",
            "memory_budget",
        ];
        if experiment != Experiment::CameoFig8c {
            taken.push("workers");
        }
        // Only the options are listed here. The command-line parser also has a group of all arguments, which
        // is left out because it is no option.
        let options = BenchArgs::augment_args(Command::new("bench"));
        let idle = options
            .get_arguments()
            .map(|option| option.get_id().as_str())
            .filter(|id| !taken.contains(id) && given.value_source(id) == Some(ValueSource::CommandLine));
        let note =
            |id: &str| format!("--{} has no effect on an experiment, which chooses it", id.replace('_', "-"));
        return idle.map(note).collect();
    }
    let (idle, why): (&[&str], _) = if args.api.loop_kind().is_some() {
        let engine_only = &[
            "execution",
            "memory",
            "policy",
            "latency_target",
            "token_rate",
            "round",
            "klink_r",
            "klink_f",
            "klink_h",
            "klink_b",
            "cameo_grain",
            "cost_clock",
            "cost_noise",
            "noise_seed",
            "ablate",
            "chain",
            "isolate",
            "parallel",
            "chunk_blocks",
            "memory_budget",
            "out_of_order",
            "late_share",
            "watermark_step",
            "deploy_within",
            "on_bad",
        ];
        (engine_only, "on a hand-written loop, which runs without the engine")
    } else if args.api == Api::Sql || args.workload().facts().nexmark.is_some() {
        let typed_only = &["block_records", "chunk_blocks", "watermark_step", "on_bad"];
        (
            typed_only,
            "on a query in SQL, whose batches have edges of their own and whose text says its watermarks",
        )
    } else if args.input.is_some() {
        let generated_only = &["nominal_rate", "seconds", "warmup", "seed", "late_share", "deploy_within"];
        (generated_only, "on recorded input, which is read to its end")
    } else {
        (&["on_bad"], "on generated input, which has no lines")
    };
    let is_given = |id: &&&str| given.value_source(id) == Some(ValueSource::CommandLine);
    let note = |id: &&str| format!("--{} has no effect {why}", id.replace('_', "-"));
    let mut notes: Vec<String> = idle.iter().filter(is_given).map(note).collect();
    let goes_by_tokens = args.policy.iter().any(|policy| policy == cameo::token::NAME);
    if args.api.loop_kind().is_none() && args.token_rate.is_some() && !goes_by_tokens {
        let policies = args.policy.join(", ");
        notes.push(format!(
            "--token-rate has no effect on --policy {policies}: only cameo_token goes by tokens"
        ));
    }
    if args.workload().facts().nexmark.is_some() && is_given(&&"api") && args.api == Api::Typed {
        notes.push("--api typed has no effect on nexmark, whose queries are in SQL".to_owned());
    }
    if args.input.is_none() && is_given(&&"nominal_rate") {
        if args.rate != Rate::Max {
            notes.push("--nominal-rate has no effect on generated input that comes at a --rate".to_owned());
        }
        if args.target_delay.is_some() {
            notes.push("--nominal-rate has an effect only on the first run of --target-delay".to_owned());
        }
    }
    if args.api.loop_kind().is_none() && args.execution == ExecutionOption::Threads {
        let why = "with --execution threads, where the operating system says who runs next";
        let parameters = if args.steer.is_none() { &PolicyOptions::IDS[..] } else { &[] };
        let of_policies =
            ["policy", "cost_clock"].into_iter().chain(parameters.iter().copied()).filter(|id| is_given(&id));
        notes.extend(of_policies.map(|id| format!("--{} has no effect {why}", id.replace('_', "-"))));
        let steering: Vec<&str> = args.steer.iter().map(SteerOption::policy).collect();
        notes.extend(args.policy_options.idle(&steering).into_iter().filter(|_| args.steer.is_some()));
    } else if args.api.loop_kind().is_none() {
        let policies: Vec<&str> = args.policy.iter().map(String::as_str).collect();
        notes.extend(args.policy_options.idle(&policies));
    }
    if args.quick {
        notes.push(
            "--quick has no effect on a workload: it is for experiments; take fewer --seconds".to_owned(),
        );
    }
    let is_offered = args.workload().facts().has_aggressor;
    if is_offered && is_given(&&"rate") && args.rate == Rate::Max {
        notes.push("--rate max has no effect on tenants, whose load comes at a rate".to_owned());
    }
    if is_offered && is_given(&&"nominal_rate") && args.rate == Rate::Max {
        notes.push("--nominal-rate has no effect on tenants, whose load comes at a rate".to_owned());
    }
    if args.skew > 0.0 && args.queries() == 1 && args.splits() == 1 {
        let one = "on one query whose input has one split; take several --queries or --workers";
        notes.push(format!("--skew has no effect {one}"));
    }
    let is_pareto = matches!(args.arrivals, Arrivals::Pareto { .. });
    let changes = args.rate_steps.is_some() || is_pareto || (args.skew > 0.0 && args.queries() > 1);
    if let (true, Facts { name, has_own_rate: true, .. }) = (changes, args.workload().facts()) {
        notes.push(format!(
            "cars of {name} report every 30 s at the --rate, and more or less often where a query has another"
        ));
    }
    if args.api.loop_kind().is_none() && args.parallel() == ParallelOption::Serial {
        let of_epochs = args.ablate.iter().filter(|&&what| what != Ablate::NoPriority).copied();
        let names = ablate::names(&of_epochs.collect::<Vec<_>>());
        notes.extend(
            names.iter().map(|name| format!("--ablate {name} has no effect without --parallel epochs")),
        );
    }
    notes
}
