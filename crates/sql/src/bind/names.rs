//! Answers to the questions of DataFusion's planner when it resolves names: tables, functions, types.
//!
//! The planner resolves names, scopes, sub-queries, aggregates and windows. [`super::expression`] then decides about
//! types and chooses the functions. So functions are stand-ins here: they have names, and result types as far as
//! these are known, which the planner's own checks need.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema, DataFusionError, Result, ScalarValue, TableReference, plan_err};
use datafusion_expr::expr::{AggregateFunction, AggregateFunctionParams, ScalarFunction};
use datafusion_expr::function::{AccumulatorArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion_expr::planner::{
    ContextProvider, ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RelationPlanner,
    TypePlanner,
};
use datafusion_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, HigherOrderUDF, LogicalPlan,
    PartitionEvaluator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TableSource, TypeSignature, Volatility, WindowUDF, WindowUDFImpl,
};
use sqlparser::ast::{BinaryOperator, DataType as AstType, ExactNumberInfo, ObjectNamePart, TimezoneInfo};
use thalweg_sql_functions::aggregates::aggregates;
use thalweg_sql_functions::functions::{self, Context};
use thalweg_sql_functions::types::{LENGTH_MAX, SqlType};
use thalweg_sql_tables::error::{Code, SqlError};
use thalweg_sql_tables::table::{Table, TableColumn};

use super::expression::{ARITHMETIC, guess_aggregate, guess_function};
use super::relations::WindowFunctions;
use crate::catalog::{Catalog, Entry};
use crate::text::dialect::TABLE_ARGUMENT;
use crate::text::interval::{MILLIS, MONTHS};
use crate::text::plain::CELL;

/// Functions of OVER windows that are no aggregates. FIRST_VALUE and LAST_VALUE are aggregates, but the planner does
/// not look for them among those, so they are here as well.
pub(super) const RANKS: [&str; 10] = [
    "row_number",
    "rank",
    "dense_rank",
    "lag",
    "lead",
    "percent_rank",
    "cume_dist",
    "ntile",
    "first_value",
    "last_value",
];

pub(super) struct Names<'a> {
    catalog: &'a Catalog,
    options: ConfigOptions,
    scalars: HashMap<String, Arc<ScalarUDF>>,
    aggregates: HashMap<String, Arc<AggregateUDF>>,
    ranks: HashMap<String, Arc<WindowUDF>>,
    expression_planners: Vec<Arc<dyn ExprPlanner>>,
    relation_planners: Vec<Arc<dyn RelationPlanner>>,
    /// Returns the planner's tree of the view with the given name.
    views: &'a dyn Fn(&str) -> Result<LogicalPlan, SqlError>,
}

impl<'a> Names<'a> {
    pub(super) fn new(
        catalog: &'a Catalog,
        context: &Context,
        views: &'a dyn Fn(&str) -> Result<LogicalPlan, SqlError>,
    ) -> Self {
        let stand_in = |name: &str| {
            let udf = ScalarUDF::new_from_impl(StandIn::new(name, context));
            (name.to_owned(), Arc::new(udf))
        };
        let known = functions::all().map(|function| function.name.to_lowercase());
        let others = ARITHMETIC.iter().map(|(name, _)| (*name).to_owned());
        let inner = [MILLIS, MONTHS, TABLE_ARGUMENT, CELL, "descriptor", "grouping", "grouping_id", "||"]
            .map(str::to_owned);
        let scalars: HashMap<_, _> = known.chain(others).chain(inner).map(|name| stand_in(&name)).collect();
        let stand_in_aggregate = |name: String| {
            let udf = AggregateUDF::new_from_impl(StandInAggregate(StandIn::new(&name, context)));
            (name, Arc::new(udf))
        };
        let aggregates = aggregates().iter().map(|function| stand_in_aggregate(function.name.to_lowercase()));
        let rank = |name: &str| (name.to_owned(), Arc::new(WindowUDF::new_from_impl(StandInRank::new(name))));
        let mut options = ConfigOptions::default();
        options.sql_parser.enable_subquery_sort_elimination = false;
        Names {
            catalog,
            options,
            expression_planners: vec![Arc::new(Operators(scalars.clone()))],
            scalars,
            aggregates: aggregates.collect(),
            ranks: RANKS.iter().map(|name| rank(name)).collect(),
            relation_planners: vec![Arc::new(WindowFunctions)],
            views,
        }
    }

    /// Returns the stand-in of a scalar function.
    pub(super) fn scalar(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalars.get(name).map(Arc::clone)
    }
}

