//! List of the aggregate functions of SQL, and the arguments that each of them takes.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{Decimal128Type, Float64Type};

use super::approximate::Approximate;
use super::arrivals::Arrivals;
use super::average::average_scale;
use super::count::Count;
use super::extreme::Extreme;
use super::fold::Folded;
use super::json::{JsonArray, JsonObject};
use super::kept::{Choice, Kept};
use super::lists::{End, Item, Joined, Listed, Lists, Single};
use super::percentile::Percentiles;
use super::sum::{DecimalSum, FloatSum, IntegerSum, Rule};
use super::tally::{Multiset, Outermost, Tally};
use super::values::{Bytes, Domain, Kind, Nested, Numbers};
use super::variance::Variance;
use super::{Accumulator, AggregateFunction, BoundAggregate, Create};
use crate::functions::text::json_functions::check_writable;
use crate::functions::{Argument, BindError, Context};
use crate::types::SqlType;
use crate::values::ScalarValue;

/// Returns all aggregate functions of SQL.
pub fn aggregates() -> &'static [AggregateFunction] {
    &AGGREGATES
}

/// Looks up an aggregate function by its name in upper case.
pub fn aggregate(name: &str) -> Option<&'static AggregateFunction> {
    AGGREGATES.iter().find(|function| function.name == name)
}

/// Declares an aggregate whose result does not depend on the order of rows, and which can retract rows.
const fn function(name: &'static str, usage: &'static str, bind: Bind) -> AggregateFunction {
    AggregateFunction { name, usage, is_ordered: false, can_retract: true, bind }
}

/// Declares an aggregate whose result depends on the order of rows, and which can retract rows.
const fn ordered(name: &'static str, usage: &'static str, bind: Bind) -> AggregateFunction {
    AggregateFunction { name, usage, is_ordered: true, can_retract: true, bind }
}

type Bind = fn(&[Argument], &Context) -> Result<BoundAggregate, BindError>;

static AGGREGATES: [AggregateFunction; 24] = [
    function("$SUM0", "$SUM0(number)", |given, _| sum(given, Rule::SumOrZero)),
    AggregateFunction {
        can_retract: false,
        ..function("APPROX_COUNT_DISTINCT", "APPROX_COUNT_DISTINCT(value)", |given, _| approximate(given))
    },
    ordered("ARRAY_AGG", "ARRAY_AGG(value)", |given, _| array(given, false)),
    ordered("$ARRAY_AGG_IGNORE_NULLS", "ARRAY_AGG(value) IGNORE NULLS", |given, _| array(given, true)),
    function("AVG", "AVG(number)", |given, _| sum(given, Rule::Average)),
    function("COLLECT", "COLLECT(value)", |given, _| multiset(given)),
    function("COUNT", "COUNT(*) or COUNT(value)", |given, _| Ok(count(given))),
    ordered("FIRST_VALUE", "FIRST_VALUE(value)", |given, _| end(given, false)),
    ordered("JSON_ARRAYAGG", "JSON_ARRAYAGG(value)", |given, _| json_array(given, true)),
    ordered("$JSON_ARRAYAGG_NULL_ON_NULL", "JSON_ARRAYAGG(value NULL ON NULL)", |given, _| {
        json_array(given, false)
    }),
    ordered("JSON_OBJECTAGG", "JSON_OBJECTAGG(KEY k VALUE v [NULL | ABSENT ON NULL])", |given, _| {
        json_object(given)
    }),
    ordered("LAST_VALUE", "LAST_VALUE(value)", |given, _| end(given, true)),
    ordered("LISTAGG", "LISTAGG(text [, separator])", |given, _| joined(given)),
    function("MAX", "MAX(value)", |given, _| extreme(given, true)),
    function("MIN", "MIN(value)", |given, _| extreme(given, false)),
    function("PERCENTILE", "PERCENTILE(number, percentage [, frequency])", |given, _| percentile(given)),
    ordered("SINGLE_VALUE", "SINGLE_VALUE(value)", |given, _| single(given)),
    function("STDDEV", "STDDEV(number)", |given, _| variance(given, true, true)),
    function("STDDEV_POP", "STDDEV_POP(number)", |given, _| variance(given, false, true)),
    function("STDDEV_SAMP", "STDDEV_SAMP(number)", |given, _| variance(given, true, true)),
    function("SUM", "SUM(number)", |given, _| sum(given, Rule::Sum)),
    function("VARIANCE", "VARIANCE(number)", |given, _| variance(given, true, false)),
    function("VAR_POP", "VAR_POP(number)", |given, _| variance(given, false, false)),
    function("VAR_SAMP", "VAR_SAMP(number)", |given, _| variance(given, true, false)),
];

