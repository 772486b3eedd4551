//! The end of a run of the execute system: its results are entered in PROJECT.md, once, whatever happened before.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command as Process;

use camino::Utf8PathBuf;
use piton_core::plan::{
    Budget, Export, Fences, Group, GroupId, Oid, Plan, RunId, Schedule, Settings, TaskId, TaskSpec,
};
use piton_core::prompt::Prompts;
use piton_core::run::{
    Claim, Command, ContextUpdate, Event, NewRun, Note, Recorded, Report, Selection, Session, State,
    StopReason,
};
use piton_core::system::Form;
use piton_core::system::execute::context::{self, FILE};
use piton_core::time::{Span, Timestamp};
use piton_engine::clock;
use piton_engine::drive::{Engine, EngineError, Observer, channels};
use piton_engine::files::Keeping;
use piton_engine::git::{RefChange, Repo};
use piton_engine::journal::Journal;
use piton_engine::project::Project;

const PROJECT: &str = "# Shop\n\n<project-context version=\"1.0\">\n  <meta>\n    <last-context-hash>current-HEAD</last-context-hash>\n  </meta>\n</project-context>\n";

struct Silent;

impl Observer for Silent {
    fn event(&mut self, _: &Recorded, _: &State) {}
    fn tick(&mut self, _: &State) {}
}

fn session(selection: Selection) -> Session {
    Session {
        schedule: Schedule::Layered,
        max_parallel: 1,
        landing_parallel: 1,
        landing_by_load: false,
        selection,
        agent: None,
        budget: Budget::default(),
        fences: Fences::default(),
        verbose: false,
        quiet: false,
    }
}

/// A project whose run is done but for its description.
struct Shop {
    _folder: tempfile::TempDir,
    root: Utf8PathBuf,
}