/// A table of the catalog in the form that DataFusion's planner takes.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) table: Arc<Table>,
    schema: SchemaRef,
}

impl Source {
    pub(super) fn new(table: Arc<Table>) -> Self {
        let field = |column: &TableColumn| column.of.field(&column.name, column.is_nullable);
        let fields: Vec<FieldRef> = table.columns.iter().map(field).collect();
        Source { schema: Arc::new(Schema::new(fields)), table }
    }
}

impl TableSource for Source {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// A view, whose name the planner replaces by the plan of its query.
struct ViewSource {
    plan: LogicalPlan,
    schema: SchemaRef,
}

impl TableSource for ViewSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn get_logical_plan(&self) -> Option<Cow<'_, LogicalPlan>> {
        Some(Cow::Borrowed(&self.plan))
    }
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl ContextProvider for Names<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let before = [name.catalog(), name.schema()].into_iter().flatten();
        let expected = &crate::catalog::CATALOG;
        let known = &expected[expected.len() - before.clone().count()..];
        if !before.clone().eq(known.iter().copied()) {
            let message =
                format!("there is no catalog or database `{}`", before.collect::<Vec<_>>().join("."));
            return Err(external(SqlError::new(Code::UnknownTable, message)));
        }
        let name = name.table();
        match self.catalog.get(name).map_err(external)? {
            Entry::Table(table) => Ok(Arc::new(Source::new(Arc::clone(table)))),
            Entry::View(_) => {
                let plan = (self.views)(name).map_err(external)?;
                let schema = Arc::clone(plan.schema().inner());
                Ok(Arc::new(ViewSource { plan, schema }))
            }
        }
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.expression_planners
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relation_planners
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(Types))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        self.scalar(name)
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.aggregates.get(name).map(Arc::clone)
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        self.ranks.get(name).map(Arc::clone)
    }

    fn get_variable_type(&self, _variable_names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.scalars.keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.aggregates.keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.ranks.keys().cloned().collect()
    }
}

/// Stand-in of a scalar function while DataFusion's planner resolves names.
#[derive(Clone)]
pub(super) struct StandIn {
    name: String,
    signature: Signature,
    context: Context,
}

impl StandIn {
    fn new(name: &str, context: &Context) -> Self {
        let any = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::VariadicAny]);
        // A volatile function is not computed by the planner, even if its arguments are literals.
        let signature = Signature::new(any, Volatility::Volatile);
        StandIn { name: name.to_owned(), signature, context: context.clone() }
    }
}

impl fmt::Debug for StandIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for StandIn {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for StandIn {}

impl Hash for StandIn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Greatest number of parts of a call's arguments that the planner's name of the call spells out.
const WRITTEN_PARTS_MAX: usize = 100;

/// Returns the arguments of a call as text, for the planner's name of the call, by which it distinguishes calls. The
/// planner asks for the name of each part of an expression when it asks for the part's type, so the cost for a chain
/// of calls would be the cube of its length. So many arguments are given by a hash of all of them.
fn written(arguments: &[Expr]) -> String {
    let mut parts = 0;
    for argument in arguments {
        let _ = argument.apply(|_| {
            parts += 1;
            let is_large = parts > WRITTEN_PARTS_MAX;
            Ok(if is_large { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        });
    }
    if parts > WRITTEN_PARTS_MAX {
        let mut hasher = DefaultHasher::new();
        arguments.hash(&mut hasher);
        return format!("#{:016x}", hasher.finish());
    }
    arguments.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn never<T>(name: &str) -> Result<T> {
    plan_err!("{name} is computed by kernels of its own")
}

impl ScalarUDFImpl for StandIn {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(format!("{}({})", self.name, written(args)))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let literals: Vec<Option<ScalarValue>> =
            args.scalar_arguments.iter().map(|value| value.cloned()).collect();
        if self.name == CELL {
            let of = args.arg_fields.first().map_or(DataType::Null, |field| field.data_type().clone());
            return Ok(Arc::new(Field::new(CELL, of, true)));
        }
        let guess = guess_function(&self.name, args.arg_fields, &literals, &self.context);
        Ok(guess.map_or_else(
            || Arc::new(Field::new(&self.name, DataType::Null, true)),
            |(of, is_nullable)| of.field(&self.name, is_nullable),
        ))
    }

    fn invoke_with_args(&self, _args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        never(&self.name)
    }
}

/// Stand-in of an aggregate function while DataFusion's planner resolves names.
#[derive(Clone, PartialEq, Eq, Hash)]
struct StandInAggregate(StandIn);

impl fmt::Debug for StandInAggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name)
    }
}

