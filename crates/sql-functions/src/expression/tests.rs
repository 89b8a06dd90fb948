//! Which expressions are the same, and how calls are shown.

use super::*;
use crate::functions::arithmetic::ArithmeticOp;
use crate::functions::compare::ComparisonOp;
use crate::functions::function;

fn int(place: usize) -> Typed {
    Typed::column(place, SqlType::Int, true)
}

fn number(number: i32) -> Typed {
    Typed::literal(ScalarValue::Int32(Some(number)), SqlType::Int)
}

fn of(of: SqlType, expression: Expression) -> Typed {
    Typed { expression, of, is_nullable: true }
}

/// A call with a kernel that gives NULL: only the form of the expression matters here.
fn called(call: Call, arguments: Vec<Typed>) -> Typed {
    let kernel = |_: &[ColumnarValue], _: usize| -> Result<ColumnarValue, EvaluationError> {
        Ok(ColumnarValue::Scalar(ScalarValue::Null))
    };
    let is_deterministic = !matches!(&call, Call::Function(function) if !function.is_deterministic);
    let expression =
        Expression::Call { call, kernel: Arc::new(kernel), arguments, is_total: true, is_deterministic };
    of(SqlType::Int, expression)
}

fn named(name: &str, arguments: Vec<Typed>) -> Typed {
    called(Call::Function(function(name).unwrap()), arguments)
}

fn add(left: Typed, right: Typed) -> Typed {
    called(Call::Arithmetic(ArithmeticOp::Add), vec![left, right])
}

fn cast(to: SqlType, is_try: bool) -> Typed {
    called(Call::Cast { to, is_try }, vec![int(0)])
}

fn member(numbers: &[i32]) -> Typed {
    let literals: Vec<ScalarValue> = numbers.iter().map(|number| ScalarValue::Int32(Some(*number))).collect();
    called(Call::In(literals.into()), vec![int(0)])
}

/// All of these differ from each other, and each of them is the same as a second one that is made alike.
#[test]
fn expressions_of_one_form_are_the_same() {
    let boolean = |expression| of(SqlType::Boolean, expression);
    let all = || {
        vec![
            int(0),
            int(1),
            Typed { of: SqlType::BigInt, ..int(0) },
            number(1),
            number(2),
            Typed { of: SqlType::BigInt, ..number(1) },
            add(int(0), int(1)),
            add(int(1), int(0)),
            called(Call::Arithmetic(ArithmeticOp::Multiply), vec![int(0), int(1)]),
            called(Call::Compare(ComparisonOp::Lt), vec![int(0), int(1)]),
            called(Call::Compare(ComparisonOp::Gt), vec![int(0), int(1)]),
            called(Call::Negate, vec![int(0)]),
            cast(SqlType::Int, false),
            cast(SqlType::Int, true),
            cast(SqlType::BigInt, false),
            member(&[1, 2]),
            member(&[1, 3]),
            called(Call::Grouping([0].into()), vec![int(0)]),
            called(Call::Grouping([1].into()), vec![int(0)]),
            named("ABS", vec![int(0)]),
            named("ABS", vec![int(1)]),
            named("EXP", vec![int(0)]),
            named("PI", Vec::new()),
            boolean(Expression::And(vec![int(0), int(1)])),
            boolean(Expression::And(vec![int(0)])),
            boolean(Expression::Or(vec![int(0), int(1)])),
            boolean(Expression::Not(Box::new(int(0)))),
            boolean(Expression::Is(Box::new(int(0)), State::Null)),
            boolean(Expression::Is(Box::new(int(0)), State::NotNull)),
            boolean(Expression::Case { branches: vec![(int(0), int(1))], otherwise: Box::new(int(2)) }),
            boolean(Expression::Case { branches: vec![(int(0), int(1))], otherwise: Box::new(int(3)) }),
            boolean(Expression::Case { branches: vec![(int(1), int(1))], otherwise: Box::new(int(2)) }),
            boolean(Expression::Case { branches: Vec::new(), otherwise: Box::new(int(2)) }),
        ]
    };
    for (place, one) in all().iter().enumerate() {
        for (other_place, other) in all().iter().enumerate() {
            assert_eq!(one.same(other), place == other_place, "{one:?} and {other:?}");
        }
    }
}

