//! The SQL functions RAND, RAND_INTEGER and UUID.
//!
//! With a seed they return the numbers of Java's `java.util.Random`, as Flink does. A literal seed gives one
//! number of the sequence after the other; a seed in a column gives the first number of its sequence. Several
//! workers take numbers of one sequence, in any order. Without a seed the functions hash a counter with a key
//! that each bound function draws anew.
//!
//! Source: Flink, `RandCallGen`; Java, `java.util.Random` (a linear congruential generator of 48 bits).
//!
//! Differs from Flink: UUIDs are as random as the keys of hash tables, and not fit for secrets.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{Float64Array, Int32Array, StringBuilder};
use arrow::datatypes::*;

use super::numbers;
use crate::functions::over::{Evaluated, both, null, only, primitive, try_map, try_zip};
use crate::functions::{Argument, BindError, Bound, EvaluationError, Kernel, column};
use crate::types::SqlType;
use crate::values::{ColumnarValue, ScalarValue};

/// Binds RAND: a pseudo-random DOUBLE from 0 up to but without 1.
pub(super) fn bind_rand(arguments: &[Argument]) -> Result<Bound, BindError> {
    integers(arguments, 1)?;
    let kernel: Arc<dyn Kernel> = match arguments.first().map(literal) {
        Some(None) => Arc::new(|arguments: &[ColumnarValue], _: usize| {
            try_map::<Int32Type, Float64Type>(only(arguments)?, &DataType::Float64, |seed| {
                Ok(Some(JavaRandom::new(i64::from(seed)).double()))
            })
        }),
        Some(Some(seed)) => {
            let random = Mutex::new(JavaRandom::new(i64::from(seed)));
            Arc::new(move |_: &[ColumnarValue], rows: usize| -> Evaluated {
                let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(doubles((0..rows).map(|_| random.double())))
            })
        }
        None => {
            let hashes = Hashes::new();
            Arc::new(move |_: &[ColumnarValue], rows: usize| -> Evaluated {
                // A double below one has 53 bits of precision, so 53 bits of the hash are used.
                Ok(doubles(hashes.take(rows).map(|hash| (hash >> 11) as f64 * (0.5_f64).powi(53))))
            })
        }
    };
    Ok(Bound {
        arguments: arguments.iter().map(|_| SqlType::Int).collect(),
        result: SqlType::Double,
        is_nullable: arguments.iter().any(|argument| argument.is_nullable),
        kernel,
    })
}

/// Binds RAND_INTEGER: a pseudo-random INT from 0 up to but without a bound.
pub(super) fn bind_rand_integer(arguments: &[Argument]) -> Result<Bound, BindError> {
    integers(arguments, 2)?;
    let Some(bound) = arguments.last() else { return Err(BindError::count(0)) };
    if literal(bound).is_some_and(|bound| bound <= 0) {
        return Err(BindError::new("the bound is 0 or less: numbers are drawn below it, from 0 on"));
    }
    let seed = if arguments.len() == 2 { arguments.first() } else { None };
    let kernel: Arc<dyn Kernel> = match seed.map(literal) {
        Some(None) => Arc::new(|arguments: &[ColumnarValue], _: usize| {
            let (seed, bound) = both(arguments)?;
            try_zip::<Int32Type, Int32Type, Int32Type>(seed, bound, &DataType::Int32, |seed, bound| {
                positive(bound)?;
                Ok(Some(JavaRandom::new(i64::from(seed)).below(bound)))
            })
        }),
        Some(Some(seed)) => {
            let random = Mutex::new(JavaRandom::new(i64::from(seed)));
            Arc::new(move |arguments: &[ColumnarValue], rows: usize| {
                let mut random = random.lock().unwrap_or_else(PoisonError::into_inner);
                drawn(arguments, rows, |bound| random.below(bound))
            })
        }
        None => {
            let hashes = Hashes::new();
            Arc::new(move |arguments: &[ColumnarValue], rows: usize| {
                let mut hashes = hashes.take(rows);
                // The upper 32 bits of the 64-bit product of the bound and 32 random bits are a number from 0
                // up to but without the bound.
                drawn(arguments, rows, |bound| {
                    let hash = hashes.next().unwrap_or_default() >> 32;
                    ((hash * u64::from(bound.unsigned_abs())) >> 32) as i32
                })
            })
        }
    };
    Ok(Bound {
        arguments: arguments.iter().map(|_| SqlType::Int).collect(),
        result: SqlType::Int,
        is_nullable: arguments.iter().any(|argument| argument.is_nullable),
        kernel,
    })
}

