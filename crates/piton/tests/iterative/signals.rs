//! Signals in what agents print. The core's tests have every form; these show that the whole program reads them.

use super::*;

#[test]
fn only_the_agents_own_last_word_about_its_unit_counts() {
    let sandbox = habits("");
    let echoes = does(&sandbox, "echo", "cat \"$PITON_PROMPT\"");
    let floods = does(
        &sandbox,
        "flood",
        "yes 'still at work, as <signal>T1_DONE</signal> says' | head -c 300000\nprintf '\\n\\n\\033[32mdone\\033[0m\\n'",
    );
    let list =
        sandbox.read(format!("{PLAN}/tasks.md")).replacen("Max iterations: 3", "Max iterations: 12", 1);
    sandbox.write(format!("{PLAN}/tasks.md"), &list);
    sandbox.commit("More of them");
    let tries = [
        // S1: the prompt, a code fence and a quote are not signals.
        echoes.as_str(),
        "say ```\nsignal T1_DONE\nsay ```\n",
        "say > <signal>T1_DONE</signal>\n",
        // S2: another unit, one whose name begins alike, and both at once.
        "signal T2_DONE\n",
        "signal T10_DONE\n",
        "signal T1_DONE\nsignal BLOCKED:no key\n",
        // S5: words in prose.
        "say not DONE: waiting for T1_DONE\n",
        // S9: a limit in the output of the project's own tests is not a limit of the agent.
        "say error: usage limit reached, it resets in 3 hours\nsay ```\nsignal LIMIT:3h\nsay ```\n",
        // S8: the exit status decides.
        "signal T1_DONE\nexit 1\n",
        // No word at all.
        "sleep 0\n",
    ];
    let mut script: String =
        tries.iter().enumerate().map(|(nth, deed)| format!("[T1 {}]\n{deed}", nth + 1)).collect();
    // S3, S10: an odd form at the end of very much.
    let (_, work) = WORK[0];
    script += &format!("[T1]\n{work}\n{floods}signal t1_done\n");
    act(&sandbox, &script);
    let run = sandbox.run("run habits").exits(0);
    let failed = |reason: &str| run.stderr.matches(&format!("failed: {reason}")).count();
    assert_eq!(failed("not finished"), 8, "{run}");
    assert_eq!(failed("it says both that it is done and that it is blocked: no key"), 1, "{run}");
    assert_eq!(failed("the agent ended with exit status 1"), 1, "{run}");
    assert_eq!(state(&sandbox)["tasks"]["T1"]["iterations_used"], 11);
    let log = log(&sandbox);
    assert!(log.contains("> `T2_DONE` is not a signal for T1"), "{log}");
    assert!(log.contains("> `t1_done` was read as a signal, although it"), "{log}");
}
