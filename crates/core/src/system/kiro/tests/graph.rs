//! Lists with a graph of waves.

use super::*;

fn with_graph(graph: &str) -> Reading {
    let tasks = "- [ ] 1. A\n  - [ ] 1.1 a\n  - [ ] 1.2 b\n  - [ ]* 1.3 c\n- [ ] 2. Checkpoint\n- [ ] 3. D\n  - [ ] 3.1 e\n  - [ ] 3.2 f\n  - [ ] 3.3 g\n- [ ] 4. Checkpoint\n";
    list(&format!("{tasks}\n## Task Dependency Graph\n\n{graph}\n"))
}

fn edges(reading: &Reading) -> String {
    let edge = |task: &TaskSpec| {
        let needs: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
        format!("{} <- {}", task.id, needs.join(" ")).trim_end().to_owned()
    };
    reading.plan.tasks.iter().map(edge).collect::<Vec<_>>().join("\n")
}

#[test]
fn waves_say_who_waits_and_checkpoints_stay_where_they_are() {
    let graph = "```json\n{\n  \"waves\": [\n    {\"id\": 0, \"tasks\": [\"1.1\", \"1.2\", \"3.3\"]},\n    {\"id\": 1, \"tasks\": [\"3.1\", \"1.3\"]}\n  ]\n}\n```";
    let reading = with_graph(graph);
    assert_snapshot!(edges(&reading), @r"
    1.1 <-
    1.2 <-
    2 <- 1.1 1.2
    3.1 <- 2 3.3
    3.2 <- 2 3.1
    3.3 <- 2
    4 <- 2 3.2
    ");
    assert_snapshot!("graph_problems", said(&reading));
}

#[test]
fn every_form_of_waves_that_was_seen_is_read() {
    let plain = edges(&with_graph(
        "```json\n{\"waves\":[{\"id\":0,\"tasks\":[\"1.2\"]},{\"id\":1,\"tasks\":[\"1.1\"]}]}\n```",
    ));
    assert!(plain.contains("1.1 <- 1.2\n"), "{plain}");
    for graph in [
        "```json\n{\"waves\":[{\"wave\":1,\"description\":\"x\",\"tasks\":[\"1.2\"]},{\"wave\":2,\"note\":\"y\",\"depends_on\":[1],\"tasks\":[\"1.1\"]}]}\n```",
        "```\n{\"waves\":[[\"1.2\"],[\"1.1\"]]}\n```",
        "~~~json\n{\"waves\":[{\"tasks\":[{\"id\":\"1.2\"}]},{\"tasks\":[1.1]}]}\n~~~",
    ] {
        assert_eq!(edges(&with_graph(graph)), plain, "{graph}");
    }
}

#[test]
fn a_graph_that_is_not_one_leaves_the_order_of_the_file() {
    let order = edges(&with_graph("")).replace("## Task", "");
    assert!(order.contains("1.2 <- 1.1\n2 <- 1.2\n3.1 <- 2\n"), "{order}");
    for graph in [
        "1.1 -> 1.2 -> 3.1",
        "```json\n{\"waves\": [\n```",
        "```json\n{\"waves\": []}\n```",
        "```json\n{\"waves\": 3}\n```",
    ] {
        let reading = with_graph(graph);
        assert_eq!(edges(&reading), order, "{graph}");
        assert!(said(&reading).contains("the order of the file counts"), "{graph}");
    }
}

#[test]
fn waves_that_are_too_large_leave_the_order_of_the_file() {
    let names: Vec<String> = (1..=1000).map(|nth| format!("1.{nth}")).collect();
    let tasks: String = names.iter().map(|name| format!("- [ ] {name} x\n")).collect();
    let wave = |names: &[String]| {
        format!("[{}]", names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(","))
    };
    let graph = format!("```json\n{{\"waves\":[{},{}]}}\n```\n", wave(&names[..500]), wave(&names[500..]));
    let reading = list(&format!("{tasks}\n{graph}"));
    assert!(said(&reading).contains("these waves are too large"));
    assert!(reading.plan.tasks.iter().all(|task| task.depends_on.len() <= 1));
}