/// Binds UUID: a random identifier of version 4 as text.
pub(super) fn bind_uuid(arguments: &[Argument]) -> Result<Bound, BindError> {
    if !arguments.is_empty() {
        return Err(BindError::count(arguments.len()));
    }
    let hashes = Hashes::new();
    let kernel = move |_: &[ColumnarValue], rows: usize| -> Evaluated {
        let mut builder = StringBuilder::with_capacity(rows, rows * 36);
        let mut hashes = hashes.take(rows * 2);
        for _ in 0..rows {
            let high = hashes.next().unwrap_or_default();
            let low = hashes.next().unwrap_or_default();
            // In a UUID by RFC 4122, section 4.4, four bits hold the version 4, and two bits hold the
            // variant.
            let high = (high & !0xF000) | 0x4000;
            let low = (low & !(0b11 << 62)) | (0b10 << 62);
            let _ = write!(
                builder,
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                high >> 32,
                (high >> 16) & 0xFFFF,
                high & 0xFFFF,
                low >> 48,
                low & 0xFFFF_FFFF_FFFF
            );
            builder.append_value("");
        }
        Ok(ColumnarValue::Array(Arc::new(builder.finish())))
    };
    Ok(Bound {
        arguments: Vec::new(),
        result: SqlType::Char(36),
        is_nullable: false,
        kernel: Arc::new(kernel),
    })
}

/// Checks that a random function has at most `most` arguments, all of them whole numbers.
fn integers(arguments: &[Argument], most: usize) -> Result<(), BindError> {
    if most < arguments.len() {
        return Err(BindError::count(arguments.len()));
    }
    numbers(arguments, arguments.len())?;
    match arguments.iter().position(|argument| !argument.of.is_integer()) {
        Some(place) => Err(BindError::of_type(place + 1, &arguments[place].of)),
        None => Ok(()),
    }
}

fn literal(argument: &Argument) -> Option<i32> {
    match argument.literal {
        Some(ScalarValue::Int8(value)) => value.map(i32::from),
        Some(ScalarValue::Int16(value)) => value.map(i32::from),
        Some(ScalarValue::Int32(value)) => value,
        _ => None,
    }
}

fn doubles(values: impl Iterator<Item = f64>) -> ColumnarValue {
    ColumnarValue::Array(Arc::new(Float64Array::from_iter_values(values)))
}

/// Draws one random number for each row with `draw`, which gets the row's bound from the last argument.
fn drawn(arguments: &[ColumnarValue], rows: usize, mut draw: impl FnMut(i32) -> i32) -> Evaluated {
    let Some(bound) = arguments.last() else { return null(&DataType::Int32) };
    // A scalar bound becomes a column, because each row still needs a random number of its own.
    let bounds = column(bound, rows)?;
    let bounds = primitive::<Int32Type>(&bounds)?;
    let numbers = bounds.iter().map(|bound| match bound {
        Some(bound) => positive(bound).map(|()| Some(draw(bound))),
        None => Ok(None),
    });
    let numbers = numbers.collect::<Result<Int32Array, EvaluationError>>()?;
    Ok(ColumnarValue::Array(Arc::new(numbers)))
}

fn positive(bound: i32) -> Result<(), EvaluationError> {
    if 0 < bound {
        return Ok(());
    }
    Err(EvaluationError {
        code: "BAD_BOUND",
        message: format!("the bound {bound} of RAND_INTEGER is 0 or less: numbers are drawn below it"),
    })
}

/// Random numbers of 64 bits: hashes of a counter by a random key. Workers share the counter, and each value
/// is used once.
struct Hashes {
    key: RandomState,
    used: Mutex<u64>,
}

impl Hashes {
    fn new() -> Self {
        Hashes { key: RandomState::new(), used: Mutex::new(0) }
    }

    fn take(&self, count: usize) -> impl Iterator<Item = u64> + '_ {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let start = *used;
        *used = start.wrapping_add(count as u64);
        (0..count as u64).map(move |place| self.key.hash_one(start.wrapping_add(place)))
    }
}

/// Pseudo-random generator that gives the numbers of `java.util.Random`.
struct JavaRandom {
    state: u64,
}

impl JavaRandom {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: i64) -> Self {
        JavaRandom { state: (seed as u64 ^ Self::MULTIPLIER) & Self::MASK }
    }

    /// Returns the upper `count` bits, at most 32, of the generator's next state of 48 bits, as a signed
    /// number.
    fn bits(&mut self, count: u32) -> i32 {
        self.state = self.state.wrapping_mul(Self::MULTIPLIER).wrapping_add(0xB) & Self::MASK;
        (self.state >> (48 - count)) as i32
    }

    fn double(&mut self) -> f64 {
        let high = i64::from(self.bits(26));
        let low = i64::from(self.bits(27));
        ((high << 27) + low) as f64 * (0.5_f64).powi(53)
    }

    /// Returns a pseudo-random number from 0 up to but without a bound, which must be above zero.
    fn below(&mut self, bound: i32) -> i32 {
        let mut drawn = self.bits(31);
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(drawn)) >> 31) as i32;
        }
        // Numbers of 31 bits from the last multiple of the bound on are drawn again, because they would make
        // small results more frequent.
        loop {
            let rest = drawn % bound;
            if 0 <= drawn.wrapping_sub(rest).wrapping_add(bound - 1) {
                return rest;
            }
            drawn = self.bits(31);
        }
    }
}
