//! What an edit of a state file asks for: each system compares its own file, field by field.

use std::marker::PhantomData;

use serde_json::{Map, Value};

use crate::plan::TaskId;
use crate::system::edit::{Edit, What};

/// Compares two versions of a file and collects what the difference asks for. `S` is the system whose file it is: each adds
/// what it looks for.
pub(in crate::system) struct Listener<S> {
    pub(in crate::system) edits: Vec<Edit>,
    /// Fields that have a meaning to others alone.
    pub(in crate::system) carried: Map<String, Value>,
    of: PhantomData<S>,
}

impl<S> Listener<S> {
    pub(in crate::system) fn new() -> Listener<S> {
        Listener { edits: Vec::new(), carried: Map::new(), of: PhantomData }
    }

    /// Reject a change, with the reason.
    pub(in crate::system) fn reject(&mut self, task: Option<&TaskId>, what: String, why: &str) {
        let what = What::Rejected { what, why: why.to_owned() };
        self.edits.push(Edit { task: task.cloned(), what });
    }

    pub(in crate::system) fn request(&mut self, task: &TaskId, what: What) {
        self.edits.push(Edit { task: Some(task.clone()), what });
    }

    pub(in crate::system) fn finish(mut self) -> Vec<Edit> {
        if !self.carried.is_empty() {
            let fields = Value::Object(self.carried);
            self.edits.push(Edit { task: None, what: What::Carried { fields } });
        }
        self.edits
    }
}

/// One task before and after.
pub(in crate::system) struct Pair<'v> {
    pub(in crate::system) id: TaskId,
    pub(in crate::system) before: &'v Value,
    pub(in crate::system) after: &'v Value,
}

/// Whether a field has another value now. A field that is left out, or null, has not changed.
pub(in crate::system) fn differs(before: &Value, after: &Value) -> bool {
    !after.is_null() && before != after
}

/// The text of a field, unless it is blank.
pub(in crate::system) fn text_of(value: &Value) -> Option<&str> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty())
}
