//! By which key an operator works, for those who stand before it and send each record to one of its copies.

/// What tells keys apart, of an operator that is [`Sharing::Keyed`](crate::Sharing::Keyed).
pub trait Keys<T>: Send {
    /// A hash of the key that a value has. It is the same whoever is asked, says nothing of where the operator keeps the key,
    /// and its upper bits are the good ones.
    fn hash_of(&self, value: &T) -> u64;

    /// The same for another worker.
    fn fork(&self) -> Self
    where
        Self: Sized;

    /// After a panic inside [`hash_of`](Self::hash_of): the name of the operator, whose function it was.
    fn faulted(&self) -> Option<&str>;
}

/// Those of an operator that has none.
#[derive(Clone, Copy, Debug)]
pub struct NoKeys;

impl<T> Keys<T> for NoKeys {
    fn hash_of(&self, _value: &T) -> u64 {
        unreachable!("what has no key is not dealt by key")
    }

    fn fork(&self) -> Self {
        NoKeys
    }

    fn faulted(&self) -> Option<&str> {
        None
    }
}