impl Shop {
    fn new(project_md: Option<&str>) -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let root = Utf8PathBuf::from_path_buf(folder.path().canonicalize().unwrap()).unwrap().join("shop");
        fs::create_dir(&root).unwrap();
        let shop = Shop { _folder: folder, root };
        shop.git("init --quiet --initial-branch=main");
        shop.git("config user.name Person");
        shop.git("config user.email person@example.org");
        fs::write(shop.root.join("README.md"), "A shop\n").unwrap();
        if let Some(text) = project_md {
            fs::write(shop.root.join(FILE), text).unwrap();
        }
        shop.git("add --all");
        shop.git("commit --quiet --message first");
        shop.begin();
        shop
    }

    fn git(&self, args: &str) -> String {
        let output = Process::new("git").current_dir(&self.root).args(args.split(' ')).output().unwrap();
        assert!(output.status.success(), "git {args}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn tip(&self) -> Oid {
        Oid::new(&self.git("rev-parse main")).unwrap()
    }

    fn run_id() -> RunId {
        RunId::new("shop-1").unwrap()
    }

    fn spec(name: &str, exports: Vec<Export>) -> TaskSpec {
        TaskSpec {
            id: TaskId::new(name).unwrap(),
            title: format!("Task {name}"),
            prompt: "Do it.".to_owned(),
            group: 0,
            depends_on: Vec::new(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: Vec::new(),
            priority: 1,
            agent: "a".to_owned(),
            attempts: 5,
            confirm: false,
            may_change_nothing: false,
            check_first: false,
            may_fail: false,
            gate: false,
            by_person: false,
            timeout: Span::minutes(5),
            silence: None,
            exports,
            outside: Vec::new(),
            source: None,
        }
    }

    fn specs() -> Vec<TaskSpec> {
        let endpoint =
            Export::Endpoint { method: "GET".to_owned(), path: "/carts".to_owned(), text: String::new() };
        let model =
            Export::Interface { name: "Cart".to_owned(), kind: "model".to_owned(), text: String::new() };
        vec![Shop::spec("L1-001", vec![model]), Shop::spec("L1-002", vec![endpoint])]
    }

    fn begin(&self) {
        let project = Project::around(&self.root).unwrap();
        let mut journal = Journal::open(&project.home).unwrap();
        let settings = Settings { form: Form::Execute, landing_wait: Span(0), ..Settings::default() };
        let group = Group { id: GroupId::new("1-foundation").unwrap(), title: String::new() };
        let plan = Plan { name: "shop".to_owned(), groups: vec![group], tasks: Shop::specs(), settings };
        let new = NewRun {
            run: Shop::run_id(),
            plan,
            plan_path: self.root.join("docs/tasks/shop").to_string(),
            target: Some("main".to_owned()),
            base: Some(self.tip()),
            worktree_dir: Some(self.root.with_file_name("trees").to_string()),
        };
        journal.command(&Shop::run_id(), &Command::Create(Box::new(new)), clock::now()).unwrap();
        for spec in Shop::specs() {
            let claim = Claim::Done {
                tree: None,
                results: Vec::new(),
                evidence: piton_core::run::Evidence::file("work"),
            };
            let report = Command::Report {
                task: spec.id,
                by: "ann".to_owned(),
                fence: None,
                claim,
                report: Box::<Report>::default(),
            };
            journal.command(&Shop::run_id(), &report, clock::now()).unwrap();
        }
    }

    fn engine(&self, selection: Selection) -> Engine {
        let project = Project::around(&self.root).unwrap();
        let run = Shop::run_id();
        Engine {
            journal: Journal::open(&project.home).unwrap(),
            lock: project.engine_lock(&run).unwrap().unwrap(),
            project,
            run,
            session: session(selection),
            keeper: Vec::new(),
            prompts: Prompts::default(),
            owned: Vec::new(),
            sandbox: None,
            plan_now: Box::new(|| None),
            settle_files: Box::new(|| {}),
            reserve: Box::new(|_| Ok(())),
            undecided: Box::new(|| false),
            summary: Box::new(|| None),
            no_wait: false,
        }
    }

    fn drive(&self, selection: Selection) -> (StopReason, Option<ContextUpdate>) {
        let (_handle, inbox) = channels();
        let reason = self.engine(selection).run(inbox, &mut Silent).unwrap();
        let mut journal = Journal::open(&Project::around(&self.root).unwrap().home).unwrap();
        let context = journal.load(&Shop::run_id()).unwrap().run().unwrap().context.clone();
        (reason, context)
    }

    fn settled(&self) -> ContextUpdate {
        let (reason, context) = self.drive(Selection::All);
        assert_eq!(reason, StopReason::Completed);
        context.expect("it is settled before the end")
    }

    /// The commit that an engine would make now, pinned as it does before the target moves.
    fn pinned(&self) -> Oid {
        let repo = Repo::discover(&self.root).unwrap();
        let (tip, specs) = (self.tip(), Shop::specs());
        let folded =
            context::fold(PROJECT, &specs.iter().collect::<Vec<_>>(), tip.as_str(), Timestamp(0)).unwrap();
        let (tree, _) = repo.with_file(&tip, FILE, &folded.text).unwrap();
        let candidate = repo.commit_tree(&tree, &[&tip], "Update project context", None).unwrap();
        repo.change_refs(&[RefChange::pin("shop-1/context", &candidate).unwrap()]).unwrap();
        candidate
    }

    fn pins(&self) -> String {
        self.git("for-each-ref refs/piton")
    }
}

#[test]
fn results_become_a_commit_on_the_target_and_in_its_checkout() {
    let shop = Shop::new(Some(PROJECT));
    let before = shop.tip();
    let update = shop.settled();
    assert_eq!(update.commit, Some(shop.tip()));
    assert_eq!((update.endpoints, update.models), (vec!["GET /carts".to_owned()], vec!["Cart".to_owned()]));
    assert_eq!(update.warnings, ["PROJECT.md:5: `current-HEAD` is not a commit, so the last one is unknown"]);
    assert_eq!(shop.git("rev-parse main^"), before.as_str());
    assert_eq!(shop.git("status --porcelain"), "");
    let text = fs::read_to_string(shop.root.join(FILE)).unwrap();
    assert!(text.contains(&format!("<last-context-hash>{before}</last-context-hash>")), "{text}");
    assert_eq!(
        shop.git("log -1 --format=%B"),
        "Update project context\n\nEndpoints: GET /carts\nModels: Cart\n\nPiton-Run: shop-1"
    );
    assert_eq!(shop.pins(), "");
    // It is done: another engine finds nothing to do.
    let again = shop.settled();
    assert_eq!(again.commit, Some(shop.tip()));
}

#[test]
fn what_an_engine_pinned_before_it_died_is_landed_and_not_made_again() {
    let shop = Shop::new(Some(PROJECT));
    let candidate = shop.pinned();
    let update = shop.settled();
    assert_eq!((update.commit, shop.tip()), (Some(candidate.clone()), candidate));
    assert_eq!(update.models, ["Cart"]);
    assert_eq!(shop.pins(), "");
}

#[test]
fn what_an_engine_landed_before_it_died_is_told_and_not_done_again() {
    let shop = Shop::new(Some(PROJECT));
    let candidate = shop.pinned();
    shop.git(&format!("merge --quiet --ff-only {candidate}"));
    let update = shop.settled();
    assert_eq!((update.commit, shop.tip()), (Some(candidate.clone()), candidate));
    assert_eq!((update.endpoints.len(), update.models.len()), (1, 1));
    assert_eq!(shop.pins(), "");
}

#[test]
fn a_target_that_moved_meanwhile_gets_a_commit_of_its_own() {
    let shop = Shop::new(Some(PROJECT));
    let candidate = shop.pinned();
    shop.git("commit --quiet --allow-empty --message more");
    let before = shop.tip();
    let update = shop.settled();
    assert_ne!(update.commit, Some(candidate));
    assert_eq!(update.commit, Some(shop.tip()));
    assert_eq!(shop.git("rev-parse main^"), before.as_str());
}

#[test]
fn it_is_skipped_with_the_reason_where_it_must_be() {
    let skipped = |shop: &Shop| {
        let before = shop.tip();
        let update = shop.settled();
        assert_eq!((update.commit, shop.tip()), (None, before));
        update.skipped.replace(shop.root.as_str(), "SHOP")
    };
    let dirty = Shop::new(Some(PROJECT));
    fs::write(dirty.root.join(FILE), format!("{PROJECT}\nA note of mine\n")).unwrap();
    let readonly = Shop::new(Some(PROJECT));
    fs::set_permissions(readonly.root.join(FILE), fs::Permissions::from_mode(0o444)).unwrap();
    let detached = Shop::new(Some(PROJECT));
    detached.git("checkout --quiet --detach");
    let said = [
        skipped(&Shop::new(None)),
        skipped(&Shop::new(Some("# Shop\n"))),
        skipped(&Shop::new(Some(&format!("{PROJECT}\n{PROJECT}")))),
        skipped(&dirty),
        skipped(&readonly),
        skipped(&detached),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    there is no PROJECT.md
    PROJECT.md has no <project-context> block
    PROJECT.md has several <project-context> blocks, at lines 3, 11: which one is meant?
    SHOP has uncommitted changes in PROJECT.md
    PROJECT.md is read-only
    HEAD is detached in SHOP
    ");
    assert!(fs::read_to_string(dirty.root.join(FILE)).unwrap().ends_with("A note of mine\n"));
}

#[test]
fn who_works_on_a_part_leaves_it_to_the_next() {
    let shop = Shop::new(Some(PROJECT));
    let task = Selection::Task(TaskId::new("L1-001").unwrap());
    assert_eq!(shop.drive(task), (StopReason::Completed, None));
    assert!(shop.settled().commit.is_some());
}

/// A caller that asks for the files does not wait for the next look at the journal.
#[test]
fn files_that_are_asked_for_show_what_is_in_the_journal_by_then() {
    let shop = Shop::new(None);
    fs::create_dir_all(shop.root.join("docs/tasks/shop")).unwrap();
    let project = Project::around(&shop.root).unwrap();
    let mut journal = Journal::open(&project.home).unwrap();
    let keeping =
        Keeping::begin(&project, &Shop::run_id(), &[], |_, _, _, _| Ok(()), |error| panic!("{error}"))
            .unwrap()
            .unwrap();
    let settle = keeping.settles();
    let shown = || {
        let text = fs::read_to_string(shop.root.join("docs/tasks/shop/execute-state.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["piton_seq"].as_u64().unwrap()
    };
    for number in 0..20 {
        let note = Note::Told { task: TaskId::new("L1-001").unwrap(), report: Box::default() };
        let told = Command::Note { by: format!("ann {number}"), note };
        journal.command(&Shop::run_id(), &told, clock::now()).unwrap();
        settle();
        assert_eq!(shown(), journal.load(&Shop::run_id()).unwrap().seq());
    }
    keeping.end();
    // The thread has ended, and the caller does not wait for it.
    settle();
}

/// A person removed the lock, and another engine has begun.
struct Overtaken {
    root: Utf8PathBuf,
    other: bool,
}

impl Observer for Overtaken {
    fn event(&mut self, recorded: &Recorded, _: &State) {
        if matches!(recorded.event, Event::EngineStarted { .. }) && !self.other {
            self.other = true;
            let mut journal = Journal::open(&Project::around(&self.root).unwrap().home).unwrap();
            let attach = Command::Attach { engine: "another".to_owned(), session: session(Selection::All) };
            journal.command(&Shop::run_id(), &attach, clock::now()).unwrap();
        }
    }

    fn tick(&mut self, _: &State) {}
}

#[test]
fn an_engine_that_has_lost_its_run_leaves_it_as_it_is() {
    let shop = Shop::new(Some(PROJECT));
    let (_handle, inbox) = channels();
    let mut observer = Overtaken { root: shop.root.clone(), other: false };
    let ended = shop.engine(Selection::All).run(inbox, &mut observer);
    assert!(matches!(ended, Err(EngineError::Overtaken)), "{ended:?}");
    let mut journal = Journal::open(&Project::around(&shop.root).unwrap().home).unwrap();
    let state = journal.load(&Shop::run_id()).unwrap();
    let run = state.run().unwrap();
    assert_eq!((run.engine.as_deref(), &run.context), (Some("another"), &None));
}
