//! Calls: which operator or function an expression computes from its arguments.
//!
//! Code that asks what a call is matches [`Call`]. Its text is for people only, in messages and EXPLAIN.

use std::fmt;
use std::sync::Arc;

use super::choice::Choice;
use super::{Literal, Typed};
use crate::functions::Function;
use crate::functions::arithmetic::ArithmeticOp;
use crate::functions::compare::ComparisonOp;
use crate::types::SqlType;
use crate::user::UserFunction;
use crate::values::ScalarValue;

/// Operator or function that a call computes. Equal calls with equal arguments, in sessions with equal settings, give
/// equal results if they are deterministic.
#[derive(Clone, PartialEq, Debug)]
pub enum Call {
    /// An arithmetic operator of two arguments, such as `a + b`.
    Arithmetic(ArithmeticOp),
    /// The minus sign before a number or an interval.
    Negate,
    /// A comparison of two arguments, such as `a < b`.
    Compare(ComparisonOp),
    /// CAST of the argument to a type.
    Cast {
        /// Type to which the argument is cast.
        to: SqlType,
        /// True for TRY_CAST, which gives NULL where the cast fails.
        is_try: bool,
    },
    /// Look-up of the argument among literals, as in `x IN (1, 2)`.
    In(Arc<[ScalarValue]>),
    /// GROUPING: a number made of bits of the argument, which is the number of the grouping set. The list has the
    /// index of each bit, counted from the lowest, the highest bit of the result first.
    Grouping(Arc<[usize]>),
    /// A function of SQL.
    Function(&'static Function),
    /// A function that the program has registered.
    User(UserFunction),
}

impl Call {
    /// Returns how tightly the call binds as an operator, as [`Typed`] counts it: more for tighter operators. Calls
    /// with their arguments in brackets have the greatest number.
    pub(super) fn strength(&self) -> u8 {
        match self {
            Call::Compare(_) | Call::In(_) => 1,
            Call::Arithmetic(ArithmeticOp::Add | ArithmeticOp::Subtract) => 2,
            Call::Arithmetic(ArithmeticOp::Multiply | ArithmeticOp::Divide | ArithmeticOp::Modulo) => 3,
            Call::Negate | Call::Cast { .. } | Call::Grouping(_) | Call::Function(_) | Call::User(_) => 4,
        }
    }

    /// Returns how the call chooses among its arguments, if it needs only one of them behind the first for each row.
    pub(super) fn choice(&self) -> Option<Choice> {
        match self {
            Call::Function(function) => match function.name {
                "IF" => Some(Choice::If),
                "COALESCE" | "IFNULL" => Some(Choice::FirstKnown),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns both arguments of a call that is shown as an operator between them.
    pub(super) fn infix<'a>(&self, arguments: &'a [Typed]) -> Option<[&'a Typed; 2]> {
        match (self, arguments) {
            (Call::Arithmetic(_) | Call::Compare(_), [left, right]) => Some([left, right]),
            _ => None,
        }
    }
}

/// Shows the call without its arguments: `+`, `CAST AS INT`, `IN (1, 2)`, `UPPER`.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Call::Arithmetic(op) => write!(f, "{op}"),
            Call::Negate => f.write_str("-"),
            Call::Compare(op) => write!(f, "{op}"),
            Call::Cast { to, is_try } => write!(f, "{}CAST AS {to}", if *is_try { "TRY_" } else { "" }),
            Call::In(literals) => {
                f.write_str("IN (")?;
                for (place, literal) in literals.iter().enumerate() {
                    write!(f, "{}{}", if place > 0 { ", " } else { "" }, Literal(literal))?;
                }
                f.write_str(")")
            }
            Call::Grouping(_) => f.write_str("GROUPING"),
            Call::Function(function) => f.write_str(function.name),
            Call::User(function) => f.write_str(function.name()),
        }
    }
}
