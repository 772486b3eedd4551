//! The JSON Schema of `execute-state.json`, for those who check or complete it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::file::StateFile;

/// The schema of the file as it is written; fields of others are allowed everywhere.
pub fn schema() -> Value {
    of::<StateFile>()
}

/// The schema of a file as it is written.
pub(in crate::system) fn of<File: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<File>().to_value();
    adapt(&mut schema);
    schema
}

/// A number has no width in JSON, and a description no line ends of our source.
fn adapt(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            let width = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("uint"));
            object.retain(|key, value| !(key == "format" && width(value)));
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            object.values_mut().for_each(adapt);
        }
        Value::Array(items) => items.iter_mut().for_each(adapt),
        _ => {}
    }
}
