//! Names of operators, used in errors, counts and on screens.

/// An operator whose name can be changed until it runs.
pub trait Named {
    /// Returns the name of the operator, by which errors and reports call it.
    fn name(&self) -> &str;

    /// Gives the operator another name.
    fn rename(&mut self, name: String);
}

/// Implements [`Named`] for an operator that has a field `accounts` with its name.
macro_rules! named {
    ($operator:ident < $($parameter:ident $(: $bound:path)?),* >) => {
        impl<$($parameter $(: $bound)?),*> $crate::Named for $operator<$($parameter),*> {
            fn name(&self) -> &str {
                &self.accounts.name
            }
            fn rename(&mut self, name: String) {
                self.accounts.name = name;
            }
        }
    };
}
pub(crate) use named;
