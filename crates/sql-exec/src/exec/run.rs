//! Assembly of plans as streams of a query of the engine: each node becomes an operator, and adjacent
//! stateless operators become one task.
//!
//! A table that is read in several places of a job is read once: its stream is shared. Operators directly
//! after a table, up to the first aggregate, may run on several workers, each with its own copy. Other operators with
//! keys may have a copy for each worker, with keys of its own ([`spread`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use thalweg::{Query, SharedStream, Stream, WatermarkStrategy};
use thalweg_model::{Either, EventTime, Punctuated, Record};
use thalweg_sql_functions::expression::Typed;
use thalweg_sql_functions::functions::{Context, EvaluationError};
use thalweg_sql_functions::types::SqlType;
use thalweg_sql_tables::batch::Batch;
use thalweg_sql_tables::connect::watermarks::idle_timeout;
use thalweg_sql_tables::connect::{World, bind_source};
use thalweg_sql_tables::deliver::{TableSink, Tally};
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::scan::source::{Reading, TableSource};
use thalweg_sql_tables::table::Table;

use super::Now;
use super::bag::Bag;
use super::by_arrival::{Ends, stamp};
use super::calc::{Calc, schema_of};
use super::exchange::RowKeys;
use super::final_rows::FinalRows;
use super::group::{Group, GroupCalls};
use super::join::{self, JoinOperator, JoinStage};
use super::limit::Limit;
use super::operator::{Anybody, BatchOperator, Gathering, InTurn, Make, Stage, Way};
use super::over::{Over, OverCalls};
use super::rank::{Deduplicate, Normalize, TopN, Wanted};
use super::renewal::Renewal;
use super::session::AssignSessions;
use super::sort::Sort;
use super::sorted_over::{LiveOver, OverAtEnd, SortedCalls};
use super::top_n::{Ranks, WindowTopN};
use super::unnest::{Unnest, UnnestShape};
use super::window::{Asked, AssignWindows, WindowAggregate};
use crate::plan::changes::{changes, deduplication};
use crate::plan::{AggregateCall, Column, JoinMethod, Node, Plan, TimeDomain, WindowSpec, Windowing};

mod renewed;
mod spread;
mod values;

use spread::{Keyed, Order, has_order};
use values::Values;

type Result<T> = std::result::Result<T, SqlError>;

/// Assembles the plans of one SQL job as streams of one query of the engine.
pub struct Assembly<'a> {
    query: &'a Query,
    context: &'a Context,
    world: &'a World,
    tally: Tally,
    /// How tables give watermarks.
    timing: Timing,
    /// Index of the plan that is being assembled, while each LIMIT that is met stands over all of its tables.
    limited_part: Option<usize>,
    /// Whether the plan that is being assembled stands below an operator that emits the final rows only.
    is_final: bool,
    /// Number of operators created so far for each kind, such as `calc`, by which the operators of a kind are
    /// numbered in their names.
    named: BTreeMap<String, usize>,
    /// Tables that the job reads in several places, by name.
    shared: BTreeMap<String, Shared>,
    /// Names of the tables whose batches end at each watermark.
    exact: BTreeSet<String>,
    /// Number of splits, the parts that are read in parallel, of each table that the job reads, by table
    /// name.
    splits: BTreeMap<String, usize>,
}

/// How the tables of a job give watermarks.
#[derive(Clone, Copy, Default, Debug)]
pub struct Timing {
    /// Whether tables give no watermark before their end, so that no row is late.
    pub is_batch: bool,
    /// Whether one change of a key is enough for each batch of rows.
    pub is_mini_batch: bool,
    /// Processing time without rows after which a table does not hold back the watermark of operators that read other
    /// inputs, too; `None` for never. The option `scan.watermark.idle-timeout` of a table has precedence.
    pub idle_timeout: Option<Duration>,
}

/// A table that a job reads in several places: it is read once, and its stream is shared.
struct Shared {
    /// Indexes, among the columns of the table, of all columns that any reader of the shared stream needs.
    places: Vec<usize>,
    stream: Option<SharedStream<Batch>>,
}

/// Returns the watermark that follows the rows of a batch, if there is one.
fn mark_of(record: &Record<Batch>) -> Option<EventTime> {
    record.value.watermark
}

type MarkOf = fn(&Record<Batch>) -> Option<EventTime>;

