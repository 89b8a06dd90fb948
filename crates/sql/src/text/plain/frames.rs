//! Rewriting of the frames of OVER windows into plain form: they end at the current row, and begin a number
//! of rows or milliseconds before it.
//!
//! In frames the planner accepts numbers but no calls, and intervals are parsed as calls. Source: Flink's
//! documentation, "Over Aggregation".

use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Value, ValueWithSpan, WindowFrameBound,
    WindowFrameUnits, WindowSpec,
};
use thalweg_sql_tables::error::{Code, SqlError};

use super::not_supported;
use crate::text::interval::MILLIS;

/// Rewrites the frame of an OVER window so that its bounds are numbers: of rows, or of milliseconds.
///
/// # Errors
/// [`Code::Unsupported`] for frames that extend past the current row, [`Code::TypeMismatch`] for bounds that
/// do not fit ROWS or RANGE.
pub(super) fn plain_window(window: &mut WindowSpec) -> Result<(), SqlError> {
    let unsupported = |what: &str| Err(not_supported(what));
    if window.window_name.is_some() {
        return unsupported("a window that adds to another: write it out");
    }
    let Some(frame) = &mut window.window_frame else { return Ok(()) };
    match &frame.end_bound {
        None | Some(WindowFrameBound::CurrentRow) => {}
        Some(WindowFrameBound::Following(_)) => {
            return unsupported("FOLLOWING: a frame ends at CURRENT ROW");
        }
        Some(WindowFrameBound::Preceding(_)) => return unsupported("a frame that ends before CURRENT ROW"),
    }
    let bound = match &mut frame.start_bound {
        WindowFrameBound::CurrentRow | WindowFrameBound::Preceding(None) => None,
        WindowFrameBound::Preceding(Some(bound)) => Some(bound),
        WindowFrameBound::Following(_) => {
            return unsupported("FOLLOWING: a frame begins before CURRENT ROW");
        }
    };
    let mismatch = |message: String, help: &str| Err(SqlError::new(Code::TypeMismatch, message).help(help));
    match (frame.units, bound) {
        (WindowFrameUnits::Groups, _) => unsupported("GROUPS"),
        (WindowFrameUnits::Rows | WindowFrameUnits::Range, None) => Ok(()),
        (WindowFrameUnits::Rows, Some(bound)) => {
            let is_count = match &**bound {
                Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => {
                    number.parse::<u64>().is_ok()
                }
                _ => false,
            };
            if is_count {
                return Ok(());
            }
            let message = format!("ROWS counts rows, and {bound} is no count");
            mismatch(message, "write ROWS BETWEEN 10 PRECEDING AND CURRENT ROW")
        }
        (WindowFrameUnits::Range, Some(bound)) => {
            let millis = match &**bound {
                Expr::Function(call) if call.name.to_string().trim_matches('`') == MILLIS => match &call.args
                {
                    FunctionArguments::List(list) => match &list.args[..] {
                        [FunctionArg::Unnamed(FunctionArgExpr::Expr(millis @ Expr::Value(_)))] => {
                            Some(millis.clone())
                        }
                        _ => None,
                    },
                    _ => None,
                },
                _ => None,
            };
            let Some(millis) = millis else {
                let message = format!("RANGE goes back by a span of days to seconds, and {bound} is none");
                return mismatch(message, "write RANGE BETWEEN INTERVAL '1' HOUR PRECEDING AND CURRENT ROW");
            };
            **bound = millis;
            Ok(())
        }
    }
}
