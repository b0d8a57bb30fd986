//! Numbers, times, truth values and checksums.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBuilder, FixedSizeBinaryArray, NullBufferBuilder, PrimitiveArray,
    PrimitiveBuilder,
};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, TimeUnit, TimestampNanosecondType, UInt16Type, UInt32Type, UInt64Type};

use super::Stored;

macro_rules! primitive {
    ($($rust:ty => $arrow:ty, $data_type:expr;)*) => {$(
        impl Stored for $rust {
            type Builder = PrimitiveBuilder<$arrow>;
            type Values = PrimitiveArray<$arrow>;

            fn data_type() -> DataType {
                $data_type
            }

            fn builder(rows: usize) -> Self::Builder {
                PrimitiveBuilder::with_capacity(rows).with_data_type($data_type)
            }

            #[inline]
            fn append(builder: &mut Self::Builder, value: Option<&Self>) {
                builder.append_option(value.copied());
            }

            fn finish(builder: &mut Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }

            fn load(array: &ArrayRef, _: Option<Self::Values>) -> Option<Self::Values> {
                array.as_primitive_opt::<$arrow>().cloned()
            }

            fn get(values: &mut Self::Values, row: usize) -> Result<Option<Self>, String> {
                Ok(values.is_valid(row).then(|| values.value(row)))
            }
        }
    )*};
}

primitive! {
    u16 => UInt16Type, DataType::UInt16;
    u32 => UInt32Type, DataType::UInt32;
    u64 => UInt64Type, DataType::UInt64;
    // The only signed numbers of a row are points in time.
    i64 => TimestampNanosecondType, DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
}

impl Stored for bool {
    type Builder = BooleanBuilder;
    type Values = BooleanArray;
    const ABSENT: Option<fn() -> Self> = Some(|| false);

    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn builder(rows: usize) -> Self::Builder {
        BooleanBuilder::with_capacity(rows)
    }

    #[inline]
    fn append(builder: &mut Self::Builder, value: Option<&Self>) {
        builder.append_option(value.copied());
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef, _: Option<Self::Values>) -> Option<Self::Values> {
        array.as_boolean_opt().cloned()
    }

    fn get(values: &mut Self::Values, row: usize) -> Result<Option<Self>, String> {
        Ok(values.is_valid(row).then(|| values.value(row)))
    }
}

/// Checksums under construction: 16 bytes each, most significant first, so that they print as the number does.
pub(crate) struct ChecksumBuilder {
    bytes: Vec<u8>,
    present: NullBufferBuilder,
}

const CHECKSUM_BYTES: i32 = 16;

impl Stored for u128 {
    type Builder = ChecksumBuilder;
    type Values = FixedSizeBinaryArray;

    fn data_type() -> DataType {
        DataType::FixedSizeBinary(CHECKSUM_BYTES)
    }

    fn builder(rows: usize) -> Self::Builder {
        ChecksumBuilder {
            bytes: Vec::with_capacity(rows * CHECKSUM_BYTES as usize),
            present: NullBufferBuilder::new(rows),
        }
    }

    #[inline]
    fn append(builder: &mut Self::Builder, value: Option<&Self>) {
        builder.bytes.extend_from_slice(&value.copied().unwrap_or_default().to_be_bytes());
        builder.present.append(value.is_some());
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        let bytes = Buffer::from_vec(std::mem::take(&mut builder.bytes));
        Arc::new(FixedSizeBinaryArray::new(CHECKSUM_BYTES, bytes, builder.present.finish()))
    }

    fn load(array: &ArrayRef, _: Option<Self::Values>) -> Option<Self::Values> {
        array.as_fixed_size_binary_opt().filter(|array| array.value_length() == CHECKSUM_BYTES).cloned()
    }

    fn get(values: &mut Self::Values, row: usize) -> Result<Option<Self>, String> {
        if values.is_null(row) {
            return Ok(None);
        }
        let bytes = values.value(row).try_into().map_err(|_| "a checksum has 16 bytes".to_string())?;
        Ok(Some(u128::from_be_bytes(bytes)))
    }
}
