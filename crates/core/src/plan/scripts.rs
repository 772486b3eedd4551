//! Which files of a project a check executes. A task that changes one of them changes how work is judged.
//!
//! A program that is named by its path, a script behind an interpreter or a test runner, and the file that `make` or
//! `just` reads. Files that a check only reads do not count; nor does `package.json`, which changes for many other
//! reasons.

use super::{Argv, Check, shell};

/// Programs that execute the first file they are given.
const INTERPRETERS: [&str; 18] = [
    "sh", "bash", "dash", "zsh", "ksh", "ash", "python", "python3", "node", "ruby", "perl", "php", "lua",
    "Rscript", "tsx", "ts-node", ".", "source",
];
/// Programs that execute every file they are given.
const RUNNERS: [&str; 10] =
    ["pytest", "py.test", "unittest", "jest", "vitest", "mocha", "rspec", "phpunit", "bats", "ava"];
/// Words in front of a program, some of which take a word of their own.
const BEFORE: [&str; 16] = [
    "!", "{", "if", "then", "else", "elif", "do", "while", "until", "env", "time", "exec", "command", "nice",
    "npx", "bunx",
];

/// The paths that a check may execute, from the top of the project. They need not exist.
pub fn scripts(check: &Check) -> Vec<String> {
    let commands = match (check.run.shell_line(), &check.run) {
        (Some(line), _) => shell::commands_in(line),
        (None, Argv::Words(words)) => vec![words.clone()],
        (None, _) => Vec::new(),
    };
    let mut folder = check.cwd.as_ref().map(|cwd| cwd.as_str().to_owned()).unwrap_or_default();
    let mut found = Vec::new();
    for words in &commands {
        if let [cd, to] = &words[..]
            && cd == "cd"
        {
            folder = join(&folder, to).unwrap_or_default();
            continue;
        }
        found.extend(executed(words).iter().filter_map(|path| join(&folder, path)));
    }
    found.sort();
    found.dedup();
    found
}

fn executed(words: &[String]) -> Vec<String> {
    let assigns = |word: &str| word.contains('=') && !word.starts_with('-') && !word.contains('/');
    let start = words.iter().position(|word| !BEFORE.contains(&word.as_str()) && !assigns(word));
    let Some((program, rest)) = start.and_then(|start| words[start..].split_first()) else {
        return Vec::new();
    };
    let name = program.rsplit('/').next().unwrap_or(program);
    let files = || rest.iter().filter(|word| !word.starts_with('-')).map(|word| file_of(word));
    let after = |option: &str| {
        let at = rest.iter().position(|word| word == option)?;
        rest.get(at + 1).map(String::as_str)
    };
    let mut found: Vec<String> = match name {
        "timeout" => return executed(rest.get(1..).unwrap_or_default()),
        "make" | "gmake" => {
            let named = after("-f").map(|file| vec![file.to_owned()]);
            let usual = || ["Makefile", "makefile", "GNUmakefile"].map(str::to_owned).to_vec();
            let folder = after("-C").unwrap_or_default();
            let all = named.unwrap_or_else(usual).into_iter();
            all.filter_map(|file| join(folder, &file)).collect()
        }
        "just" => ["justfile", "Justfile", ".justfile"].map(str::to_owned).to_vec(),
        "go" | "deno" | "bun" => files().skip(1).collect(),
        name if RUNNERS.contains(&name) => files().collect(),
        name if is_interpreter(name) => match (after("-m"), after("-c")) {
            (Some(module), _) if RUNNERS.contains(&module) => files().filter(|file| file != module).collect(),
            (Some(_), _) => Vec::new(),
            (None, Some(line)) if !name.starts_with("python") => {
                shell::commands_in(line).iter().flat_map(|words| executed(words)).collect()
            }
            (None, Some(_)) => Vec::new(),
            (None, None) => files().take(1).collect(),
        },
        _ => Vec::new(),
    };
    if program.contains('/') {
        found.push(program.clone());
    }
    found
}

fn is_interpreter(name: &str) -> bool {
    let is_python =
        name.strip_prefix("python3.").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    is_python || INTERPRETERS.contains(&name)
}

/// The file of `tests/a.py::test_b`.
fn file_of(word: &str) -> String {
    word.split("::").next().unwrap_or(word).to_owned()
}

/// A path from the top of the project, if it stays inside.
fn join(folder: &str, path: &str) -> Option<String> {
    if path.starts_with('/') || path.is_empty() {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RepoPath;
    use crate::time::Span;

    fn of(line: &str) -> Vec<String> {
        scripts(&Check::new("c".to_owned(), Argv::parse(line), Span::minutes(1)))
    }

    #[test]
    fn what_a_check_executes_is_found() {
        for (line, files) in [
            ("./check.sh", &["check.sh"][..]),
            ("sh check.sh fast", &["check.sh"]),
            ("bash -e ci/test.sh && python3 tools/lint.py src", &["ci/test.sh", "tools/lint.py"]),
            ("cd web && node test/run.js | tail -3", &["web/test/run.js"]),
            ("CI=1 timeout 60 ./a/b.sh", &["a/b.sh"]),
            ("pytest -q tests/a.py::test_x tests/b.py", &["tests/a.py", "tests/b.py"]),
            ("python -m pytest tests/a.py", &["tests/a.py"]),
            ("python -m unittest tests/a.py", &["tests/a.py"]),
            ("sh -c './a.sh && ./b.sh'", &["a.sh", "b.sh"]),
            ("if ./a.sh; then sh b.sh; fi", &["a.sh", "b.sh"]),
            (". ./env.sh && make test", &["GNUmakefile", "Makefile", "env.sh", "makefile"]),
            ("make -f ci.mk test", &["ci.mk"]),
        ] {
            assert_eq!(of(line), files, "{line}");
        }
        let cwd = Some(RepoPath::new("web").expect("a path"));
        let check = Check { cwd, ..Check::new("c".to_owned(), Argv::parse("./t.sh ../x"), Span::minutes(1)) };
        assert_eq!(scripts(&check), ["web/t.sh"]);
    }

    #[test]
    fn what_a_check_only_reads_is_none_of_it() {
        let file = RepoPath::new("a.sh").expect("a path");
        let look = Check::new("c".to_owned(), Argv::Look { file, holds: Vec::new() }, Span::minutes(1));
        assert!(scripts(&look).is_empty());
        for line in [
            "grep -q x src/a.sh",
            "test -x run.sh",
            "cargo test --test it",
            "npm test",
            "sh ../out.sh",
            "cat a | sh",
        ] {
            assert!(of(line).is_empty(), "{line}: {:?}", of(line));
        }
    }
}
