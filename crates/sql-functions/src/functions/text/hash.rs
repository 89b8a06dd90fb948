//! SQL functions that return hashes as hexadecimal digits: MD5, SHA1, SHA224, SHA256, SHA384, SHA512, SHA2.
//!
//! The hash of a text is that of its UTF-8 bytes, written in lower case; the argument may also be bytes. The hashes
//! are for checksums and keys, not for secrets, because the time taken depends on the input.
//!
//! Source: RFC 1321 (MD5), FIPS 180-4 (SHA). The tables follow from their definitions: fractional parts of cube roots
//! and square roots of primes, and of sines. The tables of 32 bits are the upper halves of those of 64.

use arrow::datatypes::Int64Type;

use crate::functions::each::{self, Input, Kind, Nulls, Octets, bound, expect};
use crate::functions::{Argument, BindError, Bound, Context};
use crate::types::SqlType;

/// Binds MD5, whose hash has 128 bits.
pub(super) fn md5(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, md5_of)
}

/// Binds SHA1, whose hash has 160 bits.
pub(super) fn sha1(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, sha1_of)
}

/// Binds SHA224, whose hash has 224 bits.
pub(super) fn sha224(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, sha224_of)
}

/// Binds SHA256, whose hash has 256 bits.
pub(super) fn sha256(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, sha256_of)
}

/// Binds SHA384, whose hash has 384 bits.
pub(super) fn sha384(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, sha384_of)
}

/// Binds SHA512, whose hash has 512 bits.
pub(super) fn sha512(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    hashed(given, sha512_of)
}

/// Binds SHA2 with a number of bits: 224, 256, 384 or 512. Other numbers give NULL, and are refused if they are
/// literals.
pub(super) fn sha2(given: &[Argument], _: &Context) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::TextOrBytes, Kind::Whole], &[])?;
    let bits = given[1].literal.as_ref().filter(|bits| !bits.is_null()).map(ToString::to_string);
    if let Some(bits) = bits.filter(|bits| sha2_of(bits.parse().unwrap_or(0)).is_none()) {
        return Err(BindError::new(format!("there is no SHA-2 of {bits} bits: take 224, 256, 384 or 512")));
    }
    Ok(bound(types, given, SqlType::STRING, Nulls::Anyway, |arguments, rows| {
        let (octets, bits) = (Octets::of(&arguments[0])?, Input::<Int64Type>::of(&arguments[1])?);
        each::written(arguments, rows, |row, out| {
            let hash = sha2_of(bits.at(row)?)?;
            hexadecimal(&hash(octets.at(row)?), out);
            Some(())
        })
    }))
}

type Hash = fn(&[u8]) -> Vec<u8>;

fn sha2_of(bits: i64) -> Option<Hash> {
    match bits {
        224 => Some(sha224_of),
        256 => Some(sha256_of),
        384 => Some(sha384_of),
        512 => Some(sha512_of),
        _ => None,
    }
}

fn hashed(given: &[Argument], hash: Hash) -> Result<Bound, BindError> {
    let types = expect(given, &[Kind::TextOrBytes], &[])?;
    Ok(bound(types, given, SqlType::STRING, Nulls::OfArguments, move |arguments, rows| {
        let octets = Octets::of(&arguments[0])?;
        each::written(arguments, rows, |row, out| {
            hexadecimal(&hash(octets.at(row)?), out);
            Some(())
        })
    }))
}

