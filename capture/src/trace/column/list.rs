//! Lists: parameters, types, format codes, COPY data.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, BooleanArray, BooleanBuilder, Int16Array, Int16Builder,
    ListArray, NullBufferBuilder, StringArray, StringBuilder, StructArray, UInt32Array, UInt32Builder,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int16Type, UInt32Type};

use super::Stored;
use crate::trace::Param;

/// An element of a list; elements themselves are never null.
pub(crate) trait Item: Sized {
    type Builder: Send + Default;
    type Values;

    fn data_type() -> DataType;
    fn append(&self, builder: &mut Self::Builder);
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    fn load(array: &ArrayRef) -> Option<Self::Values>;
    fn get(values: &Self::Values, index: usize) -> Self;
}

/// Lists under construction.
pub(crate) struct Lists<I: Item> {
    items: I::Builder,
    ends: Vec<i32>,
    count: i32,
    present: NullBufferBuilder,
}

impl<I: Item> Stored for Vec<I> {
    type Builder = Lists<I>;
    type Values = (ListArray, I::Values);
    const ABSENT: Option<fn() -> Self> = Some(Vec::new);

    fn data_type() -> DataType {
        DataType::List(element::<I>())
    }

    fn builder(rows: usize) -> Self::Builder {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Lists { items: I::Builder::default(), ends, count: 0, present: NullBufferBuilder::new(rows) }
    }

    #[inline]
    fn append(builder: &mut Self::Builder, value: Option<&Self>) {
        for item in value.into_iter().flatten() {
            item.append(&mut builder.items);
            builder.count += 1;
        }
        builder.ends.push(builder.count);
        builder.present.append(value.is_some());
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        let offsets = OffsetBuffer::new(std::mem::replace(&mut builder.ends, vec![0]).into());
        builder.count = 0;
        let items = I::finish(&mut builder.items);
        Arc::new(ListArray::new(element::<I>(), offsets, items, builder.present.finish()))
    }

    fn load(array: &ArrayRef, _: Option<Self::Values>) -> Option<Self::Values> {
        let lists = array.as_list_opt::<i32>()?.clone();
        let items = I::load(lists.values())?;
        Some((lists, items))
    }

    fn get((lists, items): &mut Self::Values, row: usize) -> Result<Option<Self>, String> {
        if lists.is_null(row) {
            return Ok(None);
        }
        let offsets = lists.value_offsets();
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        Ok(Some(range.map(|index| I::get(items, index)).collect()))
    }
}

fn element<I: Item>() -> Arc<Field> {
    Arc::new(Field::new("item", I::data_type(), false))
}

impl Item for u32 {
    type Builder = UInt32Builder;
    type Values = UInt32Array;

    fn data_type() -> DataType {
        DataType::UInt32
    }

    fn append(&self, builder: &mut Self::Builder) {
        builder.append_value(*self);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef) -> Option<Self::Values> {
        array.as_primitive_opt::<UInt32Type>().cloned()
    }

    fn get(values: &Self::Values, index: usize) -> Self {
        values.value(index)
    }
}

impl Item for i16 {
    type Builder = Int16Builder;
    type Values = Int16Array;

    fn data_type() -> DataType {
        DataType::Int16
    }

    fn append(&self, builder: &mut Self::Builder) {
        builder.append_value(*self);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef) -> Option<Self::Values> {
        array.as_primitive_opt::<Int16Type>().cloned()
    }

    fn get(values: &Self::Values, index: usize) -> Self {
        values.value(index)
    }
}

impl Item for Box<[u8]> {
    type Builder = BinaryBuilder;
    type Values = BinaryArray;

    fn data_type() -> DataType {
        DataType::Binary
    }

    fn append(&self, builder: &mut Self::Builder) {
        builder.append_value(self);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef) -> Option<Self::Values> {
        array.as_binary_opt::<i32>().cloned()
    }

    fn get(values: &Self::Values, index: usize) -> Self {
        values.value(index).into()
    }
}

impl Item for Box<str> {
    type Builder = StringBuilder;
    type Values = StringArray;

    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn append(&self, builder: &mut Self::Builder) {
        builder.append_value(self);
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }

    fn load(array: &ArrayRef) -> Option<Self::Values> {
        array.as_string_opt::<i32>().cloned()
    }

    fn get(values: &Self::Values, index: usize) -> Self {
        values.value(index).into()
    }
}

/// Parameters under construction: a struct column by its three parts.
#[derive(Default)]
pub(crate) struct ParamBuilder {
    type_id: UInt32Builder,
    binary: BooleanBuilder,
    value: BinaryBuilder,
}

impl Item for Param {
    type Builder = ParamBuilder;
    type Values = (UInt32Array, BooleanArray, BinaryArray);

    fn data_type() -> DataType {
        DataType::Struct(param_fields())
    }

    fn append(&self, builder: &mut Self::Builder) {
        builder.type_id.append_value(self.type_id);
        builder.binary.append_value(self.binary);
        builder.value.append_option(self.value.as_deref());
    }

    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        let parts: Vec<ArrayRef> = vec![
            Arc::new(builder.type_id.finish()),
            Arc::new(builder.binary.finish()),
            Arc::new(builder.value.finish()),
        ];
        Arc::new(StructArray::new(param_fields(), parts, None))
    }

    fn load(array: &ArrayRef) -> Option<Self::Values> {
        let array = array.as_struct_opt()?;
        let type_id = array.column_by_name("type_id")?.as_primitive_opt::<UInt32Type>()?.clone();
        let binary = array.column_by_name("binary")?.as_boolean_opt()?.clone();
        let value = array.column_by_name("value")?.as_binary_opt::<i32>()?.clone();
        Some((type_id, binary, value))
    }

    fn get((type_id, binary, value): &Self::Values, index: usize) -> Self {
        Param {
            type_id: type_id.value(index),
            binary: binary.value(index),
            value: value.is_valid(index).then(|| value.value(index).into()),
        }
    }
}

fn param_fields() -> Fields {
    Fields::from(vec![
        Field::new("type_id", DataType::UInt32, false),
        Field::new("binary", DataType::Boolean, false),
        Field::new("value", DataType::Binary, true),
    ])
}