impl<'a> Assembly<'a> {
    /// Assembles the plans of a job, each with the sink in which it ends. `timing` tells how its tables give watermarks.
    ///
    /// # Errors
    /// [`SqlError`] if a table cannot be opened.
    pub fn assemble(
        query: &'a Query,
        context: &'a Context,
        world: &'a World,
        tally: &Tally,
        timing: Timing,
        plans: Vec<(&Plan, Ending)>,
    ) -> Result<()> {
        let mut read: BTreeMap<String, (usize, Vec<usize>)> = BTreeMap::new();
        for (plan, _) in &plans {
            note_scans(plan, &mut read);
        }
        let shared = read
            .into_iter()
            .filter(|(_, (times, _))| *times > 1)
            .map(|(table, (_, places))| (table, Shared { places, stream: None }))
            .collect();
        let mut assembly = Assembly {
            query,
            context,
            world,
            tally: tally.clone(),
            timing,
            limited_part: None,
            is_final: false,
            named: BTreeMap::new(),
            shared,
            exact: plans.iter().flat_map(|(plan, _)| read_exactly(plan)).collect(),
            splits: BTreeMap::new(),
        };
        for (number, (plan, ending)) in plans.into_iter().enumerate() {
            assembly.limited_part = has_limit(plan).then_some(number);
            let stream = assembly.stream(plan, Order::Free)?;
            let name = assembly.name(&ending.name);
            stream.sink(&name, ending.sink);
        }
        Ok(())
    }

    fn name(&mut self, kind: &str) -> String {
        let count = self.named.entry(kind.to_owned()).or_default();
        *count += 1;
        if *count == 1 { kind.to_owned() } else { format!("{kind}-{count}") }
    }

    fn zone_of(&self, of: &SqlType) -> Option<Tz> {
        matches!(of, SqlType::TimestampLtz(_)).then_some(self.context.zone)
    }

    /// Returns the session's time zone if windows are cut by local time, and `None` otherwise.
    fn zone_if(&self, is_local: bool) -> Option<Tz> {
        is_local.then_some(self.context.zone)
    }