/// Appends the bytes of a hash as text: two lower-case hexadecimal digits for each byte.
fn hexadecimal(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        for half in [byte >> 4, byte & 15] {
            out.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
}

/// Calls `mix` with every block of `N` bytes of the message to be hashed. The message is padded with a one
/// bit, zeros, and its length in bits.
fn blocks<const N: usize>(message: &[u8], is_big_endian: bool, mut mix: impl FnMut(&[u8; N])) {
    let (whole, rest) = message.as_chunks::<N>();
    whole.iter().for_each(&mut mix);
    // The length of the hashed message takes an eighth of the last block; in blocks of 128 bytes its upper
    // half is zero.
    let bits = (message.len() as u64).wrapping_mul(8);
    let mut last = [[0_u8; N]; 2];
    last[0][..rest.len()].copy_from_slice(rest);
    last[0][rest.len()] = 0x80;
    let count = if rest.len() < N - N / 8 { 1 } else { 2 };
    let length = if is_big_endian { bits.to_be_bytes() } else { bits.to_le_bytes() };
    last[count - 1][N - 8..].copy_from_slice(&length);
    last[..count].iter().for_each(mix);
}

fn md5_of(message: &[u8]) -> Vec<u8> {
    const TURNS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state: [u32; 4] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
    blocks::<64>(message, false, |block| {
        let word = |index: usize| {
            let at = index * 4;
            u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
        };
        let [mut a, mut b, mut c, mut d] = state;
        for (step, sine) in SINES.iter().enumerate() {
            let (mixed, index) = match step / 16 {
                0 => ((b & c) | (!b & d), step),
                1 => ((d & b) | (!d & c), 5 * step + 1),
                2 => (b ^ c ^ d, 3 * step + 5),
                _ => (c ^ (b | !d), 7 * step),
            };
            let sum = a.wrapping_add(mixed).wrapping_add(*sine).wrapping_add(word(index % 16));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(TURNS[step / 16][step % 4]));
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d]) {
            *sum = sum.wrapping_add(part);
        }
    });
    state.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn sha1_of(message: &[u8]) -> Vec<u8> {
    let mut state: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    blocks::<64>(message, true, |block| {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        for step in 16..80 {
            words[step] =
                (words[step - 3] ^ words[step - 8] ^ words[step - 14] ^ words[step - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (step, word) in words.iter().enumerate() {
            let (mixed, constant) = match step / 20 {
                0 => ((b & c) | (!b & d), 0x5a827999),
                1 => (b ^ c ^ d, 0x6ed9eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1bbcdc),
                _ => (b ^ c ^ d, 0xca62c1d6),
            };
            let sum = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e);
            let sum = sum.wrapping_add(constant).wrapping_add(*word);
            (a, b, c, d, e) = (sum, a, b.rotate_left(30), c, d);
        }
        for (sum, part) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(part);
        }
    });
    state.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Defines the hash function for one word size of SHA-2. The two sizes differ in the width of words, the
/// number of rounds and the rotations.
macro_rules! sha2_rounds {
    ($name:ident, $word:ty, $block:literal, $rounds:literal, $constant:expr, $turns:expr) => {
        fn $name(message: &[u8], mut state: [$word; 8]) -> Vec<u8> {
            const WORD_BYTES: usize = <$word>::BITS as usize / 8;
            let turns: [[u32; 3]; 4] = $turns;
            // In the message schedule of SHA-2, the last of the three rotations is a shift.
            let small = |word: $word, [first, second, shift]: [u32; 3]| {
                word.rotate_right(first) ^ word.rotate_right(second) ^ (word >> shift)
            };
            let large = |word: $word, [first, second, third]: [u32; 3]| {
                word.rotate_right(first) ^ word.rotate_right(second) ^ word.rotate_right(third)
            };
            blocks::<$block>(message, true, |block| {
                let mut words = [0 as $word; $rounds];
                for (word, bytes) in words.iter_mut().zip(block.as_chunks::<WORD_BYTES>().0) {
                    *word = <$word>::from_be_bytes(*bytes);
                }
                for step in 16..$rounds {
                    words[step] = words[step - 16]
                        .wrapping_add(small(words[step - 15], turns[0]))
                        .wrapping_add(words[step - 7])
                        .wrapping_add(small(words[step - 2], turns[1]));
                }
                let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
                for (word, root) in words.iter().zip(&CUBE_ROOTS) {
                    let first = h
                        .wrapping_add(large(e, turns[3]))
                        .wrapping_add((e & f) ^ (!e & g))
                        .wrapping_add($constant(*root))
                        .wrapping_add(*word);
                    let second = large(a, turns[2]).wrapping_add((a & b) ^ (a & c) ^ (b & c));
                    (h, g, f, e) = (g, f, e, d.wrapping_add(first));
                    (d, c, b, a) = (c, b, a, first.wrapping_add(second));
                }
                for (sum, part) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                    *sum = sum.wrapping_add(part);
                }
            });
            state.iter().flat_map(|word| word.to_be_bytes()).collect()
        }
    };
}

sha2_rounds!(
    sha2_short,
    u32,
    64,
    64,
    |root: u64| (root >> 32) as u32,
    [[7, 18, 3], [17, 19, 10], [2, 13, 22], [6, 11, 25]]
);
sha2_rounds!(sha2_long, u64, 128, 80, |root: u64| root, [[1, 8, 7], [19, 61, 6], [28, 34, 39], [14, 18, 41]]);

fn sha224_of(message: &[u8]) -> Vec<u8> {
    // The initial state of SHA-224 is the lower halves of the square roots of the 9th to 16th primes.
    let mut hash = sha2_short(message, std::array::from_fn(|index| SQUARE_ROOTS[8 + index] as u32));
    hash.truncate(28);
    hash
}

fn sha256_of(message: &[u8]) -> Vec<u8> {
    sha2_short(message, std::array::from_fn(|index| (SQUARE_ROOTS[index] >> 32) as u32))
}

fn sha384_of(message: &[u8]) -> Vec<u8> {
    let mut hash = sha2_long(message, std::array::from_fn(|index| SQUARE_ROOTS[8 + index]));
    hash.truncate(48);
    hash
}

fn sha512_of(message: &[u8]) -> Vec<u8> {
    sha2_long(message, std::array::from_fn(|index| SQUARE_ROOTS[index]))
}

/// First 64 bits behind the point of the cube roots of the first 80 primes, which are the constants of SHA-2.
#[rustfmt::skip]
const CUBE_ROOTS: [u64; 80] = [
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
];

/// First 64 bits behind the point of the square roots of the first 16 primes, which are initial states of
/// SHA-2.
#[rustfmt::skip]
const SQUARE_ROOTS: [u64; 16] = [
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
    0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
    0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4,
];

/// First 32 bits behind the point of the sines of 1 to 64, without their sign, which are the constants of
/// MD5.
#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];
