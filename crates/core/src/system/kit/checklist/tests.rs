//! Boxes as people and models write them.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::place;

/// The items as `mark id-and-text`, with what is unusual about them.
fn items(text: &str) -> Vec<String> {
    let list = scan(text);
    let told = list.items().map(|(_, line, item)| {
        let optional = if item.optional { " optional" } else { "" };
        let struck = if item.struck { " struck" } else { "" };
        let ordinal = item.ordinal.clone().map(|at| format!("{}: ", &text[at])).unwrap_or_default();
        format!("{:?}{optional}{struck} {ordinal}{}", item.mark, &text[line.text.clone()])
    });
    told.collect()
}

/// The problems as `line:column message (label)`.
fn problems(text: &str) -> Vec<String> {
    let told = scan(text).problems.into_iter().map(|problem| {
        assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
        let (line, column) = place(text, problem.span.start);
        format!("{line}:{column} {} ({})", problem.message, problem.label)
    });
    told.collect()
}

fn kinds(text: &str) -> String {
    let kind = |line: &Line| match &line.kind {
        Kind::Blank => '.',
        Kind::Heading(_) => 'h',
        Kind::Item(_) => 'i',
        Kind::Bullet => 'b',
        Kind::Text => 't',
        Kind::Rule => 'r',
        Kind::Code => 'c',
        Kind::Comment => 'm',
        Kind::Quote => 'q',
        Kind::Table => 'T',
        Kind::FrontMatter => 'f',
    };
    scan(text).lines.iter().map(kind).collect()
}

#[test]
fn plain_boxes_are_read_without_a_word() {
    let text =
        "- [ ] a\n* [x] b\n+ [X] c\n1. [ ] d\n2) [x] e\n-\t[ ]\tf\n-\u{a0}[ ] g\n   - [ ] h\n\t- [ ]* i";
    assert_eq!(
        items(text),
        [
            "Open a",
            "Done b",
            "Done c",
            "Open 1: d",
            "Done 2: e",
            "Open f",
            "Open g",
            "Open h",
            "Open optional i"
        ]
    );
    assert_eq!(problems(text), [""; 0]);
    let indents: Vec<usize> = scan(text).lines.iter().map(|line| line.indent).collect();
    assert_eq!(indents, [0, 0, 0, 0, 0, 0, 0, 3, 4]);
}

#[test]
fn only_x_is_done_and_every_other_mark_is_told() {
    for (sign, mark) in [
        ("-", Mark::InProgress),
        ("~", Mark::Partial),
        ("/", Mark::Other),
        (">", Mark::Other),
        ("!", Mark::Other),
        ("?", Mark::Other),
        ("D", Mark::Other),
        ("ж", Mark::Other),
        ("✓", Mark::Done),
        ("✔\u{fe0f}", Mark::Done),
        ("✅", Mark::Done),
        ("âœ…", Mark::Done),
    ] {
        let text = format!("- [{sign}] 1. a\n");
        let list = scan(&text);
        let (_, _, item) = list.items().next().expect("a box");
        assert_eq!(item.mark, mark, "{sign}");
        assert_eq!(&text[item.place.clone()], sign);
        assert_eq!(problems(&text).len(), 1, "{sign}");
    }
}

#[test]
fn slips_of_the_hand_are_boxes_all_the_same() {
    for (text, read) in [
        ("- [] 1. a", "Open 1. a"),
        ("-[ ] 1. a", "Open 1. a"),
        ("- [  ] 1. a", "Open 1. a"),
        ("- [x ] 1. a", "Done 1. a"),
        ("- [ x] 1. a", "Done 1. a"),
        ("- [ ]1. a", "Open 1. a"),
        ("[ ] 1. a", "Open 1. a"),
        ("### [x] 1. a", "Done 1. a"),
        ("- 1.1 [x] a", "Done 1.1: a"),
        ("- **1.1** [ ] a", "Open 1.1: a"),
        ("1.1 [ ] a", "Open 1.1: a"),
        ("- [done] 1. a", "Other 1. a"),
        ("- [xx] 1. a", "Other 1. a"),
        ("- [x 1.1 a", "Other 1.1 a"),
    ] {
        assert_eq!(items(text), [read], "{text}");
        assert_eq!(problems(text).len(), 1, "{text}: {:?}", problems(text));
    }
}

