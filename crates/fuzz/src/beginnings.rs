//! What Piton makes of a project that it has not seen before: settings from whatever lies in it, and a plan from a list.

use piton_core::client::Adapter;
use piton_core::diagnostic::Severity;
use piton_core::plan::RepoPath;
use piton_core::survey::{Branches, Include, Project, Repository, is_ci, survey};
use piton_core::system::config::{Config, read_config};
use piton_core::system::native::{Overrides, read};
use piton_core::system::{Asked, ListText, UsualChecks, Worker, own};
use piton_core::terminal::misleads;
use piton_core::time::Timestamp;

use crate::folders::folder;
use crate::plans::safe;
use crate::same;

pub(crate) const FILES: &[&str] = &[
    "\n==> .github/workflows/ci.yml <==\n",
    "\n==> .gitlab-ci.yml <==\n",
    "\n==> Cargo.toml <==\n",
    "\n==> package.json <==\n",
    "\n==> package-lock.json <==\n",
    "\n==> pyproject.toml <==\n",
    "\n==> Makefile <==\n",
    "\n==> CMakePresets.json <==\n",
    "\n==> a b.sln <==\n",
    "\n==> .env <==\n",
    "\n==> target/ <==\n",
    "jobs:\n",
    "    steps:\n",
    "      - run: cargo test\n",
    "      - run: |\n",
    "          npm test\n",
    "        working-directory: web\n",
    "  script:\n",
    "    - pytest -q\n",
    "    - >-\n",
    "{\"scripts\": {\"test\": \"x\"}}\n",
    "{\"testPresets\": [{\"name\": \"x\"}]}\n",
    "[tool.pytest.ini_options]\n",
    "test: a b\n",
    "\"",
    "'",
    "\u{202e}",
    "\u{1b}[2J",
    "\t",
    "\r\n",
];

/// Whatever lies in a project: what is written is understood, says all that is wanted, and is shown on its own lines.
pub(crate) fn project(bytes: &[u8]) {
    let root = folder(bytes);
    let ci: Vec<(String, String)> = root
        .files
        .iter()
        .filter(|(name, _)| is_ci(name))
        .map(|(name, bytes)| (name.clone(), String::from_utf8_lossy(bytes).into_owned()))
        .collect();
    let ignored: Vec<String> = root.files.keys().cloned().collect();
    let files = ignored.iter().filter(|name| RepoPath::new(name).is_ok()).cloned().collect();
    let include = Include { files, has_more: bytes.len() % 2 == 1 };
    let clients: Vec<Adapter> = Adapter::known().take(bytes.len() % 3).collect();
    let parts = [(RepoPath::new("part").expect("a plain name"), folder(&bytes[bytes.len() / 2..]))];
    let project = Project {
        root: &root,
        parts: &parts,
        ci: &ci,
        repository: &Repository::With(Branches { present: ignored.first().cloned(), ..Branches::default() }),
        clients: &clients,
        ignored: &ignored,
        include: Some(&include).filter(|_| bytes.len().is_multiple_of(5)),
        plans: &[],
        missing: &|check| (check.name.len() % 7 == 0).then(|| "x".to_owned()),
        config: None,
    };
    let found = same(|| survey(&project));
    let text = found.wanted.text();
    assert!(!(found.text() + &text).chars().any(|c| misleads(c) && c != '\n'), "{text:?}");
    let (config, problems) = read_config(&text);
    assert!(problems.iter().all(|problem| problem.severity < Severity::Error), "{problems:?}\n{text}");
    assert_eq!(found.wanted.lacking(&config), [], "a file that was just written lacks nothing");
}

/// Whatever a text holds, the plan that is made of its list has no mistakes.
pub(crate) fn list(bytes: &[u8]) {
    let begin = || {
        own().begin(&Asked {
            words: &[],
            domain: None,
            path: "list.toml",
            typed: "list.toml",
            worker: Worker::Missing,
            checks: UsualChecks::Found(&[]),
            is_full: false,
            list: Some(ListText { name: "list.md", bytes }),
            now: Timestamp(0),
            read: &|_| None,
            archived: &|_| Vec::new(),
        })
    };
    let (begun, again) = (begin(), begin());
    let Ok(begun) = begun else { return };
    assert_eq!(again.ok().as_ref(), Some(&begun), "making twice gives two plans");
    assert!(begun.said.iter().all(|line| !line.chars().any(misleads)), "{:?}", begun.said);
    let reading = read(&begun.files[0].1, "list", &Config::default(), &Overrides::default());
    assert!(reading.is_usable(), "{:?}\n{}", reading.diagnostics, begun.files[0].1);
    assert!(!reading.plan.tasks.is_empty());
    safe(&reading.plan);
}
