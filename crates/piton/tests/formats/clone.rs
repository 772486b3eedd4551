//! From a foreign repository with a plan to the first landed task: the commands of the pages, as they stand there.

use std::time::Instant;

use super::*;

const PAGES: [&str; 2] =
    [include_str!("../../../../README.md"), include_str!("../../../../docs/tutorial.md")];

/// What the pages call the address of the repository.
const ADDRESS: &str = "REPOSITORY";

/// The commands of a page that begin with cloning.
fn commands(page: &str) -> Vec<&str> {
    let from = page.find(&format!("git clone {ADDRESS} ")).expect("the page clones a repository");
    page[from..].lines().take_while(|line| !line.starts_with("```")).collect()
}

/// A client as it is installed: logged in, and working by the script of the sandbox.
fn client(sandbox: &Sandbox) {
    let (binary, script) = (env!("CARGO_BIN_EXE_piton"), sandbox.root().join("agents.script"));
    sandbox.program(
        "claude",
        &format!(
            r#"case "$1" in
    --version) echo '2.1.325 (Claude Code)'; exit ;;
    auth) echo '{{"loggedIn":true}}'; exit ;;
esac
{binary} scripted-agent {script} || exit
echo '{{"type":"system","subtype":"init","session_id":"s1"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"result":"Done","session_id":"s1"}}'"#
        ),
    );
}

#[test]
#[allow(clippy::print_stdout, reason = "`--nocapture` shows how long it took")]
fn three_commands_lead_from_a_foreign_repository_to_the_first_landed_task() {
    let commands_of_pages = PAGES.map(commands);
    assert_eq!(commands_of_pages[0], commands_of_pages[1], "both pages say the same");
    let [clone, init, run] = commands_of_pages[0][..] else { panic!("{commands_of_pages:?}") };

    // Theirs, without anything of Piton's: the example, what proves its work, and a bare repository.
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_piton"));
    sandbox.copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/speckit"), "");
    std::fs::remove_file(sandbox.project().join("piton.toml")).expect("part of the example");
    sandbox.write("package.json", r#"{"name": "albums", "scripts": {"test": "sh check.sh"}}"#);
    sandbox.commit("Albums");
    let theirs = sandbox.root().join("theirs.git");
    sandbox.git(["clone", "-q", "--bare", ".", theirs.as_str()]);

    client(&sandbox);
    sandbox.program("npm", "exec sh check.sh");
    act(&sandbox, &speckit::well(""));
    let place = sandbox.root().join("place");
    sandbox.write(&place, sandbox.root().as_str());
    let typed = |line: &str| {
        let line = line.replace(ADDRESS, theirs.as_str());
        let script = format!(
            "cd \"$(cat {place})\"; PATH=$(dirname \"$0\"):$PATH; {line}; code=$?; pwd > {place}; exit $code"
        );
        sandbox.piton_by(&["sh", "-c", &script], []).with_path(&sandbox.root().join("bin"))
    };

    let begin = Instant::now();
    let _ = typed(clone).run().exits(0);
    let _ = typed(init).run().exits(0).says("speckit: 7 of 8 tasks open").says("wrote piton.toml");
    let mut running = typed(run).spawn();
    running.until_says("landed as");
    let took = begin.elapsed();
    let ended = running.wait();
    println!("\n$ {clone}\n$ {init}\n$ {run}\nfirst landed task after {:.1} s", took.as_secs_f64());

    // The last task is for a person.
    let _ = ended.exits(4).says("5 landed").says("piton report T008 done");
    let cloned = sandbox.read(&place);
    let landed = sandbox.git_in(cloned.trim_end().into(), ["log", "--first-parent", "--format=%s", "main"]);
    assert_eq!(
        landed.lines().filter(|subject| subject.starts_with("Merge worktree-T00")).count(),
        5,
        "{landed}"
    );
}
