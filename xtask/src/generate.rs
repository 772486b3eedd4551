//! Files that are made from the code, and checked for freshness.

use std::path::Path;

use anyhow::{Context, Result, bail};
use piton_core::dialect::{execute, issue, iterative, native, rwkit};
use serde_json::Value;

/// Write them, or with `check` only see whether they are as they would be written.
pub(crate) fn generate(root: &Path, check: bool) -> Result<()> {
    let schemas: [(&str, Value); 6] = [
        ("schemas/plan.schema.json", native::schema()),
        ("schemas/config.schema.json", native::config_schema()),
        ("schemas/execute-state.schema.json", execute::state::schema()),
        ("schemas/execution-state.schema.json", issue::state::schema()),
        ("schemas/rw-kit.state.schema.json", rwkit::state::schema()),
        ("schemas/iterative-state.schema.json", iterative::state::schema()),
    ];
    for (name, schema) in schemas {
        let (path, text) = (root.join(name), serde_json::to_string_pretty(&schema)? + "\n");
        if std::fs::read_to_string(&path).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            bail!("{name} is not what the code says: run `cargo xtask generate`");
        }
        std::fs::create_dir_all(path.parent().context("a schema has a folder")?)?;
        std::fs::write(&path, text).with_context(|| format!("cannot write {name}"))?;
        println!("wrote {name}");
    }
    Ok(())
}
