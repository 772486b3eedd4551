use proptest::prelude::*;

use super::*;

fn node(id: &str, group: &str, status: Status, after: &[&str]) -> Node {
    Node {
        id: TaskId::new(id).expect("a valid id"),
        title: format!("Do {id}"),
        group: (!group.is_empty()).then(|| group.to_owned()),
        status,
        after: after.iter().map(|id| TaskId::new(id).expect("a valid id")).collect(),
    }
}

fn small() -> Vec<Node> {
    vec![
        node("T1", "1-base", Status::Completed, &[]),
        node("T2", "1-base", Status::Completed, &["T1"]),
        node("T3", "2-walls", Status::InProgress, &["T1"]),
        node("T4", "2-walls", Status::Blocked, &["T1", "T2"]),
        node("T5", "3-roof", Status::Unreachable, &["T3", "T4", "gone"]),
        node("T6", "3-roof", Status::Pending, &[]),
    ]
}

/// Tasks `T0`, `T1`, … in groups of so many, each after some of those before it.
fn many(count: usize, per_group: usize, after: impl Fn(usize) -> Vec<usize>) -> Vec<Node> {
    let nodes = (0..count).map(|at| {
        let group = at.checked_div(per_group).map(|group| format!("g{group}")).unwrap_or_default();
        let after: Vec<String> = after(at).into_iter().map(|need| format!("T{need}")).collect();
        let after: Vec<&str> = after.iter().map(String::as_str).collect();
        node(&format!("T{at}"), &group, Status::Pending, &after)
    });
    nodes.collect()
}

fn lines(nodes: &[Node], extent: Extent) -> String {
    let rows = rows(nodes, extent);
    let lines: Vec<String> = rows.rows.iter().map(Row::to_string).collect();
    let Rows { layers, folded, left_out, .. } = rows;
    format!("{}\nlayers {layers}, folded {folded}, left out {left_out}", lines.join("\n"))
}

#[test]
fn a_task_stands_below_the_last_that_it_waits_for() {
    insta::assert_snapshot!(lines(&small(), Extent::Folded));
}

#[test]
fn a_large_plan_shows_its_groups() {
    let nodes = many(70, 10, |at| if at % 10 == 0 && at > 0 { vec![at - 1, 5] } else { Vec::new() });
    insta::assert_snapshot!(lines(&nodes, Extent::Folded));
    assert_eq!(rows(&nodes, Extent::EveryTask).rows.len(), 70);
}

#[test]
fn a_small_group_of_a_large_plan_stays_open() {
    let mut nodes = many(70, 35, |_| Vec::new());
    nodes.push(node("U1", "few", Status::Failed, &["T3"]));
    nodes.push(node("U2", "few", Status::Pending, &["T40", "U1"]));
    insta::assert_snapshot!(lines(&nodes, Extent::Folded));
}

#[test]
fn without_groups_a_large_plan_is_cut() {
    let shown = rows(&many(100, 0, |_| Vec::new()), Extent::Folded);
    assert_eq!((shown.rows.len(), shown.folded, shown.left_out), (60, 0, 40));
}

#[test]
fn a_long_chain_goes_on_at_the_margin() {
    let nodes = many(30, 0, |at| at.checked_sub(1).into_iter().collect());
    let shown = rows(&nodes, Extent::Folded);
    assert!(shown.rows.iter().all(|row| row.to_string().chars().count() <= 80));
    let breaks: Vec<String> =
        shown.rows.iter().filter(|row| row.status.is_none()).map(Row::to_string).collect();
    assert_eq!(breaks, ["after T12:", "after T25:"]);
    assert_eq!(shown.rows.iter().map(|row| row.tasks).sum::<usize>(), 30);
}

#[test]
fn groups_that_wait_for_each_other_are_shown() {
    let nodes = many(80, 40, |at| {
        if at == 5 {
            vec![45]
        } else if at == 46 {
            vec![6]
        } else {
            Vec::new()
        }
    });
    insta::assert_snapshot!(lines(&nodes, Extent::Folded));
}

