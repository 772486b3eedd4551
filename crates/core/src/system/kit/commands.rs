//! What commands look like that people write into plans.

/// Words that begin commands: enough to tell a command without any mark from a sentence.
pub(in crate::system) const PROGRAMS: &[&str] = &[
    "alembic", "awk", "bash", "bun", "cargo", "cat", "cd", "cmake", "curl", "deno", "diff", "docker",
    "dotnet", "echo", "eslint", "find", "git", "go", "gradle", "grep", "java", "jest", "jq", "just", "ls",
    "make", "mix", "mvn", "mypy", "node", "npm", "npx", "php", "pip", "pnpm", "poetry", "psql", "pytest",
    "python", "python3", "rake", "ruby", "ruff", "rustc", "sed", "sh", "sqlite3", "swift", "test", "tsc",
    "uv", "vitest", "yarn",
];

pub(in crate::system) fn looks_like_a_command(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    let more = words.next().is_some();
    PROGRAMS.contains(&first)
        || (more && (first.starts_with("./") || text.contains(" -") || text.contains("&&")))
}

/// Whether a command takes a repository away.
pub(in crate::system) fn removes_git(command: &str) -> bool {
    const REMOVERS: [&str; 8] = ["rm", "rmdir", "unlink", "mv", "shred", "del", "rd", "remove-item"];
    let words: Vec<&str> = command
        .split(|c: char| c.is_whitespace() || ";|&()'\"`{}=".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let is_remover = |word: &&str| {
        let program = word.rsplit('/').next().unwrap_or_default().to_lowercase();
        REMOVERS.contains(&program.as_str()) || *word == "-delete"
    };
    let is_git = |word: &&str| {
        let path = word.trim_end_matches(['/', '*']).replace('\\', "/");
        path.split('/').any(|part| matches!(part, ".git" | ".*" | ".[!.]*" | ".g*" | ".gi*"))
            || matches!(path.rsplit('/').next(), Some(".[!.]" | ".g" | ".gi" | ".[^.]"))
    };
    words.iter().any(is_remover) && words.iter().any(is_git)
}