impl AggregateUDFImpl for StandInAggregate {
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the planner's name of a call, with the casts in its arguments. The default name leaves casts out, and
    /// two aggregates that differ in a cast would have one name.
    fn schema_name(&self, params: &AggregateFunctionParams) -> Result<String> {
        let arguments = written(&params.args);
        let distinct = if params.distinct { "DISTINCT " } else { "" };
        let filter = params.filter.as_ref().map(|filter| format!(" FILTER {filter}")).unwrap_or_default();
        Ok(format!("{}({distinct}{arguments}){filter}", self.0.name))
    }

    fn signature(&self) -> &Signature {
        &self.0.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let guess = guess_aggregate(&self.0.name, arg_fields, &self.0.context);
        Ok(guess.map_or_else(
            || Arc::new(Field::new(&self.0.name, DataType::Null, true)),
            |(of, is_nullable)| of.field(&self.0.name, is_nullable),
        ))
    }

    fn accumulator(&self, _acc_args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        never(&self.0.name)
    }
}

/// Stand-in of ROW_NUMBER and other functions of OVER windows while DataFusion's planner resolves names.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct StandInRank {
    name: String,
    signature: Signature,
}

impl StandInRank {
    fn new(name: &str) -> Self {
        let any = TypeSignature::OneOf(vec![TypeSignature::Nullary, TypeSignature::VariadicAny]);
        StandInRank { name: name.to_owned(), signature: Signature::new(any, Volatility::Immutable) }
    }
}

impl WindowUDFImpl for StandInRank {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn partition_evaluator(&self, _args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        never(&self.name)
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let of = match self.name.as_str() {
            "lag" | "lead" | "first_value" | "last_value" => match args.input_fields().first() {
                Some(field) => field.data_type().clone(),
                None => DataType::Null,
            },
            "percent_rank" | "cume_dist" => DataType::Float64,
            _ => DataType::Int64,
        };
        Ok(Arc::new(Field::new(args.name(), of, true)))
    }
}

/// Turns arithmetic operators and `||` into calls of stand-ins, so that DataFusion's planner does not choose types by
/// its own rules.
#[derive(Debug)]
struct Operators(HashMap<String, Arc<ScalarUDF>>);

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        _schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let name = match expr.op {
            BinaryOperator::Plus => "+",
            BinaryOperator::Minus => "-",
            BinaryOperator::Multiply => "*",
            BinaryOperator::Divide => "/",
            BinaryOperator::Modulo => "%",
            BinaryOperator::StringConcat => "||",
            _ => return Ok(PlannerResult::Original(expr)),
        };
        match self.0.get(name) {
            Some(function) => {
                let call = ScalarFunction::new_udf(Arc::clone(function), vec![expr.left, expr.right]);
                Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
            }
            None => Ok(PlannerResult::Original(expr)),
        }
    }

    fn plan_compound_identifier(
        &self,
        field: &Field,
        qualifier: Option<&TableReference>,
        nested_names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let Some(function) = self.0.get("field") else { return Ok(PlannerResult::Original(Vec::new())) };
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let nested = nested_names.iter().fold(column, |inner, name| {
            let name = Expr::Literal(ScalarValue::Utf8(Some(name.clone())), None);
            Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), vec![inner, name]))
        });
        // A result such as `row.field` has the name of the field, unless the query gives it another.
        Ok(PlannerResult::Planned(match nested_names.last() {
            Some(name) => nested.alias(name),
            None => nested,
        }))
    }

    /// Plans `(a, b)`, which means `ROW(a, b)`.
    fn plan_struct_literal(
        &self,
        args: Vec<Expr>,
        _is_named_struct: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let Some(function) = self.0.get("row") else { return Ok(PlannerResult::Original(args)) };
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }

    fn plan_aggregate(&self, expr: RawAggregateExpr) -> Result<PlannerResult<RawAggregateExpr>> {
        let RawAggregateExpr { func, args, distinct, filter, order_by, null_treatment } = expr;
        let call = AggregateFunction::new_udf(func, args, distinct, filter, order_by, null_treatment);
        Ok(PlannerResult::Planned(Expr::AggregateFunction(call)))
    }
}

/// Converts the types in CAST for DataFusion's planner.
#[derive(Debug)]
struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &AstType) -> Result<Option<FieldRef>> {
        match type_of_ast(sql_type) {
            Some(of) => Ok(Some(of.field("cast", true))),
            None => {
                let message = format!("there is no type {sql_type}");
                let place = match sql_type {
                    AstType::Custom(name, _) => super::relations::place(name),
                    _ => None,
                };
                Err(external(SqlError::new(Code::Unsupported, message).at(place)))
            }
        }
    }
}

