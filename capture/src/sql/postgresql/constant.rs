//! Constants in a parse tree, as text.

use pg_query::NodeEnum;
use pg_query::protobuf::Node;
use pg_query::protobuf::a_const::Val;

/// The text of a constant; `None` for anything else, and for NULL.
pub(super) fn text(node: &Node) -> Option<String> {
    match node.node.as_ref()? {
        NodeEnum::AConst(constant) => match constant.val.as_ref()? {
            Val::Ival(value) => Some(value.ival.to_string()),
            Val::Fval(value) => Some(value.fval.clone()),
            Val::Boolval(value) => Some(if value.boolval { "true" } else { "false" }.to_owned()),
            Val::Sval(value) => Some(value.sval.clone()),
            Val::Bsval(value) => Some(value.bsval.clone()),
        },
        NodeEnum::String(value) => Some(value.sval.clone()),
        NodeEnum::Integer(value) => Some(value.ival.to_string()),
        NodeEnum::Float(value) => Some(value.fval.clone()),
        NodeEnum::Boolean(value) => Some(if value.boolval { "true" } else { "false" }.to_owned()),
        NodeEnum::TypeCast(cast) => text(cast.arg.as_ref()?),
        NodeEnum::List(list) => {
            let parts: Option<Vec<_>> = list.items.iter().map(text).collect();
            parts.map(|parts| parts.join("."))
        }
        _ => None,
    }
}

/// A text as PostgreSQL reads a boolean; unique prefixes count.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "on" | "1" | "t" | "tr" | "tru" | "true" | "y" | "ye" | "yes" => Some(true),
        "of" | "off" | "0" | "f" | "fa" | "fal" | "fals" | "false" | "n" | "no" => Some(false),
        _ => None,
    }
}
