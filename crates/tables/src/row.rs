//! Rows whose type follows from the description of their columns.

use crate::Block;

/// A row whose fields are columns; [`row!`](crate::row!) makes it.
pub trait TableRow: Sized {
    /// Adds its columns to a table of rows in which `get` finds it.
    fn columns<'a, R>(table: &mut Block<'a, R>, get: impl Fn(&'a R) -> &'a Self + Copy)
    where
        Self: 'a;
}

/// Makes a struct of which every field is a column, described once: name, type, unit, meaning, null.
///
/// A field is `name: Type = unit("meaning")`, with a function of this crate such as [`ns`](crate::ns) or
/// [`plain`](crate::plain), and `or "what null stands for"` where its type is an `Option`. The meaning is the field's
/// documentation as well. Fields after `beside` are not columns.
///
/// ```
/// use rexmit_tables::{TableRow, row, table};
///
/// row! {
///     /// A sample.
///     pub struct Sample {
///         time_ns: u64 = ns("when it was taken, since the start"),
///         rtt_ns: Option<u64> = ns("the round-trip time") or "nothing was timed",
///     }
/// }
/// let samples = [Sample { time_ns: 7, rtt_ns: None }];
/// let made = table("samples", &samples, |t| Sample::columns(t, |row| row));
/// assert_eq!(made.columns[1].about.null, "nothing was timed");
/// ```
#[macro_export]
macro_rules! row {
    (
        $(#[$about:meta])*
        pub struct $row:ident {
            $($(#[$attribute:meta])* $field:ident: $type:ty = $unit:ident($meaning:literal) $(or $null:literal)?),*
            $(,)?
        }
        $(beside { $($(#[$more:meta])* $other:ident: $kind:ty),* $(,)? })?
    ) => {
        $(#[$about])*
        pub struct $row {
            $(#[doc = $meaning] $(#[$attribute])* pub $field: $type,)*
            $($($(#[$more])* pub $other: $kind,)*)?
        }

        impl $crate::TableRow for $row {
            fn columns<'a, R>(
                table: &mut $crate::Block<'a, R>,
                get: impl Fn(&'a R) -> &'a Self + Copy,
            ) where Self: 'a {
                $(table.add_field(
                    stringify!($field),
                    $crate::$unit($meaning)$(.or_null($null))?,
                    |row| &get(row).$field,
                );)*
            }
        }
    };
}