fn count(given: &[Argument]) -> BoundAggregate {
    let create = creating(Count::default);
    BoundAggregate {
        arguments: given.iter().map(|argument| argument.of.clone()).collect(),
        result: SqlType::BigInt,
        is_nullable: false,
        create: create.clone(),
        create_retractable: Some(create),
        distinct_over: given.len(),
    }
}

fn sum(given: &[Argument], rule: Rule) -> Result<BoundAggregate, BindError> {
    let of = number(given)?;
    let result = match (of, rule) {
        (&SqlType::Decimal { scale, .. }, Rule::Average) => decimal(average_scale(scale)),
        (&SqlType::Decimal { scale, .. }, _) => decimal(scale),
        _ => of.clone(),
    };
    let arrow = result.arrow();
    let create = match *of {
        SqlType::Decimal { scale, .. } => {
            creating(move || Folded::new(DecimalSum { of: arrow.clone(), scale, rule }))
        }
        SqlType::Float | SqlType::Double => {
            creating(move || Folded::new(FloatSum { of: arrow.clone(), rule }))
        }
        _ => creating(move || Folded::new(IntegerSum { of: arrow.clone(), rule })),
    };
    let is_nullable = rule != Rule::SumOrZero || matches!(of, SqlType::Decimal { .. });
    Ok(BoundAggregate { is_nullable, ..bound(of, result, create.clone(), Some(create)) })
}

fn variance(given: &[Argument], is_sample: bool, is_deviation: bool) -> Result<BoundAggregate, BindError> {
    let of = number(given)?;
    let result = match *of {
        SqlType::Decimal { scale, .. } => decimal(average_scale(scale)),
        _ => of.clone(),
    };
    let arrow = result.arrow();
    let create = creating(move || Folded::new(Variance { of: arrow.clone(), is_sample, is_deviation }));
    Ok(bound(of, result, create.clone(), Some(create)))
}

fn extreme(given: &[Argument], is_greatest: bool) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    let arrow = of.arrow();
    let choice = if is_greatest { Choice::Greatest } else { Choice::Least };
    let create = match (Kind::of(&arrow), is_greatest) {
        _ if matches!(of, SqlType::DayTime | SqlType::YearMonth) || of.is_bytes() => {
            return Err(BindError::of_type(1, of));
        }
        (Kind::Nested, _) => return Err(BindError::of_type(1, of)),
        (Kind::Whole, false) => creating(move || Folded::new(Extreme::<i64, false>::new(arrow.clone()))),
        (Kind::Whole, true) => creating(move || Folded::new(Extreme::<i64, true>::new(arrow.clone()))),
        (Kind::Decimal, false) => creating(move || Folded::new(Extreme::<i128, false>::new(arrow.clone()))),
        (Kind::Decimal, true) => creating(move || Folded::new(Extreme::<i128, true>::new(arrow.clone()))),
        (Kind::Float, false) => creating(move || Folded::new(Extreme::<f64, false>::new(arrow.clone()))),
        (Kind::Float, true) => creating(move || Folded::new(Extreme::<f64, true>::new(arrow.clone()))),
        (Kind::Bytes, _) => creating(move || Kept::new(Bytes::new(arrow.clone()), choice)),
    };
    let retractable = in_domain(of, TallyOutermost { is_greatest });
    Ok(BoundAggregate { distinct_over: 0, ..bound(of, of.clone(), create, Some(retractable)) })
}

fn end(given: &[Argument], is_last: bool) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    let create = in_domain(of, KeptEnd { is_last });
    let retractable = in_domain(of, ListedEnd { is_last });
    Ok(bound(of, of.clone(), create, Some(retractable)))
}

fn single(given: &[Argument]) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    let create = in_domain(of, ListedSingle);
    Ok(bound(of, of.clone(), create.clone(), Some(create)))
}

fn array(given: &[Argument], skips_nulls: bool) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    let result = SqlType::Array(Box::new(of.clone()));
    let create = in_domain(of, ListedArray { of: result.clone(), skips_nulls, can_retract: false });
    let retractable = in_domain(of, ListedArray { of: result.clone(), skips_nulls, can_retract: true });
    Ok(bound(of, result, create, Some(retractable)))
}

fn multiset(given: &[Argument]) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    let result = SqlType::Map(Box::new(of.clone()), Box::new(SqlType::Int));
    let create = in_domain(of, TallyMultiset { of: result.clone() });
    Ok(BoundAggregate { is_nullable: false, ..bound(of, result, create.clone(), Some(create)) })
}

