//! Build tools behind the fence, each real one on a home folder that nothing has used before.

use std::fs;
use std::process::Command;

use camino::{Utf8Path, Utf8PathBuf};
use piton_engine::keeper::fences_are_possible;
use piton_testkit::sandbox::{Invocation, Output, Sandbox};
use piton_testkit::skipped;

use super::*;

/// Whether a test can look at this tool behind a fence. A test that cannot says so.
fn can(tool: &str) -> bool {
    if let Err(why) = fences_are_possible() {
        skipped(&why);
        return false;
    }
    let there = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        skipped(&format!("{tool} is not installed"));
    }
    there
}

/// A plan with one task, which an agent does that is this shell script.
fn plan(sandbox: &Sandbox, script: &str, more: &str) {
    let bin = sandbox.program("agent", &format!("set -e\n{script}"));
    sandbox.write(
        "plan.toml",
        &format!(
            "name = \"plan\"\n[agents.default]\ncommand = [\"{bin}/agent\"]\n{more}\n\
             [[task]]\nid = \"T1\"\ntitle = \"One\"\nprompt = \"p\"\nattempts = 1\nchecks = [\"test -s done.txt\"]\n"
        ),
    );
    sandbox.commit("Plan");
}

fn home(sandbox: &Sandbox) -> Utf8PathBuf {
    sandbox.root().join("home")
}

/// A run behind the fence.
fn fenced(sandbox: &Sandbox) -> Invocation {
    sandbox.piton(["run", "plan.toml", "--sandbox", "on"])
}

#[track_caller]
fn works(sandbox: &Sandbox, run: &Output) {
    let output = sandbox.run("output T1 --plan plan.toml");
    assert!(run.code == Some(0), "{}\n{}\n{}", run.stdout, run.stderr, output.stdout);
}

/// With the programs that rustup has installed for the user who runs the tests.
fn with_rust(run: Invocation) -> Invocation {
    let theirs = std::env::var("HOME").map(|home| format!("{home}/.rustup"));
    let rustup = std::env::var("RUSTUP_HOME").or(theirs).unwrap_or_default();
    match Utf8Path::new(&rustup).is_dir() {
        true => run.env("RUSTUP_HOME", &rustup),
        false => run,
    }
}

/// A crate that comes from a registry, and one that comes from a git repository, both on this disk.
fn crates(sandbox: &Sandbox) {
    let made = sandbox.program(
        "crates",
        r#"set -e; cd "$1"
        mkdir -p dep-0.1.0/src registry/index/3/d git-dep/src
        printf '[package]\nname = "dep"\nversion = "0.1.0"\nedition = "2021"\n' > dep-0.1.0/Cargo.toml
        echo 'pub fn a() -> u8 { 1 }' > dep-0.1.0/src/lib.rs
        tar czf registry/dep-0.1.0.crate dep-0.1.0
        sum=$(sha256sum registry/dep-0.1.0.crate | cut -d' ' -f1)
        printf '{"name":"dep","vers":"0.1.0","deps":[],"cksum":"%s","features":{},"yanked":false}\n' "$sum" > registry/index/3/d/dep
        printf '[package]\nname = "git-dep"\nversion = "0.1.0"\nedition = "2021"\n' > git-dep/Cargo.toml
        echo 'pub fn b() -> u8 { 2 }' > git-dep/src/lib.rs
        cd git-dep && git init -q && git add . && git -c user.name=a -c user.email=a@b commit -q -m dep"#,
    );
    let out = Command::new(made.join("crates")).arg(sandbox.root()).output().expect("a shell");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let root = sandbox.root();
    sandbox.write(
        "Cargo.toml",
        &format!(
            "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\ndep = \"0.1\"\n\
             git-dep = {{ git = \"file://{root}/git-dep\" }}\n"
        ),
    );
    sandbox.write("src/main.rs", "fn main() { println!(\"{}\", dep::a() + git_dep::b()); }\n");
    sandbox.write(
        ".cargo/config.toml",
        &format!("[source.crates-io]\nreplace-with = \"here\"\n[source.here]\nlocal-registry = \"{root}/registry\"\n"),
    );
    sandbox.write(".gitignore", "target\nCargo.lock\n");
}