/// Two calls of RAND() differ, also as arguments of equal calls.
#[test]
fn what_varies_is_not_the_same() {
    let random = || named("RAND", Vec::new());
    assert!(!random().same(&random()));
    assert!(!named("ABS", vec![random()]).same(&named("ABS", vec![random()])));
}

#[test]
fn calls_are_shown_as_sql() {
    let check = |typed: Typed, expected: &str| assert_eq!(typed.to_string(), expected);
    let less = || called(Call::Compare(ComparisonOp::Lt), vec![int(0), int(1)]);
    let distinct = || called(Call::Compare(ComparisonOp::IsNotDistinctFrom), vec![int(0), int(1)]);
    check(add(int(0), number(1)), "$0 + 1");
    check(add(add(int(0), int(1)), add(int(2), int(3))), "$0 + $1 + ($2 + $3)");
    check(
        called(Call::Arithmetic(ArithmeticOp::Multiply), vec![add(int(0), int(1)), int(2)]),
        "($0 + $1) * $2",
    );
    check(add(less(), distinct()), "($0 < $1) + ($0 IS NOT DISTINCT FROM $1)");
    check(called(Call::Compare(ComparisonOp::Eq), vec![less(), member(&[1])]), "($0 < $1) = ($0 IN (1))");
    check(called(Call::Negate, vec![add(int(0), int(1))]), "-($0 + $1)");
    check(cast(SqlType::STRING, false), "CAST($0 AS STRING)");
    check(cast(SqlType::Decimal { precision: 3, scale: 1 }, true), "TRY_CAST($0 AS DECIMAL(3, 1))");
    check(called(Call::In([].into()), vec![add(int(0), int(1))]), "$0 + $1 IN ()");
    check(called(Call::Grouping([0].into()), vec![int(0)]), "GROUPING($0)");
    check(named("POWER", vec![int(0), less()]), "POWER($0, $0 < $1)");
    check(named("PI", Vec::new()), "PI()");
}

/// Branches over rows without columns, as of `CASE WHEN RAND() < 0.5 THEN 1 ELSE 2 END` below COUNT(*), are evaluated for the
/// rows that are left, too; and so are the terms of AND.
#[test]
fn rows_without_columns_take_branches() {
    let alternating = |_: &[ColumnarValue], rows: usize| -> Result<ColumnarValue, EvaluationError> {
        let values: BooleanArray = (0..rows).map(|row| Some(row % 2 == 0)).collect();
        Ok(ColumnarValue::Array(Arc::new(values)))
    };
    let every_other = || {
        let call = Call::Function(function("RAND").unwrap());
        let (kernel, arguments) = (Arc::new(alternating), Vec::new());
        let expression =
            Expression::Call { call, kernel, arguments, is_total: false, is_deterministic: false };
        of(SqlType::Boolean, expression)
    };
    let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(5));
    let schema = Arc::new(arrow::datatypes::Schema::empty());
    let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options).unwrap();
    let branches = vec![(every_other(), number(1)), (every_other(), number(2))];
    let case = of(SqlType::Int, Expression::Case { branches, otherwise: Box::new(number(3)) });
    let values = case.evaluate_column(&batch).unwrap();
    assert_eq!(values.as_primitive::<arrow::datatypes::Int32Type>().values(), &[1, 2, 1, 3, 1]);
    let both = of(SqlType::Boolean, Expression::And(vec![every_other(), every_other()]));
    let values: Vec<Option<bool>> = both.evaluate_booleans(&batch).unwrap().iter().collect();
    assert_eq!(values, [Some(true), Some(false), Some(false), Some(false), Some(true)]);
}
