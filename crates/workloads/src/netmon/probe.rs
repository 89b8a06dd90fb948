//! A probe: a packet that went there and back, and how long it took.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use thalweg_model::Record;

/// Who asked whom. Each direction is a pair of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct IpPair {
    /// Who asked: an IPv4 address as a number.
    pub source: u32,
    /// Who answered: an IPv4 address as a number.
    pub destination: u32,
}

/// As one number in which the machines of a network are numbered together, with small gaps: `source`, then the last byte
/// of `destination`, and far above them the other three.
///
/// Tables hash by one multiplication, which spreads numbers evenly that lie close together. With the addresses side by side
/// pairs were a lattice, of which some multipliers make another one, and a run had from 61 to 201 M records/s by the luck
/// of its seed; with mixed numbers it had 126.
impl Hash for IpPair {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (source, destination) = (u64::from(self.source), u64::from(self.destination));
        state.write_u64((destination >> 8) << 40 | source << 8 | (destination & 0xff));
    }
}

impl IpPair {
    /// Both addresses in one number, the source above.
    #[inline]
    pub const fn as_number(self) -> u64 {
        (self.source as u64) << 32 | self.destination as u64
    }

    /// The pair of this number.
    pub const fn of_number(number: u64) -> Self {
        IpPair { source: (number >> 32) as u32, destination: number as u32 }
    }
}

/// One measurement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Probe {
    /// Between whom.
    pub pair: IpPair,
    /// The round-trip time, zero or above, in the unit of whoever measured it.
    pub rtt: f64,
}

/// On which throughput in bytes and the number of records in a block depend.
const _: () = assert!(size_of::<Record<Probe>>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_a_number_and_back() {
        let pair = IpPair { source: 0x0a00_0001, destination: 0xffff_fffe };
        assert_eq!(pair.as_number(), 0x0a00_0001_ffff_fffe);
        assert_eq!(IpPair::of_number(pair.as_number()), pair);
    }
}