fn joined(given: &[Argument]) -> Result<BoundAggregate, BindError> {
    let (of, separator) = match given {
        [text] => (&text.of, ","),
        [text, separator] => {
            let reason = "the separator is no literal text: write one, such as ', '";
            (&text.of, separator.text().ok_or_else(|| BindError::new(reason))?)
        }
        _ => return Err(BindError::count(given.len())),
    };
    if !of.is_text() {
        return Err(BindError(format!("argument 1 is {of}: cast it to STRING")));
    }
    let (arrow, separator) = (of.arrow(), separator.to_owned());
    let (kept_arrow, kept_separator) = (arrow.clone(), separator.clone());
    let create = creating(move || {
        let rendering = Joined { separator: separator.clone() };
        Lists::<_, _, Vec<Item<Bytes>>>::new(Bytes::new(arrow.clone()), rendering)
    });
    let retractable = creating(move || {
        let rendering = Joined { separator: kept_separator.clone() };
        Lists::<_, _, Arrivals<Item<Bytes>>>::new(Bytes::new(kept_arrow.clone()), rendering)
    });
    let arguments = given.iter().map(|argument| argument.of.clone()).collect();
    Ok(BoundAggregate { arguments, ..bound(of, SqlType::STRING, create, Some(retractable)) })
}

fn json_array(given: &[Argument], skips_nulls: bool) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    check_writable(of)?;
    let text = || Bytes::new(SqlType::STRING.arrow());
    let create = creating(move || Lists::<_, _, Vec<Item<Bytes>>>::new(text(), JsonArray { skips_nulls }));
    let retractable =
        creating(move || Lists::<_, _, Arrivals<Item<Bytes>>>::new(text(), JsonArray { skips_nulls }));
    Ok(BoundAggregate { is_nullable: false, ..bound(of, SqlType::STRING, create, Some(retractable)) })
}

fn json_object(given: &[Argument]) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    if !of.is_text() {
        return Err(BindError::of_type(1, of));
    }
    let text = || Bytes::new(SqlType::STRING.arrow());
    let create = creating(move || Lists::<_, _, Vec<Item<Bytes>>>::new(text(), JsonObject));
    let retractable = creating(move || Lists::<_, _, Arrivals<Item<Bytes>>>::new(text(), JsonObject));
    Ok(BoundAggregate { is_nullable: false, ..bound(of, SqlType::STRING, create, Some(retractable)) })
}

fn approximate(given: &[Argument]) -> Result<BoundAggregate, BindError> {
    let of = value(given)?;
    let is_interval = matches!(of, SqlType::DayTime | SqlType::YearMonth);
    if Kind::of(&of.arrow()) == Kind::Nested || is_interval || of.is_bytes() || of == &SqlType::Boolean {
        return Err(BindError::of_type(1, of));
    }
    let create = creating(Approximate::default);
    let bound = bound(of, SqlType::BigInt, create, None);
    Ok(BoundAggregate { is_nullable: false, distinct_over: 0, ..bound })
}

fn percentile(given: &[Argument]) -> Result<BoundAggregate, BindError> {
    let [of, percentage, rest @ ..] = given else { return Err(BindError::count(given.len())) };
    if !of.of.is_numeric() {
        return Err(BindError::of_type(1, &of.of));
    }
    let mut arguments = vec![SqlType::Double, percentage.of.clone()];
    match rest {
        [] => {}
        [frequency] if frequency.of.is_integer() => arguments.push(SqlType::BigInt),
        [frequency] => return Err(BindError::of_type(3, &frequency.of)),
        _ => return Err(BindError::count(given.len())),
    }
    let is_array = matches!(percentage.of, SqlType::Array(_));
    let percentages = percentage.literal.as_ref().and_then(numbers).filter(|numbers| !numbers.is_empty());
    let percentages = percentages.ok_or_else(|| {
        BindError::new("the percentage is no literal: write a number such as 0.95, or an array of them")
    })?;
    if let Some(wrong) = percentages.iter().find(|percentage| !(0.0..=1.0).contains(*percentage)) {
        return Err(BindError(format!("the percentage is {wrong}: it must lie between 0 and 1")));
    }
    let result = if is_array { SqlType::Array(Box::new(SqlType::Double)) } else { SqlType::Double };
    let array = is_array.then(|| result.arrow());
    let create = creating(move || {
        let percentiles = Percentiles { percentages: percentages.clone(), array: array.clone() };
        Tally::new(Numbers::<f64>::new(SqlType::Double.arrow()), percentiles)
    });
    let distinct_over = if rest.is_empty() { 1 } else { arguments.len() };
    Ok(BoundAggregate { arguments, distinct_over, ..bound(&of.of, result, create.clone(), Some(create)) })
}

