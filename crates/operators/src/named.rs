//! Names of operators, by which errors, counts and screens speak of them.

/// An operator with a name that can be changed until it runs.
pub trait Named {
    /// The name.
    fn name(&self) -> &str;

    /// Gives it another name.
    fn rename(&mut self, name: String);
}

/// Implements [`Named`] over a field `name: String`.
macro_rules! named {
    ($operator:ident < $($parameter:ident $(: $bound:path)?),* >) => {
        impl<$($parameter $(: $bound)?),*> $crate::Named for $operator<$($parameter),*> {
            fn name(&self) -> &str {
                &self.name
            }
            fn rename(&mut self, name: String) {
                self.name = name;
            }
        }
    };
}
pub(crate) use named;