#[test]
fn cargo_builds_with_dependencies_on_a_fresh_home_and_where_its_variable_says() {
    if !can("cargo") {
        return;
    }
    for moved in [false, true] {
        let sandbox = sandbox();
        crates(&sandbox);
        plan(
            &sandbox,
            "test \"$(cargo run -q)\" = 3\nif echo x > \"${CARGO_HOME:-$HOME/.cargo}/config.toml\"; then exit 9; fi\n\
             if mkdir -p \"${CARGO_HOME:-$HOME/.cargo}/bin\"; then exit 9; fi\n\
             case \"$CARGO_INSTALL_ROOT\" in \"$PITON_JOB\"/*) ;; *) exit 8;; esac\necho built > done.txt",
            "",
        );
        let elsewhere = sandbox.root().join("rust/cargo");
        let run = with_rust(fenced(&sandbox));
        let run = if moved { run.env("CARGO_HOME", elsewhere.as_str()) } else { run };
        works(&sandbox, &run.run());
        let place = if moved { elsewhere } else { home(&sandbox).join(".cargo") };
        for folder in ["registry/src", "git/db"] {
            assert!(place.join(folder).is_dir(), "{folder} in {place}");
        }
        assert_eq!(home(&sandbox).join(".cargo").exists(), !moved);
    }
}

#[test]
fn npm_installs_and_npx_runs_on_a_fresh_home_and_no_program_is_left_there() {
    if !can("npm") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("package.json", "{\"name\": \"app\", \"version\": \"1.0.0\", \"private\": true}\n");
    sandbox.write(".gitignore", "node_modules\n");
    sandbox.write(
        sandbox.root().join("dep/package.json"),
        "{\"name\": \"dep\", \"version\": \"1.0.0\", \"bin\": {\"dep\": \"cli.js\"}}\n",
    );
    sandbox.write(sandbox.root().join("dep/cli.js"), "#!/usr/bin/env node\nconsole.log('ran');\n");
    let dep = sandbox.root().join("dep");
    plan(
        &sandbox,
        &format!(
            "tarball=\"$TMPDIR/$(npm pack --silent --pack-destination \"$TMPDIR\" {dep})\"\n\
             npm cache add \"$tarball\"\nnpm install --offline --no-audit --no-fund \"$tarball\"\n\
             test \"$(npx --offline --yes --package=\"$tarball\" dep)\" = ran\n\
             cd \"$TMPDIR\" && test \"$(npx --offline --yes --package=\"$tarball\" dep)\" = ran && cd \"$OLDPWD\"\n\
             ls \"$npm_config_cache/_npx\"\necho done > done.txt"
        ),
        "",
    );
    works(&sandbox, &fenced(&sandbox).run());
    let cache = home(&sandbox).join(".npm");
    assert!(cache.join("_cacache/content-v2").is_dir(), "what was fetched is shared");
    let left: Vec<String> =
        cache.read_dir_utf8().expect("a cache").flatten().map(|entry| entry.file_name().to_owned()).collect();
    assert_eq!(left, ["_cacache"], "what npx has installed was the attempt's own");
}

#[test]
fn pip_installs_and_uses_its_cache_on_a_fresh_home() {
    if !can("pip") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write("requirements.txt", "dep\n");
    sandbox.write(
        sandbox.root().join("wheel.py"),
        "import sys, zipfile\n\
         with zipfile.ZipFile(sys.argv[1] + '/dep-1.0-py3-none-any.whl', 'w') as wheel:\n    \
         wheel.writestr('dep.py', 'print(\"imported\")')\n    \
         wheel.writestr('dep-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: dep\\nVersion: 1.0\\n')\n    \
         wheel.writestr('dep-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n    \
         wheel.writestr('dep-1.0.dist-info/RECORD', '')\n",
    );
    let made = sandbox.root().join("wheel.py");
    plan(
        &sandbox,
        &format!(
            "python3 {made} \"$TMPDIR\"\n\
             pip install --no-index --find-links \"$TMPDIR\" --target lib -r requirements.txt 2>&1 | tee pip.txt\n\
             if grep -i 'cache has been disabled\\|not writable' pip.txt; then exit 7; fi\n\
             test \"$(PYTHONPATH=lib python3 -c 'import dep')\" = imported\n\
             test \"$(pip cache dir)\" = \"$HOME/.cache/pip\"\necho x > \"$HOME/.cache/pip/x\"\n\
             rm -rf lib\necho done > done.txt"
        ),
        "",
    );
    works(&sandbox, &fenced(&sandbox).run());
    assert!(home(&sandbox).join(".cache/pip/x").is_file());
}

