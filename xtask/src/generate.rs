//! Files that are made from the code, and checked for freshness.

use std::path::Path;

use anyhow::{Context, Result, bail};
use piton_core::system::{execute, issue, iterative, native, rwkit};
use piton_testkit::prompts;
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
    let name = "docs/reference/prompts.md";
    let page = std::fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"))?;
    let fresh =
        between(&page, "<!-- golden prompts -->\n", "<!-- /golden prompts -->", &prompts::as_markdown())
            .with_context(|| format!("{name} has no place for golden prompts"))?;
    if fresh == page {
        return Ok(());
    }
    if check {
        bail!("{name} is not what the code says: run `cargo xtask generate`");
    }
    std::fs::write(root.join(name), fresh).with_context(|| format!("cannot write {name}"))?;
    println!("wrote {name}");
    Ok(())
}

/// A page with another text between two marks.
pub(crate) fn between(page: &str, from: &str, to: &str, text: &str) -> Option<String> {
    let (before, rest) = page.split_once(from)?;
    let (_, after) = rest.split_once(to)?;
    Some(format!("{before}{from}{text}\n{to}{after}"))
}
