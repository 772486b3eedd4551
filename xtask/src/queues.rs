//! The landing line against other queues.

use std::path::Path;

use anyhow::{Context, Result, bail};
use piton_testkit::queues::{CHECK_TIME, Size, report};

use crate::generate::between;

const PAGE: &str = "docs/performance.md";
const MARKS: [&str; 2] =
    ["<!-- queues: written by `cargo xtask queues --write` -->\n", "<!-- end of queues -->"];

pub(crate) fn queues(root: &Path, mut words: impl Iterator<Item = String>) -> Result<()> {
    let mut size = Size { seeds: 200, changes: 200, slots: 4, gap: 0 };
    let mut write = false;
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64> {
            let text = words.next().with_context(|| format!("{word} wants a number"))?;
            text.parse().with_context(|| format!("{text:?} is not a number"))
        };
        match word.as_str() {
            "--seeds" => size.seeds = number()?,
            "--changes" => size.changes = usize::try_from(number()?)?,
            "--slots" => size.slots = usize::try_from(number()?)?,
            "--gap" => size.gap = number()? * CHECK_TIME / 100,
            "--write" => write = true,
            _ => bail!("unknown option {word}"),
        }
    }
    let tables = report(size);
    println!("{tables}");
    if write {
        let page = std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
        let fresh = between(&page, MARKS[0], MARKS[1], tables.trim_end())
            .with_context(|| format!("{PAGE} has no place for the queues"))?;
        std::fs::write(root.join(PAGE), fresh).with_context(|| format!("cannot write {PAGE}"))?;
        println!("written: {PAGE}");
    }
    Ok(())
}