/// Returns the percentages that a literal argument of PERCENTILE states: one number, or the items of an
/// array.
fn numbers(literal: &ScalarValue) -> Option<Vec<f64>> {
    Some(vec![match literal {
        ScalarValue::Float64(number) => (*number)?,
        ScalarValue::Float32(number) => f64::from((*number)?),
        ScalarValue::Int8(number) => f64::from((*number)?),
        ScalarValue::Int16(number) => f64::from((*number)?),
        ScalarValue::Int32(number) => f64::from((*number)?),
        ScalarValue::Int64(number) => (*number)? as f64,
        ScalarValue::Decimal128(number, _, scale) => format!("{}e-{scale}", (*number)?).parse().ok()?,
        ScalarValue::List(list) => {
            let items = list.values();
            if items.null_count() > 0 || list.len() != 1 || list.is_null(0) {
                return None;
            }
            if let Some(doubles) = items.as_primitive_opt::<Float64Type>() {
                return Some(doubles.values().to_vec());
            }
            let decimals = items.as_primitive_opt::<Decimal128Type>()?;
            return (0..decimals.len()).map(|place| decimals.value_as_string(place).parse().ok()).collect();
        }
        _ => return None,
    }])
}

/// Returns the type of an aggregate's only argument; a NULL without a type is refused.
fn value(given: &[Argument]) -> Result<&SqlType, BindError> {
    match given {
        [argument] if argument.of == SqlType::Null => {
            Err(BindError::new("argument 1 is NULL: cast it to a type"))
        }
        [argument] => Ok(&argument.of),
        _ => Err(BindError::count(given.len())),
    }
}

/// Returns the type of an aggregate's only argument, which must be a number.
fn number(given: &[Argument]) -> Result<&SqlType, BindError> {
    value(given).and_then(|of| if of.is_numeric() { Ok(of) } else { Err(BindError::of_type(1, of)) })
}

fn decimal(scale: u8) -> SqlType {
    SqlType::Decimal { precision: crate::types::DECIMAL_PRECISION_MAX, scale }
}

/// Binds an aggregate of one argument whose result may be NULL.
fn bound(
    of: &SqlType,
    result: SqlType,
    create: Create,
    create_retractable: Option<Create>,
) -> BoundAggregate {
    BoundAggregate {
        arguments: vec![of.clone()],
        result,
        is_nullable: true,
        create,
        create_retractable,
        distinct_over: 1,
    }
}

fn creating<A: Accumulator + 'static>(create: impl Fn() -> A + Send + Sync + 'static) -> Create {
    Arc::new(move || Box::new(create()))
}

/// Creator of the accumulators of an aggregate that takes arguments of every SQL type. `D` is the [`Domain`]
/// of the argument: the way in which its values are stored outside of columns.
trait InDomain: Send + Sync + 'static {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator>;
}

/// Returns the function that creates an aggregate's accumulators for the type of its argument.
fn in_domain(of: &SqlType, accumulators: impl InDomain) -> Create {
    let arrow = of.arrow();
    match Kind::of(&arrow) {
        Kind::Whole => Arc::new(move || accumulators.create(Numbers::<i64>::new(arrow.clone()))),
        Kind::Decimal => Arc::new(move || accumulators.create(Numbers::<i128>::new(arrow.clone()))),
        Kind::Float => Arc::new(move || accumulators.create(Numbers::<f64>::new(arrow.clone()))),
        Kind::Bytes => Arc::new(move || accumulators.create(Bytes::new(arrow.clone()))),
        Kind::Nested => {
            let domain = Nested::new(arrow);
            Arc::new(move || accumulators.create(domain.clone()))
        }
    }
}

struct KeptEnd {
    is_last: bool,
}

impl InDomain for KeptEnd {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator> {
        let choice = if self.is_last { Choice::Last } else { Choice::First };
        Box::new(Kept::new(domain, choice))
    }
}

struct ListedEnd {
    is_last: bool,
}

impl InDomain for ListedEnd {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator> {
        Box::new(Lists::<D, _, Arrivals<Item<D>>>::new(domain, End { is_last: self.is_last }))
    }
}

struct ListedSingle;

impl InDomain for ListedSingle {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator> {
        Box::new(Lists::<D, _, Arrivals<Item<D>>>::new(domain, Single))
    }
}

struct ListedArray {
    of: SqlType,
    skips_nulls: bool,
    can_retract: bool,
}

impl InDomain for ListedArray {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator> {
        let rendering = Listed { of: self.of.arrow(), skips_nulls: self.skips_nulls };
        if self.can_retract {
            Box::new(Lists::<D, _, Arrivals<Item<D>>>::new(domain, rendering))
        } else {
            Box::new(Lists::<D, _, Vec<Item<D>>>::new(domain, rendering))
        }
    }
}

struct TallyOutermost {
    is_greatest: bool,
}

impl InDomain for TallyOutermost {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator> {
        Box::new(Tally::new(domain, Outermost { is_greatest: self.is_greatest }))
    }
}

struct TallyMultiset {
    of: SqlType,
}

impl InDomain for TallyMultiset {
    fn create<D: Domain>(&self, domain: D) -> Box<dyn Accumulator> {
        Box::new(Tally::new(domain, Multiset { of: self.of.arrow() }))
    }
}