#[test]
fn a_commit_hook_makes_its_caches_on_a_fresh_home_and_leaves_no_program_there() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let sandbox = sandbox();
    let hook = sandbox.project().join(".git/hooks/pre-commit");
    // As pre-commit does it: a program is installed below its home and run at each commit.
    sandbox.write(
        &hook,
        "#!/bin/sh\nset -e\nhome=${PRE_COMMIT_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/pre-commit}\n\
         mkdir -p \"$home/env/bin\" \"${XDG_CACHE_HOME:-$HOME/.cache}/linter\"\n\
         printf '#!/bin/sh\\necho checked > \"%s/linter/ran\"\\n' \"${XDG_CACHE_HOME:-$HOME/.cache}\" > \"$home/env/bin/lint\"\n\
         chmod +x \"$home/env/bin/lint\" && \"$home/env/bin/lint\"\n",
    );
    plan(
        &sandbox,
        "echo done > done.txt\ngit add -A\ngit commit -q -m Done\ncat \"$XDG_CACHE_HOME/linter/ran\"",
        "",
    );
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("our own file");
    works(&sandbox, &fenced(&sandbox).run());
    assert!(sandbox.git(["log", "--format=%s"]).contains("Done"), "its own commit");
    assert!(!home(&sandbox).join(".cache").exists(), "programs of hooks are the attempt's own");
}

#[test]
fn the_real_pre_commit_runs_on_a_fresh_home() {
    if !can("pre-commit") {
        return;
    }
    let sandbox = sandbox();
    sandbox.write(
        ".pre-commit-config.yaml",
        "repos:\n- repo: local\n  hooks:\n  - id: a\n    name: a\n    language: system\n    entry: sh -c 'echo ran > \"$TMPDIR/ran\"'\n    always_run: true\n    pass_filenames: false\n",
    );
    plan(
        &sandbox,
        "pre-commit run --all-files\ntest -s \"$TMPDIR/ran\"\nls \"$PRE_COMMIT_HOME/db.db\"\necho done > done.txt",
        "",
    );
    works(&sandbox, &fenced(&sandbox).run());
    assert!(!home(&sandbox).join(".cache/pre-commit").exists(), "it was the attempt's own");
}

#[test]
fn an_attempt_has_temporary_files_of_its_own_also_where_the_project_is_among_them() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let temporary = Utf8PathBuf::from_path_buf(std::env::temp_dir()).expect("UTF-8");
    let place = tempfile::Builder::new().prefix("project-").tempdir_in(&temporary).expect("a new folder");
    let inside =
        Sandbox::new_in(env!("CARGO_BIN_EXE_piton"), Utf8Path::from_path(place.path()).expect("UTF-8"));
    for (sandbox, is_inside) in [(inside, true), (sandbox(), false)] {
        let stray = sandbox.root().join("stray");
        plan(
            &sandbox,
            &format!(
                "echo x > \"$TMPDIR/x\"\nmktemp\nprintf %s \"$TMPDIR\" > done.txt\n\
                 if echo x > {stray}; then exit 9; fi\n\
                 if [ \"$(dirname \"$TMPDIR\")\" = \"$PITON_JOB\" ]; then exit 8; fi\nexit 0"
            ),
            "",
        );
        works(&sandbox, &fenced(&sandbox).run());
        let own = sandbox.read("done.txt");
        assert!(own.starts_with(temporary.as_str()) && own.len() < temporary.as_str().len() + 24, "{own}");
        assert!(!Utf8Path::new(&own).exists(), "it is removed after the attempt");
        assert!(!is_inside || sandbox.root().starts_with(&temporary));
    }
}

/// The engine that resumes an attempt may have another `TMPDIR` than the one that began it.
#[test]
fn temporary_files_go_with_the_attempt_also_where_another_engine_ends_it() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let sandbox = sandbox();
    let [first, second] = ["tmp1", "tmp2"].map(|name| sandbox.root().join(name));
    for folder in [&first, &second] {
        std::fs::create_dir(folder).expect("a new folder");
    }
    sandbox.fifo("arrived");
    sandbox.fifo("gate");
    let root = sandbox.root();
    plan(
        &sandbox,
        &format!("echo x > \"$TMPDIR/x\"; cat {root}/arrived; cat {root}/gate; echo done > done.txt"),
        "",
    );
    let run = fenced(&sandbox).env("TMPDIR", &first).spawn();
    sandbox.meet("arrived");
    assert_ne!(std::fs::read_dir(&first).expect("a folder").count(), 0);
    run.signal(rustix::process::Signal::KILL);
    let _ = run.wait();
    let next = fenced(&sandbox).env("TMPDIR", &second).spawn();
    sandbox.meet("gate");
    works(&sandbox, &next.wait());
    let left: Vec<_> = first.read_dir_utf8().expect("a folder").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

