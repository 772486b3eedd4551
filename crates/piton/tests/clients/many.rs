//! Many real clients at once.

use piton_testkit::models::{piton, say, script, shell};
use piton_testkit::sandbox::task;
use serde_json::{Value, json};

use crate::{Bench, Client, run};

/// How many clients at once, and on how many tasks: `PITON_CLIENTS=8x24`.
const SIZE: &str = "PITON_CLIENTS";
/// Enough to meet each other, and little enough for every check.
const SMALL: (usize, usize) = (4, 8);

#[test]
fn clients_of_two_kinds_finish_a_plan_side_by_side_and_lose_nothing() {
    run(Client::Codex, |bench| {
        let Some(claude) = Client::Claude.program() else { return };
        side_by_side(bench, &claude);
    });
}

#[expect(clippy::print_stderr, reason = "figures for whoever asked for many")]
fn side_by_side(bench: &Bench, claude: &camino::Utf8Path) {
    let asked = std::env::var(SIZE).ok();
    let size = asked.as_deref().and_then(|said| {
        let (clients, tasks) = said.split_once('x')?;
        Some((clients.parse().ok()?, tasks.parse().ok()?))
    });
    let (clients, tasks): (usize, usize) = size.unwrap_or(SMALL);
    let ids: Vec<String> = (1..=tasks).map(|number| format!("T{number:02}")).collect();
    let scripts = || {
        ids.iter().map(|id| {
            let report = json!({ "what": "done", "note": format!("note of {id}") });
            script(
                &format!("Please do {id}"),
                [
                    shell(&format!(
                        "echo {id} > {id}.txt && git add -A && git commit -qm 'By the agent: {id}'"
                    )),
                    piton("report", report),
                    say(&format!("It is done.\n<signal>{id}_DONE</signal>")),
                ],
            )
        })
    };
    let servers = [Client::Claude, Client::Codex].map(|client| (client, bench.serve_as(client, scripts())));
    let profile = |(client, models): &(Client, _)| {
        let program = if *client == Client::Claude { claude } else { &bench.program };
        bench.profile(client.name(), (*client, program), models, 2)
    };
    let agents: String = servers.iter().map(profile).collect();
    let agent = |number: usize| servers[number % 2].0.name();
    let tasks: String =
        ids.iter().enumerate().map(|(nth, id)| task(id, &format!("agent = \"{}\"", agent(nth)))).collect();
    bench.plan_of(&agents, &tasks);

    let started = std::time::Instant::now();
    let parallel = clients.to_string();
    let engine = bench.sandbox.piton(["run", "plan.toml", "--max-parallel", &parallel]);
    let _ = engine.env("PITON_SANDBOX", "auto").run().exits(0).says("every task is completed");
    if asked.is_some() {
        eprintln!("{clients} clients, {} tasks: {:.1} s", ids.len(), started.elapsed().as_secs_f64());
    }
    let log = bench.sandbox.git(["log", "--format=%s", "main"]);
    let ended = bench.events("agent_ended");
    assert_eq!(ended.len(), ids.len(), "each was worked on once");
    for (nth, id) in ids.iter().enumerate() {
        assert_eq!(bench.sandbox.git(["show", &format!("main:{id}.txt")]), *id);
        assert!(log.contains(&format!("By the agent: {id}")), "{log}");
        let own: Vec<&Value> = ended.iter().filter(|event| event["task"] == id.as_str()).collect();
        assert_eq!(own[0]["report"]["note"], format!("note of {id}"));
        assert!(bench.argv(id, "1.agent0").contains(agent(nth)));
    }
    assert_eq!(
        bench.used().iter().filter(|used| used.to_string().contains("\"input\":300")).count(),
        ids.len()
    );
    assert_eq!(bench.processes(), []);
}
