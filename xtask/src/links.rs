//! Links between the project's pages: the file has to exist, and the heading, too.

use std::path::{Path, PathBuf};

use anyhow::Result;

/// Relative links of the pages that lead nowhere.
pub(crate) fn broken(root: &Path) -> Result<Vec<String>> {
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(root)? {
        pages.push(entry?.path());
    }
    for folder in ["docs", "examples"] {
        collect(&root.join(folder), &mut pages)?;
    }
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.sort();
    let mut problems = Vec::new();
    for page in &pages {
        let text = std::fs::read_to_string(page)?;
        let name = page.strip_prefix(root).unwrap_or(page).display();
        for (number, link) in links(&text) {
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name("").join(path) };
            let why = if !target.exists() {
                "this file does not exist"
            } else if !anchor.is_empty()
                && !anchors(&std::fs::read_to_string(&target)?).contains(&anchor.to_owned())
            {
                "there is no such heading"
            } else {
                continue;
            };
            problems.push(format!("{name}:{number}: `{link}`: {why}"));
        }
    }
    Ok(problems)
}

/// Every file below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { collect(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// Lines outside of blocks of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter_map(move |(nth, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        (!is_code && !is_fence).then_some((nth + 1, line))
    })
}

/// Where each relative link of a page leads, with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        for part in line.split("](").skip(1) {
            let Some((target, _)) = part.split_once(')') else { continue };
            if !target.contains("://") && !target.starts_with("mailto:") && !target.contains(' ') {
                links.push((number, target.to_owned()));
            }
        }
    }
    links
}

/// Where links to a page can lead: its headings, and the anchors that it sets itself.
fn anchors(text: &str) -> Vec<String> {
    let set = prose(text).flat_map(|(_, line)| line.split("<a id=\"").skip(1));
    let set = set.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    headings(text).into_iter().chain(set).collect()
}

/// The anchors of a page's headings, as GitHub makes them: the second of the same name ends with `-1`.
pub(crate) fn headings(text: &str) -> Vec<String> {
    let headings = prose(text).filter_map(|(_, line)| line.strip_prefix('#'));
    let plain = headings.map(|heading| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect::<String>()
    });
    let plain: Vec<String> = plain.collect();
    let numbered = plain.iter().enumerate().map(|(nth, name)| {
        match plain[..nth].iter().filter(|before| *before == name).count() {
            0 => name.clone(),
            again => format!("{name}-{again}"),
        }
    });
    numbered.collect()
}

#[cfg(test)]
mod tests {
    use super::{anchors, links};

    #[test]
    fn links_and_headings_are_found_outside_of_code() {
        let page = "# Use `piton run`\n[a](b.md#c) and [web](https://a.b)\n```\n[no](x.md)\n# no\n```\n## What, again?\n## What, again?\n";
        assert_eq!(links(page), [(2, "b.md#c".to_owned())]);
        assert_eq!(anchors(page), ["use-piton-run", "what-again", "what-again-1"]);
        assert_eq!(anchors("# A\n| <a id=\"row\" href=\"#row\">#</a> x |\n"), ["a", "row"]);
    }
}
