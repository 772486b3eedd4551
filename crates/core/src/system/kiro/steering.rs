//! Steering files: rules of the project, each of which says at its start when it counts.

use globset::{GlobBuilder, GlobMatcher};

/// When the rules of a file count.
#[derive(Clone, Debug)]
pub(super) enum Inclusion {
    Always,
    /// For work on such files.
    Files(Vec<GlobMatcher>),
    /// Where somebody names it, as in `#testing`.
    Manual,
}

/// What a steering file says about itself. Without a word it always counts.
pub(super) fn inclusion(text: &str) -> Inclusion {
    let (mut word, mut patterns, mut in_list) = (String::new(), Vec::new(), false);
    let mut lines = text.lines();
    if lines.next().map(str::trim_end) != Some("---") {
        return Inclusion::Always;
    }
    for line in lines.take_while(|line| line.trim_end() != "---") {
        let plain = |value: &str| value.trim().trim_matches(['"', '\'']).trim().to_owned();
        if let Some(item) = line.trim_start().strip_prefix("- ").filter(|_| in_list) {
            patterns.push(plain(item));
            continue;
        }
        in_list = false;
        let Some((key, value)) = line.split_once(':') else { continue };
        match key.trim() {
            "inclusion" => word = plain(value),
            "fileMatchPattern" => {
                let inside = value.trim().trim_start_matches('[').trim_end_matches(']');
                patterns
                    .extend(commas(inside).into_iter().map(|one| plain(&one)).filter(|one| !one.is_empty()));
                in_list = true;
            }
            _ => {}
        }
    }
    match word.as_str() {
        "fileMatch" => Inclusion::Files(patterns.iter().filter_map(|pattern| glob(pattern)).collect()),
        "manual" | "auto" => Inclusion::Manual,
        _ => Inclusion::Always,
    }
}

impl Inclusion {
    /// Whether rules that do not always count do so for a task with these words and files.
    pub(super) fn counts_for(&self, name: &str, words: &str, files: &[String]) -> bool {
        match self {
            Inclusion::Always => false,
            Inclusion::Files(patterns) => {
                files.iter().any(|file| patterns.iter().any(|pattern| pattern.is_match(file)))
            }
            Inclusion::Manual => {
                let end = |at: usize| words[at..].chars().next();
                let tag = format!("#{name}");
                let mut tags = words.match_indices(&tag).map(|(at, tag)| at + tag.len());
                tags.any(|at| !end(at).is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_')))
            }
        }
    }
}

/// Between commas that are not inside braces.
fn commas(text: &str) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        match c {
            ',' if depth == 0 => parts.push(String::new()),
            c => parts.last_mut().expect("there is always one").push(c),
        }
    }
    parts
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}