/// `TMPDIR` may name what is not there, or a place that depends on where one stands.
#[test]
fn a_folder_for_temporary_files_that_cannot_be_used_is_not_made() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    for named in ["not/here", "/not-here"] {
        let sandbox = sandbox();
        plan(&sandbox, "mktemp && printf %s \"$TMPDIR\" > done.txt", "");
        works(&sandbox, &fenced(&sandbox).env("TMPDIR", named).run());
        assert!(sandbox.read("done.txt").starts_with("/tmp/"));
        assert!(!sandbox.project().join(named).exists(), "{named}");
    }
}

#[test]
fn piton_is_found_whatever_the_path_of_an_agent_is() {
    let sandbox = sandbox();
    plan(
        &sandbox,
        "piton report T1 done --note 'by its name'\necho done > done.txt",
        "env = { PATH = \"/usr/bin:/bin\" }",
    );
    works(&sandbox, &sandbox.run("run plan.toml"));
    assert!(sandbox.events().iter().any(|event| event.contains("by its name")));
    // A login shell begins with a path of its own.
    let prompt = sandbox.run("prompt T1 --plan plan.toml").exits(0).stdout;
    assert!(prompt.contains(&format!("`{} report T1 done", env!("CARGO_BIN_EXE_piton"))), "{prompt}");
}

#[test]
fn an_agent_is_told_where_it_can_write() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let sandbox = sandbox();
    sandbox.write("package.json", "{}\n");
    sandbox.write("tools/requirements.txt", "\n");
    sandbox.write("piton.toml", "[sandbox]\nwritable = [\"~/.mine\"]\n");
    plan(&sandbox, "echo x > ~/.mine/x\ncp \"$PITON_PROMPT\" done.txt", "");
    works(&sandbox, &fenced(&sandbox).run());
    let told = "- You can write here, in `$TMPDIR`, in the caches of npm and pip, in `~/.mine`, and nowhere else on this \
                machine. If the task needs another place, say BLOCKED and name it. Branches, stashes and git settings that you \
                make are gone after this attempt: commit what counts.\n";
    let prompt = sandbox.read("done.txt");
    assert!(prompt.contains(told), "{prompt}");
    assert!(home(&sandbox).join(".mine/x").is_file(), "a folder that is opened is made");
    let unfenced = sandbox.run("prompt T1 --plan plan.toml").exits(0).stdout;
    assert!(!unfenced.contains("You can write here"), "{unfenced}");
}

#[test]
fn why_guesses_what_the_sandbox_refused_and_names_the_line_that_allows_it() {
    if let Err(why) = fences_are_possible() {
        return skipped(&why);
    }
    let sandbox = sandbox();
    sandbox.write("piton.toml", "[sandbox]\nwritable = [\"/srv\"]\n");
    plan(&sandbox, "ls /nowhere || true\nmkdir -p ~/.tool/cache\necho done > done.txt", "");
    let _ = fenced(&sandbox).run().exits(4);
    let why = sandbox.run("why T1 --plan plan.toml").exits(0);
    let why = why.says("its output suggests that the sandbox denied writing to ~/.tool: mkdir: cannot");
    let line = "in piton.toml, below [sandbox]: writable = [\"/srv\", \"~/.tool\"]";
    assert!(why.stdout.contains(line), "{}", why.stdout);
    sandbox.write("piton.toml", "[sandbox]\nwritable = [\"/srv\", \"~/.tool\"]\n");
    let _ = sandbox.run("retry T1 --plan plan.toml").exits(0);
    let _ = fenced(&sandbox).run().exits(0);
    let after = sandbox.run("why T1 --plan plan.toml").exits(0).stdout;
    assert!(!after.contains("its output suggests"), "{after}");
}

#[test]
fn arguments_of_a_profile_reach_its_program() {
    let sandbox = sandbox();
    plan(&sandbox, "printf '%s\\n' \"$@\" > done.txt", "args = [\"--effort\", \"high one\"]");
    works(&sandbox, &sandbox.run("run plan.toml"));
    assert_eq!(sandbox.read("done.txt"), "--effort\nhigh one\n");
}