#[test]
fn links_and_words_in_brackets_are_no_boxes() {
    let text = "- [x](http://x)\n- [a][b]\n- [link](y) 1. z\n- [WIP] soon\n- [^1] note\n- `[ ]` is a box\n[x]: http://x\n- a[x] = 1\n";
    assert_eq!(items(text), [""; 0]);
    assert_eq!(problems(text), [""; 0]);
}

#[test]
fn a_box_in_the_middle_of_a_line_is_told() {
    assert_eq!(
        problems("- **Status**: [x] Completed\n"),
        ["1:15 this box is in the middle of a line (not read as a task)"]
    );
    assert_eq!(scan("- **Status**: [x] Completed\n").ignored.len(), 1);
}

#[test]
fn what_is_crossed_out_is_dropped() {
    for text in ["~~- [x] 1.1 old~~", "- [x] ~~1.1 old~~", "- [x] 1.1 ~~old~~", "- ~~[x] 1.1 old~~"] {
        let list = scan(text);
        let (_, line, item) = list.items().next().expect("a box");
        assert!(item.struck, "{text}");
        assert!(text[line.text.clone()].starts_with("1.1"), "{text}");
        assert_eq!(problems(text).len(), 1, "{text}");
    }
    assert_eq!(items("- [x] 1.1 ~~old~~ new"), ["Done 1.1 ~~old~~ new"]);
}

#[test]
fn a_status_behind_the_text_is_advice_and_disagreement_is_told() {
    for (text, read) in [
        ("- [x] a ✅", "Done a"),
        ("- [x] a (Pre-existing)", "Done a"),
        ("- [x] a <!-- DONE: 3 iterations -->", "Done a"),
        ("- [ ] a (Skipped - no time)", "Open a"),
        ("- [ ] a <!-- IN_PROGRESS: iteration 4 -->", "Open a"),
        ("- [x] a âœ…", "Done a"),
        ("- [ ] a (with care)", "Open a (with care)"),
        ("- [ ] a <!-- about b -->", "Open a"),
    ] {
        assert_eq!(items(text), [read], "{text}");
        assert_eq!(problems(text), [""; 0], "{text}");
    }
    for text in ["- [ ] a ✅", "- [x] a âŒ", "- [x] a (Skipped - no time)", "- [ ] a <!-- DONE -->"] {
        assert_eq!(problems(text).len(), 1, "{text}");
        assert!(problems(text)[0].ends_with("(the box decides)"));
    }
}

#[test]
fn boxes_in_code_comments_quotes_and_tables_are_no_items() {
    let text = "---\ntitle: x\n---\n# h\n```md\n- [ ] 1. a\n```\n<!-- - [ ] 2. b\n- [ ] 3. c\n-->\n> - [ ] 4. d\n| - [ ] 5. e |\n~~~\n- [ ] f\n~~~\n- [ ] 6. g\n";
    assert_eq!(kinds(text), "fffhcccmmmqTccci");
    assert_eq!(items(text), ["Open 6. g"]);
    assert_eq!(
        problems(text),
        [
            "6:1 this looks like a task, but is in code (not read as one)",
            "8:1 this looks like a task, but is in a comment (not read as one)",
            "9:1 this looks like a task, but is in a comment (not read as one)",
            "11:1 this looks like a task, but is in a quote (not read as one)",
            "12:1 this looks like a task, but is in a table (not read as one)",
        ]
    );
    assert_eq!(scan(text).ignored.len(), 6);
}

#[test]
fn code_that_is_never_closed_swallows_nothing() {
    assert_eq!(items("- [ ] 1. a\n  ```sh\n  x\n- [ ] 2. b\n"), ["Open 1. a", "Open 2. b"]);
    assert_eq!(problems("```\n- [ ] 1. a\n").len(), 1);
    // Another block comes later, and its end is not the first one's.
    let text = "- [ ] 1. a\n  ```sh\n  x\n- [ ] 2. b\n  ```sh\n  y\n  ```\n- [ ] 3. c\n";
    assert_eq!(items(text), ["Open 1. a", "Open 2. b", "Open 3. c"]);
    assert_eq!(problems(text).len(), 1);
    let text = "- [ ] 1. a\n  ```\n  x\n- [ ] 2. b\n  ```\n  y\n  ```\n- [ ] 3. c\n";
    assert_eq!(items(text), ["Open 1. a", "Open 2. b", "Open 3. c"]);
    assert_eq!(items("<!-- a\n- [ ] 1. b\n"), ["Open 1. b"]);
    assert_eq!(problems("<!-- a\n- [ ] 1. b\n").len(), 1);
}