    /// Creates the stream of a plan, whose rows are to have the order `order`.
    fn stream(&mut self, plan: &Plan, order: Order) -> Result<Stream<Batch>> {
        if let Some(read) = Read::of(plan) {
            return self.read(&read, plan, None);
        }
        let below = order.below(&plan.node);
        let (columns, seed) = (plan.columns.clone(), self.seeds());
        match &plan.node {
            Node::Scan { .. } => Err(SqlError::new(Code::Invalid, "a table is read by itself")),
            Node::Values(batch) => {
                let values = Values { batch: Some(batch.clone()) };
                let name = self.name("values");
                Ok(self.query.source(&name, values, WatermarkStrategy::ascending()).boxed())
            }
            Node::Calc { input, conditions, outputs } => {
                let calc = Calc::new("calc", conditions.clone(), vec![outputs.clone()], &plan.columns);
                self.over::<Anybody>(input, below, Box::new(calc))
            }
            Node::Expand { input, forms } => {
                let calc = Calc::new("expand", Vec::new(), forms.clone(), &plan.columns);
                self.over::<Anybody>(input, below, Box::new(calc))
            }
            Node::Unnest { input, value, kind, kept, parts, has_ordinality } => {
                let shape = UnnestShape {
                    value: value.clone(),
                    kind: *kind,
                    kept: kept.clone(),
                    parts: parts.clone(),
                    has_ordinality: *has_ordinality,
                };
                self.over::<Anybody>(input, below, Box::new(Unnest::new(shape, &plan.columns)))
            }
            Node::ByArrival { input, time, spec } => {
                let ends = Ends::of_windows(spec, self.context.zone);
                let (name, time) = (self.name("by_arrival"), *time);
                let stamped = move |batch: &mut Batch, now| stamp(batch, time, now);
                Ok(self.stream(input, below)?.by_arrival(ends, stamped).name(&name).boxed())
            }
            Node::AssignWindows { input, spec, time } => {
                let zone = self.zone_of(&input.columns[*time].of);
                if let WindowSpec::Session { gap_ms, keys } = &**spec {
                    let name = self.name("sessions");
                    let stream = self.stream(input, below)?;
                    let (is_single, given) = (self.sources_of(input) == 1, input.columns.clone());
                    let (gap_ms, places, time) = (*gap_ms, keys.clone(), *time);
                    return self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                        let sessions =
                            AssignSessions::new(gap_ms, places.clone(), time, zone, &given, &columns)?;
                        Ok(Box::new(sessions.of_one_reader(is_single)))
                    });
                }
                match AssignWindows::new(spec, *time, zone, &plan.columns) {
                    Some(windows) => self.over::<Anybody>(input, below, Box::new(windows)),
                    None => Err(SqlError::new(Code::Invalid, "windows of this kind are not cut by time")),
                }
            }
            Node::WindowAggregate { input, windows, keys, calls } => {
                let asked = Asked {
                    input: &input.columns,
                    keys: keys.clone(),
                    calls: calls.clone(),
                    columns: &plan.columns,
                    is_retracting: !changes(input).is_none(),
                    hash_seed: self.world.hash_seed,
                };
                let aggregate = match windows {
                    Windowing::Cut { spec, time } => {
                        let zone = self.zone_of(&input.columns[*time].of);
                        WindowAggregate::cutting(spec, *time, zone, asked)
                            .ok_or_else(|| SqlError::new(Code::Invalid, "sessions are not cut by time"))?
                    }
                    Windowing::Given { windows, start, end } => {
                        WindowAggregate::given((*start, *end), self.zone_if(windows.is_local), asked)
                    }
                };
                self.aggregated(plan, input, (keys, calls), order, aggregate)
            }
            Node::Union(inputs) => {
                self.limited_part = None;
                let mut streams = Vec::new();
                for input in inputs {
                    streams.push(self.stream(input, below)?);
                }
                let mut streams = streams.into_iter();
                match streams.next() {
                    None => Err(SqlError::new(Code::Invalid, "UNION ALL has no inputs")),
                    Some(first) => Ok(first.union_all(streams).boxed()),
                }
            }
            Node::Final { input, order: by, skip, fetch, is_retracting } => {
                let (by, skip, fetch, is_retracting) = (by.clone(), *skip, *fetch, *is_retracting);
                let spilling = self.world.spilling.clone();
                let was_final = std::mem::replace(&mut self.is_final, true);
                let stream = self.alone(input, below, move || {
                    let rows = FinalRows::new(&by, skip, fetch, is_retracting, &columns)?;
                    Ok(Box::new(rows.spilling(spilling.clone())))
                });
                self.is_final = was_final;
                stream
            }
            Node::Limit { input, skip, fetch } => {
                let mark = self.limited_part.map(|part| self.world.end.limit_mark(part));
                let (skip, fetch) = (*skip, *fetch);
                self.alone(input, below, move || Ok(Box::new(Limit::new(skip, fetch, mark.clone()))))
            }
            Node::Sort { input, time, keys } => {
                let (time, keys) = (*time, keys.clone());
                self.alone(input, below, move || Ok(Box::new(Sort::new(time, keys.clone(), &columns))))
            }
            Node::Over { input, keys, time, frame, calls, ttl_ms } => {
                let over = OverCalls {
                    keys: keys.clone(),
                    time: *time,
                    frame: *frame,
                    calls: calls.clone(),
                    ttl_ms: *ttl_ms,
                };
                let name = self.name("over");
                let stream = self.stream(input, below)?;
                let (is_single, now) = (self.sources_of(input) == 1, self.now());
                let given = input.columns.clone();
                self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                    let over = Over::new(over.clone(), now.clone(), &given, &columns, seed())?;
                    Ok(Box::new(over.of_one_reader(is_single)))
                })
            }
            Node::SortedOver { input, keys, order: by, calls, is_final, ttl_ms } => {
                let over = SortedCalls { keys: keys.clone(), order: by.clone(), calls: calls.clone() };
                let (is_final, ttl_ms, now) = (*is_final, *ttl_ms, self.now());
                let name = self.name("over");
                let stream = self.stream(input, below)?;
                let given = input.columns.clone();
                self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                    let over = over.clone();
                    Ok(match is_final {
                        true => Box::new(OverAtEnd::new(over, &given, &columns)?),
                        false => {
                            Box::new(LiveOver::new(over, ttl_ms, now.clone(), &given, &columns, seed())?)
                        }
                    })
                })
            }
            Node::Group { input, keys, calls, is_final: true, .. } => {
                let asked = Asked {
                    input: &input.columns,
                    keys: keys.clone(),
                    calls: calls.clone(),
                    columns: &plan.columns,
                    is_retracting: false,
                    hash_seed: self.world.hash_seed,
                };
                let has_row_without_input = self.timing.is_batch && keys.is_empty();
                let aggregate = WindowAggregate::at_the_end(has_row_without_input, asked)
                    .spilling(self.world.spilling.clone());
                self.aggregated(plan, input, (keys, calls), order, aggregate)
            }
            Node::Group { input, keys, calls, is_retracting, is_final: false, ttl_ms } => {
                let group = GroupCalls {
                    keys: keys.clone(),
                    calls: calls.clone(),
                    is_retracting: *is_retracting,
                    ttl_ms: ttl_ms.unwrap_or(i64::MAX),
                    has_row_without_input: self.timing.is_batch,
                    // Which changes become one depends on how rows were batched, and so does the order of arrival
                    // behind them.
                    is_once_per_batch: (self.timing.is_mini_batch || self.is_final) && order == Order::Free,
                };
                let name = self.name("group");
                let stream = self.stream(input, below)?;
                let (given, now) = (input.columns.clone(), self.now());
                self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                    Ok(Box::new(Group::new(group.clone(), now.clone(), &given, &columns, seed())?))
                })
            }
            Node::Bag { input, kind, ttl_ms } => {
                let (kind, ttl_ms, now) = (*kind, ttl_ms.unwrap_or(i64::MAX), self.now());
                let name = self.name(kind.name());
                let stream = self.stream(input, below)?;
                let given = input.columns.clone();
                // Rows of both sides that are equal but for the mark of the side, the last column, meet.
                let keys: Vec<usize> = (0..plan.columns.len()).collect();
                self.by_key(&name, Keyed { stream, input, keys: &keys, order }, move || {
                    Ok(Box::new(Bag::new(kind, ttl_ms, now.clone(), &given, &columns, seed())?))
                })
            }
            Node::Normalize { input, keys, ttl_ms } => {
                let (places, ttl_ms, now) = (keys.clone(), ttl_ms.unwrap_or(i64::MAX), self.now());
                let name = self.name("normalize");
                let stream = self.stream(input, below)?;
                let given = input.columns.clone();
                self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                    let now = now.clone();
                    Ok(Box::new(Normalize::new(places.clone(), ttl_ms, now, &given, &columns, seed())?))
                })
            }
            Node::Rank { input, keys, order: by, from, to, has_rank, is_retracting, ttl_ms, .. } => {
                let wanted = Wanted {
                    keys: keys.clone(),
                    order: by.clone(),
                    from: *from,
                    to: *to,
                    has_rank: *has_rank,
                    is_retracting: *is_retracting,
                    ttl_ms: ttl_ms.unwrap_or(i64::MAX),
                };
                let (keep, now) = (deduplication(plan), self.now());
                let name = self.name(if keep.is_some() { "deduplicate" } else { "rank" });
                let stream = self.stream(input, below)?;
                let given = input.columns.clone();
                self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                    let (wanted, now) = (wanted.clone(), now.clone());
                    Ok(match keep {
                        Some(keep) => {
                            let Wanted { keys, ttl_ms, .. } = wanted;
                            Box::new(Deduplicate::new(keep, keys, ttl_ms, now, &given, &columns, seed())?)
                        }
                        None => Box::new(TopN::new(wanted, now, &given, &columns, seed())?),
                    })
                })
            }
            Node::Join { left, right, .. } => {
                self.limited_part = None;
                let left_stream = self.stream(left, below)?;
                let right_stream = self.stream(right, below)?;
                self.joined(plan, [left_stream, right_stream], order)
            }
            Node::WindowTopN { input, window_end, is_local, keys, order: by, from, to } => {
                let ranks = Ranks {
                    window_end: *window_end,
                    keys: keys.clone(),
                    order: by.clone(),
                    from: *from,
                    to: *to,
                };
                let zone = self.zone_if(*is_local);
                let name = self.name("top-n");
                let stream = self.stream(input, below)?;
                let given = input.columns.clone();
                self.by_key(&name, Keyed { stream, input, keys, order }, move || {
                    Ok(Box::new(WindowTopN::new(ranks.clone(), zone, &given, &columns, seed())))
                })
            }
        }
    }

    /// Creates the stream of the join at the top of a plan over those of its inputs. Each worker has a copy with join keys of
    /// its own, if rows are compared by keys and need not meet all rows of the other side.
    fn joined(
        &mut self,
        plan: &Plan,
        [left_stream, right_stream]: [Stream<Batch>; 2],
        order: Order,
    ) -> Result<Stream<Batch>> {
        let Node::Join { left, right, join } = &plan.node else {
            return Err(SqlError::new(Code::Invalid, "the operator is no join"));
        };
        let sources = self.sources_of(right);
        let given = (join.clone(), left.columns.clone(), right.columns.clone(), plan.columns.clone());
        let context = self.context.clone();
        let make: Make<dyn JoinOperator> = Arc::new(move || {
            let (join, left, right, columns) = &given;
            join::operator(join, left, right, columns, sources, &context)
        });
        let operator = make().map_err(refused)?;
        let name = self.name(operator.name());
        let both = left_stream.connect(right_stream);
        let watch = self.world.watch.as_ref();
        let renewal = self.renewal(&make);
        let (left_time, right_time, lower_ms, upper_ms) = match join.method {
            JoinMethod::Interval {
                left_time,
                right_time,
                lower_ms,
                upper_ms,
                domain: TimeDomain::Processing,
            } => (left_time, right_time, lower_ms, upper_ms),
            // A lookup join waits for the whole table, which each copy would have to hold.
            _ if join.keys.is_empty()
                || matches!(join.method, JoinMethod::Lookup)
                || !order.lets_spread(has_order(plan)) =>
            {
                let stage = JoinStage::<InTurn>::new(operator).watched(watch).renewed(renewal);
                return Ok(both.process(stage).name(&name).boxed());
            }
            _ => {
                let keys = [
                    join.keys.iter().map(|key| key.left.clone()).collect(),
                    join.keys.iter().map(|key| key.right.clone()).collect(),
                ];
                let keys = keys.map(|keys| RowKeys::of_expressions(&name, keys, watch));
                let stage = JoinStage::by_key(make, keys).map_err(refused)?.watched(watch);
                let stage = stage.renewed(renewal);
                return Ok(both.process(stage).name(&name).boxed());
            }
        };
        // One operator stamps the rows of both inputs, so they have one clock and one watermark.
        let ends = Ends::of_spans(upper_ms.max(lower_ms.saturating_neg()).max(0));
        let stamped = move |rows: &mut Either<Batch, Batch>, now| match rows {
            Either::Left(batch) => stamp(batch, left_time, now),
            Either::Right(batch) => stamp(batch, right_time, now),
        };
        let both = both.by_arrival(ends, stamped).name(&self.name("by_arrival"));
        let stage = JoinStage::<InTurn>::new(operator).watched(watch).renewed(renewal);
        Ok(both.process(stage).name(&name).boxed())
    }

    /// Returns the number of sources that a plan reads: one for each split of a table, and one for each list
    /// of literal rows.
    fn sources_of(&self, plan: &Plan) -> usize {
        let own = |plan: &Plan| match &plan.node {
            Node::Scan { table, .. } => self.splits.get(&table.name).copied().unwrap_or(1),
            Node::Values(_) => 1,
            _ => 0,
        };
        plan.walk().map(own).sum()
    }

    /// Makes an operator over batches an operator of the engine, whose calls of user functions are watched.
    fn stage<W: Way>(&self, operator: Box<dyn BatchOperator>) -> Stage<W> {
        Stage::new(operator).watched(self.world.watch.as_ref())
    }

    fn now(&self) -> Now {
        Now::new(Arc::clone(&self.context.clock))
    }

    /// Creates the stream of an operator that workers share in the way `W`. Its input has the order `order`.
    fn over<W: Way>(
        &mut self,
        input: &Plan,
        order: Order,
        operator: Box<dyn BatchOperator>,
    ) -> Result<Stream<Batch>> {
        let name = self.name(operator.name());
        Ok(self.stream(input, order)?.process(self.stage::<W>(operator)).name(&name).boxed())
    }

    /// Creates the stream of an aggregate whose results come out at watermarks, and whose rows have the columns of `plan`.
    /// Directly behind a table, several workers may share it, each with all keys. Elsewhere each has keys of its own.
    fn aggregated(
        &mut self,
        plan: &Plan,
        input: &Plan,
        (keys, calls): (&[usize], &[AggregateCall]),
        order: Order,
        aggregate: WindowAggregate,
    ) -> Result<Stream<Batch>> {
        // An aggregate that depends on the order of rows is not shared, because the copies of several workers are merged
        // in any order. Then keys come out in any order, too.
        // Nor is one that may put rows on disk: rows there are of keys that no other copy has.
        let is_ordered = calls.iter().any(AggregateCall::is_ordered) || aggregate.spills();
        if let Some(read) = Read::of(input).filter(|_| !is_ordered && order.lets_spread(true)) {
            let copy = aggregate.copies();
            let make: Make<dyn BatchOperator> = Arc::new(move || Ok(Box::new(copy())));
            return self.read(&read, input, Some((Box::new(aggregate), self.renewal(&make))));
        }
        let name = self.name(aggregate.name());
        let stream = self.stream(input, order.below(&plan.node))?;
        let copy = aggregate.copies();
        self.by_key(&name, Keyed { stream, input, keys, order }, move || Ok(Box::new(copy())))
    }

    /// Creates the stream of a table, followed by the operators that evaluate expressions over its rows and,
    /// if given, by an aggregate. Several workers may run these operators at a time.
    fn read(
        &mut self,
        read: &Read<'_>,
        plan: &Plan,
        aggregate: Option<(Box<dyn BatchOperator>, Option<Renewal<dyn BatchOperator>>)>,
    ) -> Result<Stream<Batch>> {
        let calc_name = self.name("calc");
        if self.shared.contains_key(&read.table.name) {
            let (places, columns) = self.share(read)?;
            let moved = |expression: &Typed| {
                expression.replaced(&|place| {
                    let column = &columns[place];
                    let wanted = read.places[place];
                    let at = places.iter().position(|known| *known == wanted).unwrap_or_default();
                    Typed::column(at, column.of.clone(), column.is_nullable)
                })
            };
            let conditions = read.conditions.iter().map(moved).collect();
            let outputs = read.outputs.iter().map(moved).collect();
            let calc = Calc::new("calc", conditions, vec![outputs], &plan.columns);
            let Some(stream) = self.shared.get(&read.table.name).and_then(|shared| shared.stream.as_ref())
            else {
                return Err(SqlError::new(Code::Invalid, "a table that is shared has a stream"));
            };
            let stream = stream.branch().process(self.stage::<Anybody>(Box::new(calc))).name(&calc_name);
            return Ok(match aggregate {
                None => stream.boxed(),
                Some((aggregate, renewal)) => {
                    let name = self.name(aggregate.name());
                    let stage = self.stage::<Gathering>(aggregate).renewed(renewal);
                    stream.process(stage).name(&name).boxed()
                }
            });
        }
        let calc = Calc::new("calc", read.conditions.to_vec(), vec![read.outputs.clone()], &plan.columns);
        let sources = self.sources(read.table, read.places, read.columns)?;
        let name = self.name(&read.table.name);
        let stream = self.query.splits(&name, sources, self.marks(read.table));
        let stream = stream.process(self.stage::<Anybody>(Box::new(calc))).name(&calc_name);
        Ok(match aggregate {
            None => stream.boxed(),
            Some((aggregate, renewal)) => {
                let name = self.name(aggregate.name());
                let stage = self.stage::<Gathering>(aggregate).renewed(renewal);
                stream.process(stage).name(&name).boxed()
            }
        })
    }

    /// Creates the shared stream of a table that is read in several places, unless it exists. Returns the
    /// indexes of the table columns that the stream has, and the columns that `read` needs.
    fn share<'p>(&mut self, read: &Read<'p>) -> Result<(Vec<usize>, &'p [Column])> {
        let places =
            self.shared.get(&read.table.name).map(|shared| shared.places.clone()).unwrap_or_default();
        let has_stream = self.shared.get(&read.table.name).is_some_and(|shared| shared.stream.is_some());
        if !has_stream {
            let column = |place: &usize| {
                let column = &read.table.columns[*place];
                Column::plain(column.name.clone(), column.of.clone(), column.is_nullable)
            };
            let columns: Vec<Column> = places.iter().map(column).collect();
            let sources = self.sources(read.table, &places, &columns)?;
            let name = self.name(&read.table.name);
            let stream = self.query.splits(&name, sources, self.marks(read.table)).share();
            if let Some(shared) = self.shared.get_mut(&read.table.name) {
                shared.stream = Some(stream);
            }
        }
        Ok((places, read.columns))
    }

    /// Returns how the sources of a table give watermarks.
    fn marks(&self, table: &Table) -> Punctuated<MarkOf> {
        // In batch mode the only watermark is that of the end, for which everything waits.
        let idle_timeout = idle_timeout(table, self.timing.idle_timeout).filter(|_| !self.timing.is_batch);
        let strategy = WatermarkStrategy { idle_after: idle_timeout, ..WatermarkStrategy::ascending() };
        strategy.punctuated(mark_of as MarkOf)
    }

    fn sources(
        &mut self,
        table: &Arc<Table>,
        places: &[usize],
        columns: &[Column],
    ) -> Result<Vec<TableSource>> {
        let reading = Reading::new(table, places, schema_of(columns));
        let reading = match self.exact.contains(&table.name) {
            true => reading.with_all_marks(),
            false => reading,
        };
        let reading = Arc::new(if self.timing.is_batch { reading.in_batch() } else { reading });
        let splits = bind_source(table, &reading.from_records, self.world)?;
        self.splits.insert(table.name.clone(), splits.len());
        let source = |rows| {
            let (reading, clock) = (Arc::clone(&reading), Arc::clone(&self.context.clock));
            TableSource::new(reading, rows, clock, self.tally.clone(), self.world.end.clone())
                .watched(self.world.watch.as_ref())
        };
        Ok(splits.into_iter().map(source).collect())
    }
}

