//! The macro that declares a row.

/// Declares a row: a struct, the table of its columns, and how it is written and read.
///
/// Each field's doc comment is its column's description. `[Builders, Values]` names the two helper structs.
macro_rules! table {
    (
        $(#[$outer:meta])*
        pub struct $name:ident [$builders:ident, $values:ident] {
            $($(#[doc = $doc:literal])+ pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$outer])*
        pub struct $name { $($(#[doc = $doc])+ pub $field: $type,)* }

        impl $name {
            /// Every column of the table, in order.
            pub const COLUMNS: &[$crate::trace::column::Column] = &[
                $($crate::trace::column::Column::of::<$type>(stringify!($field), concat!($($doc),+).trim_ascii()),)*
            ];
        }

        pub(crate) struct $builders {
            $($field: $crate::trace::column::Collected<<$type as $crate::trace::column::Field>::Stored>,)*
        }

        pub(crate) struct $values {
            $($field:
                Option<<<$type as $crate::trace::column::Field>::Stored as $crate::trace::column::Stored>::Values>,)*
        }

        impl $crate::trace::column::Row for $name {
            type Builders = $builders;
            type Values = $values;

            fn columns() -> &'static [$crate::trace::column::Column] {
                Self::COLUMNS
            }

            fn builders() -> $builders {
                $builders { $($field: $crate::trace::column::Collected::new(),)* }
            }

            fn append(&self, builders: &mut $builders) {
                use $crate::trace::column::Field;
                $(<$type as Field>::append(&self.$field, &mut builders.$field);)*
            }

            fn finish(builders: &mut $builders) -> Vec<arrow::array::ArrayRef> {
                vec![$(builders.$field.finish(),)*]
            }

            fn load(
                batch: &arrow::array::RecordBatch,
                previous: Option<$values>,
            ) -> Result<$values, $crate::trace::column::Invalid> {
                let mut previous = previous;
                Ok($values {
                    $($field: $crate::trace::column::load::<$type>(
                        stringify!($field),
                        batch,
                        previous.as_mut().and_then(|values| values.$field.take()),
                    )?,)*
                })
            }

            fn get(values: &mut $values, row: usize) -> Result<$name, $crate::trace::column::Invalid> {
                Ok($name {
                    $($field: $crate::trace::column::get::<$type>(stringify!($field), &mut values.$field, row)?,)*
                })
            }
        }
    };
}
pub(crate) use table;