#[test]
fn a_rule_at_the_start_is_no_front_matter() {
    assert_eq!(kinds("---\n\n- [ ] 1. a\n\n---\n- [ ] 2. b\n"), "r.i.ri");
    assert_eq!(kinds("---\n# Tasks\n---\n"), "rhr");
    assert_eq!(kinds("---\nname: x\ntags:\n  - a\n---\ntext\n"), "ffffft");
}

#[test]
fn numbers_are_read_in_every_spelling() {
    for (text, id, rest) in [
        ("1. Name", "1", "Name"),
        ("1 Name", "1", "Name"),
        ("1) Name", "1", "Name"),
        ("1: Name", "1", "Name"),
        ("1\u{ff1a}Name", "1", "Name"),
        ("**1.** Name", "1", "Name"),
        ("**1. Name**", "1", "Name**"),
        ("**Task 1:** Name", "1", "Name"),
        ("Task 1: Name", "1", "Name"),
        ("1.10 Name", "1.10", "Name"),
        ("1.1.1.2. Name", "1.1.1.2", "Name"),
        ("1.f1 Name", "1.f1", "Name"),
        ("1a. Name", "1a", "Name"),
        ("0. Create Feature Branch", "0", "Create Feature Branch"),
        ("T001 Name", "T001", "Name"),
        ("T0S1 Name", "T0S1", "Name"),
        ("WP02 Name", "WP02", "Name"),
        ("R1: Name", "R1", "Name"),
        ("L2-003 Name", "L2-003", "Name"),
        ("US-001 Name", "US-001", "Name"),
        ("TASK-2.7.1: Name ✅", "TASK-2.7.1", "Name ✅"),
        ("1.Name", "1", "Name"),
        ("1.", "1", ""),
    ] {
        assert_eq!(number(text), Some((id, rest)), "{text}");
    }
    for text in [
        "Name",
        "3rd party",
        "10% faster",
        "S3 upload",
        "3D view",
        "UTF-8 text",
        "2024-01-01 release",
        "1/2",
        "TTFB",
        "Turborepo",
        "OAuth2 login",
        "Title",
        "",
        "- 1",
        "task force",
    ] {
        assert_eq!(number(text), None, "{text}");
    }
}

#[test]
fn ticking_changes_the_mark_and_nothing_else() {
    let bytes = b"\xef\xbb\xbf# T\r\n- [ ] 1. a\r\n\xff- [] 2. b\r- [ ]* 3. \xe2\x9c\x85\n- [~] 4. d";
    let decoded = crate::system::kit::text::decode(bytes);
    let list = scan(&decoded.text);
    let marks: Vec<_> = list.items().map(|(_, _, item)| (item.place.clone(), Mark::Done)).collect();
    let new = tick(bytes, &decoded.text, &marks).expect("a text");
    let expected = b"\xef\xbb\xbf# T\r\n- [x] 1. a\r\n\xff- [] 2. b\r- [x]* 3. \xe2\x9c\x85\n- [x] 4. d";
    assert_eq!(new.escape_ascii().to_string(), expected.escape_ascii().to_string());
    assert_eq!(tick(bytes, &decoded.text, &[]).as_deref(), Some(&bytes[..]));
    assert_eq!(tick(b"\xff\xfe-\0", "-", &[(0..1, Mark::Done)]), None, "UTF-16 is not written");
    assert_eq!(tick(b"- [x]", "- [ ]", &[(3..4, Mark::Done)]), None, "what was read does not exist");
    assert_eq!(tick(b"- []", "- []", &[(3..3, Mark::Done)]).as_deref(), Some(&b"- [x]"[..]));
}

