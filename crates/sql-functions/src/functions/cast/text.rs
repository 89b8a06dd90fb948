//! Conversion of single SQL values to text and from text, in Flink's forms.
//!
//! Casts, formats and printed rows share these functions. Each writer appends to a string of the caller, so
//! that a column needs one allocation and not one per row. Each reader returns `None` for text that is not a
//! value of its type. Times are in the units of their columns, see [`ticks_per_second`].

mod numbers;
mod times;

pub(crate) use numbers::Form;
pub use numbers::{
    NotANumber, decimal_of_double, parse_boolean, parse_decimal, parse_double, parse_float, parse_integer,
    read_decimal, write_decimal, write_double, write_float,
};
pub use times::{
    parse_date, parse_time, parse_timestamp, parse_timestamp_iso, ticks_per_second, write_date,
    write_day_time, write_time, write_timestamp, write_timestamp_iso, write_year_month,
};

#[cfg(test)]
mod tests;
