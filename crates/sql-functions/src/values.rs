//! Values of an expression while it is computed: a column, or one value for all rows.
//!
//! Both types are DataFusion's, because its planner computes constants and passes literals in them. They are
//! named here and nowhere else among the functions, which use nothing further of DataFusion.

pub use datafusion_common::ScalarValue;
pub use datafusion_expr_common::columnar_value::ColumnarValue;