/// What a person would count: lines that begin with a bullet and a pair of brackets around at most one character.
pub(crate) fn naive(text: &str) -> usize {
    let is_box = |line: &&str| {
        let line = line.trim_start();
        let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
        let counted = digits.len() < line.len() && line.len() - digits.len() <= 9;
        let after =
            line.strip_prefix(['-', '*', '+']).or(digits.strip_prefix(['.', ')']).filter(|_| counted));
        let Some(inside) = after.map(str::trim_start).and_then(|rest| rest.strip_prefix('[')) else {
            return false;
        };
        let mut chars = inside.chars();
        let behind = match chars.next() {
            Some(']') => chars.as_str(),
            Some(_) if chars.next() == Some(']') => chars.as_str(),
            _ => return false,
        };
        behind.is_empty() || behind.starts_with(' ')
    };
    text.lines().filter(is_box).count()
}

fn piece() -> impl Strategy<Value = String> {
    let fixed = prop::sample::select(vec![
        "- [ ] ",
        "- [x] ",
        "* [-] ",
        "+ [~] ",
        "1. [ ] ",
        "2) [X] ",
        "- [] ",
        "  - [ ] ",
        "\t- [x] ",
        "-[ ] ",
        "1.1 ",
        "1. ",
        "~~",
        "\n",
        "\n",
        "\n\n",
        "```",
        "```sh\n",
        "~~~\n",
        "<!--",
        "-->",
        "> ",
        "| ",
        "---\n",
        "# Tasks\n",
        "[ ]",
        "[",
        "]",
        "`",
        "*",
        " ✅",
        "text",
        "[x](y)",
        "\u{a0}",
        "key: value\n",
    ]);
    prop_oneof![8 => fixed.prop_map(str::to_owned), 1 => "[ -~\u{80}-\u{2000}]{0,6}"]
}

proptest! {
    #[test]
    fn no_box_is_lost(pieces in prop::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let list = scan(&text);
        prop_assert!(naive(&text) <= list.items().count() + list.ignored.len() + list.problems.len(), "{text:?}");
        let mut end = 0;
        for line in &list.lines {
            prop_assert!(line.at.start >= end && line.at.start <= line.text.start && line.text.end <= line.at.end);
            prop_assert!(text.get(line.text.clone()).is_some());
            end = line.at.end;
        }
        prop_assert_eq!(list.lines.len(), text.lines().count());
        for problem in &list.problems {
            prop_assert!(text.get(problem.span.clone()).is_some(), "{problem:?}");
        }
    }

    #[test]
    fn what_is_ticked_is_read_as_ticked(pieces in prop::collection::vec(piece(), 0..30), picks in any::<u64>()) {
        let text = pieces.concat();
        let list = scan(&text);
        let picked: Vec<(usize, Range<usize>, Mark)> = list.items().enumerate().filter(|(nth, _)| picks >> (nth % 64) & 1 == 1)
            .map(|(_, (nth, _, item))| (nth, item.place.clone(), if nth % 2 == 0 { Mark::Done } else { Mark::Open })).collect();
        let marks: Vec<_> = picked.iter().map(|(_, place, mark)| (place.clone(), *mark)).collect();
        let new = tick(text.as_bytes(), &text, &marks).expect("text");
        let new = String::from_utf8(new).expect("text");
        let again = scan(&new);
        prop_assert_eq!(again.lines.len(), list.lines.len());
        for (nth, _, mark) in picked {
            if let (Kind::Item(then), Kind::Item(now)) = (&list.lines[nth].kind, &again.lines[nth].kind) {
                // A box without its closing bracket stays as it was.
                prop_assert!(now.mark == mark || then.mark == Mark::Other, "{text:?} {new:?}");
            }
        }
    }
}

/// Hostile shapes, each of two megabytes: every one takes time that grows with its size, or this would never end.
#[test]
fn large_files_are_read_line_by_line() {
    for part in [
        "- [ ] 1.1 Name of a task\n  - a detail of it\n",
        "```\n",
        "````sh\n```\n",
        "<!-- \n",
        "~~~a\n",
        "- [ ",
        "[",
        "<!--",
        "1.",
    ] {
        let text = part.repeat((2 << 20) / part.len());
        assert_eq!(scan(&text).lines.len(), text.lines().count());
    }
}