#[test]
fn dot_has_a_cluster_for_each_group() {
    insta::assert_snapshot!(dot(&small()[..3]));
}

#[test]
fn mermaid_has_a_subgraph_for_each_group() {
    insta::assert_snapshot!(mermaid(&small()[..3]));
}

#[test]
fn a_picture_has_a_box_for_each_task() {
    insta::assert_snapshot!(svg(&small()[..3], "house"));
}

/// What a title may hold, and what it would do where it is not escaped.
const HOSTILE: &str = "\"]; end %%{init}%% <script>alert(1)</script> \\N & 'x' \u{1b}[31m\u{0}\n`b` -->";

#[test]
fn titles_and_groups_cannot_break_out() {
    let mut nodes = small();
    nodes[0].title = HOSTILE.to_owned();
    nodes[0].group = Some(HOSTILE.to_owned());
    let (dot, mermaid, svg) = (dot(&nodes), mermaid(&nodes), svg(&nodes, HOSTILE));
    for text in [&dot, &mermaid, &svg] {
        let is_odd = |c: char| c.is_control() && c != '\n';
        assert!(!text.contains(is_odd), "{text}");
    }
    assert!(
        dot.contains(r#"label="T1\n\"]; end %%{init}%% <script>alert(1)</script> \\N & 'x'  [31m  `b` -->""#),
        "{dot}"
    );
    for sign in ["<script", "%%", "`", "]; ", "\\N"] {
        assert!(!mermaid.contains(sign), "{sign} in\n{mermaid}");
    }
    assert!(mermaid.contains("#60;script#62;"), "{mermaid}");
    assert!(!svg.contains("<script"), "{svg}");
    assert_eq!(svg.matches('<').count(), svg.matches('>').count(), "{svg}");
    assert!(svg.contains("&lt;script&gt;alert(1)&lt;/script&gt; \\N &amp; &#39;x&#39;"), "{svg}");
}

#[test]
fn a_wide_layer_becomes_a_block() {
    let layout = layout(&many(8000, 0, |_| Vec::new()));
    assert!((40.0..60.0).contains(&layout.width), "{}", layout.width);
    assert!((150.0..200.0).contains(&layout.height), "{}", layout.height);
}

#[test]
fn chains_side_by_side_are_straight() {
    let nodes = many(40, 0, |at| at.checked_sub(8).into_iter().collect());
    let layout = layout(&nodes);
    for &(from, to) in &layout.edges {
        let (from, to) = (&layout.nodes[from as usize], &layout.nodes[to as usize]);
        assert_eq!((from.y, from.x + 1.0), (to.y, to.x), "{} and {}", from.id, to.id);
    }
}

#[test]
fn an_empty_plan_has_an_empty_drawing() {
    assert_eq!(layout(&[]), Layout::default());
    assert_eq!(rows(&[], Extent::Folded), Rows::default());
}

fn plans() -> impl Strategy<Value = Vec<Node>> {
    let task = (prop::collection::vec(any::<prop::sample::Index>(), 0..4), 0..5_usize);
    // One in four may close a circle.
    (prop::collection::vec(task, 1..60), 0..4_u8).prop_map(|(tasks, circles)| {
        let count = tasks.len();
        let nodes = tasks.iter().enumerate().map(|(at, (needs, group))| {
            let bound = if circles == 0 { count } else { at };
            let needs =
                needs.iter().filter(|_| bound > 0).map(|need| format!("T{}", need.index(bound.max(1))));
            let needs: Vec<String> = needs.collect();
            let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
            let group = if *group == 0 { String::new() } else { format!("g{group}") };
            node(&format!("T{at}"), &group, Status::ALL[at % Status::ALL.len()], &needs)
        });
        nodes.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edges_lead_to_later_layers_and_nothing_overlaps(nodes in plans()) {
        let layout = layout(&nodes);
        prop_assert_eq!(layout.nodes.len(), nodes.len());
        for &(from, to) in &layout.edges {
            let (from, to) = (&layout.nodes[from as usize], &layout.nodes[to as usize]);
            prop_assert!(from.layer < to.layer && from.x + 1.0 <= to.x, "{} and {}", from.id, to.id);
        }
        for (at, one) in layout.nodes.iter().enumerate() {
            prop_assert!(one.x >= 0.0 && one.y >= 0.0 && one.x + 1.0 <= layout.width && one.y + 1.0 <= layout.height);
            for other in &layout.nodes[at + 1..] {
                let apart = (one.x - other.x).abs() >= 1.0 || (one.y - other.y).abs() >= 1.0;
                prop_assert!(apart, "{} and {}", one.id, other.id);
            }
        }
        for (at, frame) in layout.groups.iter().enumerate() {
            for (nth, placed) in layout.nodes.iter().enumerate() {
                let is_inside = placed.x + 1.0 > frame.x && placed.x < frame.x + frame.width
                    && placed.y + 1.0 > frame.y && placed.y < frame.y + frame.height;
                prop_assert_eq!(is_inside, frame.members.contains(&u32::try_from(nth).expect("few")));
            }
            for other in &layout.groups[at + 1..] {
                let apart = frame.x + frame.width <= other.x || other.x + other.width <= frame.x
                    || frame.y + frame.height <= other.y || other.y + other.height <= frame.y;
                prop_assert!(apart, "{} and {}", frame.name, other.name);
            }
        }
    }

    #[test]
    fn the_order_of_the_tasks_does_not_matter(
        (nodes, other) in plans().prop_flat_map(|nodes| (Just(nodes.clone()), Just(nodes).prop_shuffle())),
    ) {
        let places = |layout: &Layout| {
            let mut nodes = layout.nodes.clone();
            nodes.sort_by(|a, b| a.id.cmp(&b.id));
            nodes
        };
        let (one, two) = (layout(&nodes), layout(&other));
        prop_assert_eq!(places(&one), places(&two));
        prop_assert_eq!(one.edges.len(), two.edges.len());
        prop_assert_eq!(rows(&nodes, Extent::Folded), rows(&other, Extent::Folded));
    }

    /// petgraph as the oracle: the layer is the length of the longest way to a task.
    #[test]
    fn a_layer_is_the_longest_way(nodes in plans()) {
        let position = |id: &TaskId| nodes.iter().position(|node| node.id == *id).expect("known");
        let edges = nodes.iter().enumerate().flat_map(|(at, node)| {
            node.after.iter().map(move |need| (position(need) as u32, at as u32)).collect::<Vec<_>>()
        });
        let graph = petgraph::graph::DiGraph::<(), ()>::from_edges(edges);
        let layout = layout(&nodes);
        if let Ok(order) = petgraph::algo::toposort(&graph, None) {
            let mut longest = vec![0; nodes.len()];
            for at in order {
                for next in graph.neighbors(at) {
                    longest[next.index()] = longest[next.index()].max(longest[at.index()] + 1);
                }
            }
            let layers: Vec<u32> = layout.nodes.iter().map(|placed| placed.layer).collect();
            prop_assert_eq!(layers, longest);
            let mut needs: Vec<_> = nodes.iter().map(|node| node.after.clone()).collect();
            needs.iter_mut().for_each(|needs| { needs.sort(); needs.dedup(); });
            prop_assert_eq!(layout.edges.len(), needs.iter().map(Vec::len).sum::<usize>());
        }
    }

    #[test]
    fn every_task_has_one_line(nodes in plans()) {
        let shown = rows(&nodes, Extent::EveryTask);
        let mut labels: Vec<TaskId> = shown.rows.iter().filter(|row| row.status.is_some())
            .map(|row| TaskId::new(&row.label).expect("an id")).collect();
        labels.sort();
        let mut ids: Vec<TaskId> = nodes.iter().map(|node| node.id.clone()).collect();
        ids.sort();
        prop_assert_eq!(labels, ids);
        prop_assert_eq!((shown.folded, shown.left_out), (0, 0));
    }
}
