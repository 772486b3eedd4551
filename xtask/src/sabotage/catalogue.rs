//! The rules, and whether they still fit the sources.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

const CATALOGUE: &str = "xtask/sabotage.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    sabotage: Vec<Sabotage>,
}

/// One rule, the way to take it out, and the tests that notice.
#[derive(Clone, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sabotage {
    pub(super) rule: String,
    pub(super) file: String,
    /// A text that is in the file exactly once.
    pub(super) from: String,
    pub(super) to: String,
    pub(super) package: String,
    /// The test program: the name of an integration test, or `lib`.
    pub(super) binary: String,
    /// At least one of these has to fail.
    pub(super) tests: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

pub(super) fn read(root: &Path) -> Result<Vec<Sabotage>> {
    let text =
        fs::read_to_string(root.join(CATALOGUE)).with_context(|| format!("cannot read {CATALOGUE}"))?;
    let catalogue: Catalogue = toml::from_str(&text).with_context(|| format!("cannot read {CATALOGUE}"))?;
    Ok(catalogue.sabotage)
}

/// Where the catalogue no longer fits the sources. Cheap: nothing is built.
pub(crate) fn rotten(root: &Path) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for one in read(root)? {
        let text = fs::read_to_string(root.join(&one.file)).unwrap_or_default();
        let times = text.matches(&one.from).count();
        if times != 1 {
            problems
                .push(format!("{CATALOGUE}: {}: its text stands in {} {times} times", one.rule, one.file));
        }
        if one.from == one.to || one.tests.is_empty() {
            problems.push(format!("{CATALOGUE}: {}: nothing is taken out, or no test looks", one.rule));
        }
        let sources = one.test_sources(root)?;
        for test in &one.tests {
            let name = test.rsplit("::").next().unwrap_or(test);
            if !sources.contains(&format!("fn {name}(")) {
                problems.push(format!(
                    "{CATALOGUE}: {}: there is no test {test} in {} of {}",
                    one.rule, one.binary, one.package
                ));
            }
        }
    }
    Ok(problems)
}

impl Sabotage {
    pub(super) fn contains(&self, word: &str) -> bool {
        self.rule.to_lowercase().contains(&word.to_lowercase()) || self.file.contains(word)
    }

    /// The folder of the package whose tests notice.
    pub(super) fn folder(&self) -> PathBuf {
        Path::new("crates").join(self.folder_name())
    }

    pub(super) fn folder_name(&self) -> &str {
        self.package.trim_start_matches("piton-")
    }

    /// What the rule and its entry are recognised by.
    pub(super) fn fingerprint(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Everything the test program is made of.
    fn test_sources(&self, root: &Path) -> Result<String> {
        let package = root.join(self.folder());
        let tests = package.join("tests");
        let single = tests.join(format!("{}.rs", self.binary));
        let mut files = Vec::new();
        if self.binary == "lib" {
            crate::tidy::collect(&package.join("src"), &mut files)?;
        } else if single.exists() {
            files.push(single);
        } else {
            crate::tidy::collect(&tests.join(&self.binary), &mut files)?;
        }
        files.iter().map(|file| Ok(fs::read_to_string(file)?)).collect()
    }
}