/// Returns whether a LIMIT of rows stands over all tables of a plan, so that no more rows are needed when it is full.
pub fn has_limit(plan: &Plan) -> bool {
    match (&plan.node, &plan.inputs()[..]) {
        (Node::Limit { .. }, _) => true,
        (_, [input]) => has_limit(input),
        _ => false,
    }
}

/// Converts the error of an operator that cannot be created, usually because a key has an unsupported type.
fn refused(error: EvaluationError) -> SqlError {
    SqlError::new(Code::Unsupported, error.message)
}

/// Sink that receives the rows of a plan, with its name.
pub struct Ending {
    /// Name of the sink of a plan in metrics and messages.
    pub name: String,
    /// Sink that writes the rows of the plan.
    pub sink: TableSink,
}

/// Part of a plan that reads a table and computes expressions over its rows, without other operators.
struct Read<'p> {
    table: &'p Arc<Table>,
    places: &'p [usize],
    /// Columns of the table that are read. `places` has their indexes in the table, in the same order.
    columns: &'p [Column],
    conditions: &'p [Typed],
    outputs: Vec<Typed>,
}

impl<'p> Read<'p> {
    /// Splits a plan that consists of a table and at most one projection over it into the table, the
    /// conditions and the outputs of the projection. Returns `None` for any other plan.
    fn of(plan: &'p Plan) -> Option<Self> {
        match &plan.node {
            Node::Scan { table, places } => Some(Read {
                table,
                places,
                columns: &plan.columns,
                conditions: &[],
                outputs: plan.identity(),
            }),
            Node::Calc { input, conditions, outputs } => match &input.node {
                Node::Scan { table, places } => {
                    let outputs = outputs.clone();
                    Some(Read { table, places, columns: &input.columns, conditions, outputs })
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns the names of the tables of a plan whose batches must end at each watermark.
///
/// A top-N and the last row of each key take back rows of their state, which may be long behind the watermark. A window
/// aggregate tells by the watermark before such a row whether it is late, so no watermark may lie within a batch.
fn read_exactly(plan: &Plan) -> Vec<String> {
    let is_from_state = |part: &Plan| matches!(part.node, Node::Rank { .. } | Node::Normalize { .. });
    let mut names = Vec::new();
    for part in plan.walk() {
        let (Node::AssignWindows { input, .. } | Node::WindowAggregate { input, .. }) = &part.node else {
            continue;
        };
        if changes(input).is_none() || !input.walk().any(is_from_state) {
            continue;
        }
        names.extend(input.walk().filter_map(|part| match &part.node {
            Node::Scan { table, .. } => Some(table.name.clone()),
            _ => None,
        }));
    }
    names
}

/// Counts how often a plan reads each table, and collects the indexes of the columns read.
fn note_scans(plan: &Plan, read: &mut BTreeMap<String, (usize, Vec<usize>)>) {
    for part in plan.walk() {
        if let Node::Scan { table, places } = &part.node {
            let (times, known) = read.entry(table.name.clone()).or_default();
            *times += 1;
            known.extend(places);
            known.sort_unstable();
            known.dedup();
        }
    }
}
