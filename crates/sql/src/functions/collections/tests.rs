//! Cases of functions of arrays and maps.