/// Returns the SQL type that sqlparser has read in an expression; `None` if there is no such type.
fn type_of_ast(of: &AstType) -> Option<SqlType> {
    let digits = |digits: &Option<u64>, unless: u8| match digits {
        None => Some(unless),
        Some(digits) => u8::try_from(*digits).ok().filter(|digits| *digits <= 9),
    };
    let within = |length: u64| u32::try_from(length).ok().filter(|length| (1..=LENGTH_MAX).contains(length));
    let length = |length: &Option<sqlparser::ast::CharacterLength>| match length {
        None => Some(1),
        Some(sqlparser::ast::CharacterLength::IntegerLength { length, .. }) => within(*length),
        Some(sqlparser::ast::CharacterLength::Max) => None,
    };
    let decimal = |info: &ExactNumberInfo| {
        let (precision, scale) = match *info {
            ExactNumberInfo::None => (10, 0),
            ExactNumberInfo::Precision(precision) => (precision, 0),
            ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, u64::try_from(scale).ok()?),
        };
        let precision = u8::try_from(precision).ok().filter(|precision| (1..=38).contains(precision))?;
        let scale = u8::try_from(scale).ok().filter(|scale| *scale <= precision)?;
        Some(SqlType::Decimal { precision, scale })
    };
    Some(match of {
        AstType::Boolean | AstType::Bool => SqlType::Boolean,
        AstType::TinyInt(None) => SqlType::TinyInt,
        AstType::SmallInt(None) => SqlType::SmallInt,
        AstType::Int(None) | AstType::Integer(None) => SqlType::Int,
        AstType::BigInt(None) => SqlType::BigInt,
        AstType::Float(ExactNumberInfo::None) => SqlType::Float,
        AstType::Double(ExactNumberInfo::None) | AstType::DoublePrecision => SqlType::Double,
        AstType::Decimal(info) | AstType::Dec(info) | AstType::Numeric(info) => decimal(info)?,
        AstType::Char(n) | AstType::Character(n) => SqlType::Char(length(n)?),
        AstType::Varchar(n) | AstType::CharacterVarying(n) | AstType::CharVarying(n) => {
            // VARCHAR without a length is a STRING, as Flink runs it; Flink's documentation says VARCHAR(1).
            n.as_ref().map_or(Some(SqlType::STRING), |_| length(n).map(SqlType::Varchar))?
        }
        AstType::String(None) => SqlType::STRING,
        AstType::Binary(n) => SqlType::Binary(within(n.unwrap_or(1))?),
        AstType::Varbinary(n) => match n {
            None => SqlType::BYTES,
            Some(sqlparser::ast::BinaryLength::IntegerLength { length }) => {
                SqlType::Varbinary(within(*length)?)
            }
            Some(sqlparser::ast::BinaryLength::Max) => return None,
        },
        AstType::Bytes(None) => SqlType::BYTES,
        AstType::Date => SqlType::Date,
        AstType::Time(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            SqlType::Time(digits(precision, 0)?)
        }
        AstType::Timestamp(precision, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => {
            SqlType::Timestamp(digits(precision, 6)?)
        }
        AstType::Array(sqlparser::ast::ArrayElemTypeDef::AngleBracket(item)) => {
            SqlType::Array(Box::new(type_of_ast(item)?))
        }
        AstType::Map(key, value) => SqlType::Map(Box::new(type_of_ast(key)?), Box::new(type_of_ast(value)?)),
        AstType::Custom(name, modifiers) => {
            let [ObjectNamePart::Identifier(name)] = &name.0[..] else { return None };
            match (name.value.to_uppercase().as_str(), &modifiers[..]) {
                ("TIMESTAMP_LTZ", []) => SqlType::TimestampLtz(6),
                ("TIMESTAMP_LTZ", [precision]) => {
                    SqlType::TimestampLtz(digits(&Some(precision.parse().ok()?), 6)?)
                }
                ("STRING", []) => SqlType::STRING,
                ("BYTES", []) => SqlType::BYTES,
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// Returns the table from which a source was made; `None` for a view.
pub(super) fn table_of(source: &Arc<dyn TableSource>) -> Option<Arc<Table>> {
    let any: &dyn Any = &**source;
    any.downcast_ref::<Source>().map(|source| Arc::clone(&source.table))
}
