//! The screen without a terminal: what keys do, and what is drawn.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use piton_core::plan::TaskId;
use piton_core::run::Status;
use piton_core::time::Timestamp;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use crate::screen::draw::draw;
use crate::screen::model::{Effect, Model, Msg, update};
use crate::screen::picture::Picture;
use crate::screen::picture::testing::{Sketch, sketch};
use crate::screen::text::{Ink, Text};
use crate::screen::view::{Tab, View};

const SMALL: (u16, u16) = (50, 15);
const USUAL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);

fn expedition() -> Picture {
    use Status::*;
    let tasks = &[
        ("F1", "Pitch the tent", 0, Completed),
        ("F2", "Tie the rope", 0, Completed),
        ("F3", "Weigh the packs, with a title that does not fit into any tree of a usual size", 0, Failed),
        ("A1", "Climb the first pitch", 1, Verifying),
        ("A2", "日本語の題名 and \u{1b}[31mred\u{7}", 1, InProgress),
        ("A3", "Rest", 1, Blocked),
        ("B1", "Climb the second pitch", 1, Merging),
        ("G1", "Write the report", 2, Pending),
    ];
    sketch(&Sketch { groups: &["1-base", "2-climb", "3-home"], tasks })
}

/// A model that shows the expedition, without what it asked for.
fn model(size: (u16, u16)) -> Model {
    let mut model = Model::new(size, Timestamp(300_000), Vec::new());
    let _ = update(&mut model, Msg::Picture(Box::new(expedition())));
    let _ = update(&mut model, Msg::Waiting(2));
    model
}

pub(super) fn press(model: &mut Model, keys: &str) -> Vec<Effect> {
    let mut effects = Vec::new();
    for key in keys.chars() {
        let code = match key {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\u{1b}' => KeyCode::Esc,
            '↓' => KeyCode::Down,
            '↑' => KeyCode::Up,
            '→' => KeyCode::Right,
            '←' => KeyCode::Left,
            '⌫' => KeyCode::Backspace,
            key => KeyCode::Char(key),
        };
        effects.extend(update(model, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE))));
    }
    effects
}

/// Give each view that was asked for a text of its own.
fn fill(model: &mut Model, effects: &[Effect]) {
    let Some(views) = effects.iter().rev().find_map(|effect| match effect {
        Effect::Look(views) => Some(views.clone()),
        _ => None,
    }) else {
        return;
    };
    for view in views {
        let name = format!("{:?} of {}", view.tab, view.task.as_ref().map_or("the run", TaskId::as_str));
        let mut lines = vec![Text::new(Ink::Bold, &name), Text::default()];
        lines.extend(Text::lines(
            Ink::Plain,
            "One line, and then one that is so long that it is broken at a space.",
        ));
        lines.push(Text::command("piton retry A3   tries it again"));
        lines.push(Text::command("piton run plan.toml   resumes it"));
        let _ = update(model, Msg::Whole(view, lines));
    }
}

fn shown(model: &Model) -> String {
    let (columns, rows) = model.size();
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal in memory");
    terminal.draw(|frame| draw(model, frame)).expect("it is only memory");
    terminal.backend().to_string()
}

fn looked_at(effects: &[Effect]) -> Vec<(Tab, Option<String>)> {
    let views = effects.iter().rev().find_map(|effect| match effect {
        Effect::Look(views) => Some(views),
        _ => None,
    });
    let told = |view: &View| (view.tab, view.task.as_ref().map(ToString::to_string));
    views.into_iter().flatten().map(told).collect()
}

#[test]
fn a_usual_terminal_shows_the_tasks_and_one_view() {
    let mut model = model(USUAL);
    let effects = press(&mut model, "↓↓");
    fill(&mut model, &effects);
    insta::assert_snapshot!(shown(&model));
}

#[test]
fn a_large_terminal_shows_the_output_beside_the_detail() {
    let mut model = model(LARGE);
    let effects = press(&mut model, "n");
    assert_eq!(
        looked_at(&effects),
        [(Tab::Detail, Some("A1".to_owned())), (Tab::Output, Some("A1".to_owned()))]
    );
    fill(&mut model, &effects);
    insta::assert_snapshot!(shown(&model));
}

#[test]
fn a_small_terminal_shows_one_part_at_a_time() {
    let mut model = model(SMALL);
    insta::assert_snapshot!("small_tree", shown(&model));
    let effects = press(&mut model, "\n");
    fill(&mut model, &effects);
    insta::assert_snapshot!("small_detail", shown(&model));
    let effects = press(&mut model, "5");
    fill(&mut model, &effects);
    insta::assert_snapshot!("small_inbox", shown(&model));
    let _ = press(&mut model, "\u{1b}");
    assert!(shown(&model).contains("Pitch the tent"), "back at the tasks");
}

#[test]
fn any_size_can_be_drawn_with_anything_open() {
    for keys in ["", "\n", "?", "r", "A", "/ti", "2/x", "a", "\t\t\t", "v↓", "5\n", "t", "tt"] {
        for columns in [1, 2, 3, 7, 20, 49, 79, 80, 81, 159, 160, 250] {
            for rows in [1, 2, 3, 4, 5, 14, 60] {
                let mut model = model((columns, rows));
                let effects = press(&mut model, keys);
                fill(&mut model, &effects);
                let _ = shown(&model);
            }
        }
    }
}

#[test]
fn what_plans_and_agents_write_is_not_obeyed() {
    let mut model = model(LARGE);
    let effects = press(&mut model, "n↓");
    let Some(Effect::Look(views)) = effects.last() else { panic!("{effects:?}") };
    let evil = Text::lines(Ink::Plain, "clear \u{1b}[2J title \u{1b}]0;x\u{7} bell \u{7} bidi \u{202e}x");
    let _ = update(&mut model, Msg::Whole(views[0].clone(), evil));
    let shown = shown(&model);
    assert!(!shown.contains(|c: char| c != '\n' && piton_core::terminal::misleads(c)), "{shown:?}");
    assert!(shown.contains("clear  title  bell  bidi x"), "{shown}");
}

#[test]
fn keys_move_and_what_is_visible_is_read() {
    let mut model = model(USUAL);
    // At first the first task that goes on or needs somebody.
    assert_eq!(model.selected().map(TaskId::as_str), Some("F3"));
    assert_eq!(looked_at(&press(&mut model, "n")), [(Tab::Detail, Some("A1".to_owned()))]);
    assert_eq!(looked_at(&press(&mut model, "\t")), [(Tab::Output, Some("A1".to_owned()))]);
    assert_eq!(looked_at(&press(&mut model, "j")), [(Tab::Output, Some("A2".to_owned()))]);
    assert_eq!(looked_at(&press(&mut model, "7")), [(Tab::Journal, None)]);
    assert_eq!(press(&mut model, "j"), [], "the keys are in the text now");
    let _ = press(&mut model, "h");
    assert_eq!(press(&mut model, "j"), [], "the journal is the same, whatever is selected");
    assert_eq!(looked_at(&press(&mut model, "1")), [(Tab::Detail, Some("A3".to_owned()))]);
    let small = |model: &mut Model| update(model, Msg::Resize(50, 15));
    let _ = press(&mut model, "\u{1b}");
    assert_eq!(looked_at(&small(&mut model)), [], "only the tasks are visible");
}

#[test]
fn the_timeline_is_of_the_run_or_of_the_selected_task_and_is_drawn_for_its_width() {
    let mut model = model(USUAL);
    assert_eq!(looked_at(&press(&mut model, "t")), [(Tab::Timeline, None)]);
    let asked = update(&mut model, Msg::Resize(120, 24));
    let [Effect::Look(views)] = &asked[..] else { panic!("it is drawn again: {asked:?}") };
    assert_eq!(views[0].columns, 120 - 48 - 1 - 2);
    assert_eq!(looked_at(&press(&mut model, "t")), [(Tab::Timeline, Some("F3".to_owned()))]);
    assert_eq!(looked_at(&press(&mut model, "hn")), [(Tab::Timeline, Some("A1".to_owned()))]);
    assert_eq!(looked_at(&press(&mut model, "1t")), [(Tab::Timeline, None)], "the run's first");
    assert_eq!(looked_at(&press(&mut model, "2")), [(Tab::Output, Some("A1".to_owned()))]);
    assert_eq!(looked_at(&press(&mut model, "8")), [(Tab::Timeline, None)]);
}

#[test]
fn a_text_of_another_view_is_not_shown() {
    let mut model = model(USUAL);
    let Some(Effect::Look(old)) = press(&mut model, "n").pop() else { panic!("it is read") };
    let Some(Effect::Look(new)) = press(&mut model, "n").pop() else { panic!("it is read") };
    let _ = update(&mut model, Msg::Whole(old[0].clone(), Text::lines(Ink::Plain, "of the task before")));
    assert!(shown(&model).contains("reading…"));
    let _ = update(&mut model, Msg::Whole(new[0].clone(), Text::lines(Ink::Plain, "of this task")));
    assert!(shown(&model).contains("of this task"));
    let _ = update(&mut model, Msg::Whole(new[0].clone(), Vec::new()));
    assert!(shown(&model).contains("nothing"));
}

#[test]
fn a_text_that_moves_to_another_place_is_read_again() {
    let mut model = model(LARGE);
    let effects = press(&mut model, "n");
    fill(&mut model, &effects);
    assert!(shown(&model).contains("Detail of A1") && shown(&model).contains("Output of A1"));
    assert_eq!(looked_at(&press(&mut model, "2")), [(Tab::Output, Some("A1".to_owned()))]);
    assert!(shown(&model).contains("reading…") && !shown(&model).contains("Detail of A1"));
}

#[test]
fn a_filter_is_applied_while_it_is_typed_and_escape_takes_it_back() {
    let mut model = model(USUAL);
    let _ = press(&mut model, "/climb");
    let screen = shown(&model);
    assert!(screen.contains("filter: climb 4 tasks"), "{screen}");
    assert!(!screen.contains("Pitch the tent"), "{screen}");
    let _ = press(&mut model, "⌫⌫⌫⌫⌫blocked\n");
    assert_eq!(model.selected().map(TaskId::as_str), Some("A3"));
    assert!(shown(&model).contains("Esc all tasks"));
    let _ = press(&mut model, "/xyz");
    assert!(shown(&model).contains("no task has these words"));
    let _ = press(&mut model, "\u{1b}");
    assert_eq!(model.selected().map(TaskId::as_str), Some("A3"), "the filter before");
    let _ = press(&mut model, "\u{1b}");
    assert!(shown(&model).contains("Pitch the tent"));
}

#[test]
fn a_text_can_be_searched_and_copied() {
    let mut model = model(USUAL);
    let Some(Effect::Look(views)) = press(&mut model, "n2").pop() else { panic!("it is read") };
    let text: String = (1..100).map(|n| format!("line {n}\n")).collect();
    let _ = update(&mut model, Msg::More(views[0].clone(), Text::lines(Ink::Plain, &text)));
    assert!(shown(&model).contains("line 99"), "output is followed");
    let _ = press(&mut model, "g/LINE 42\n");
    assert!(shown(&model).contains("42/99"));
    assert_eq!(press(&mut model, "y"), [Effect::Copy("line 42".to_owned())]);
    assert_eq!(press(&mut model, "v↓y"), [Effect::Copy("line 42\nline 43".to_owned())]);
    let _ = press(&mut model, "/nowhere\n");
    assert!(shown(&model).contains("`nowhere` was not found"));
    let [Effect::Copy(all)] = &press(&mut model, "Y")[..] else { panic!("all of it") };
    assert_eq!(all.lines().count(), 99);
}

#[test]
fn nothing_is_changed_without_a_confirmation_that_shows_the_command() {
    let mut model = model(USUAL);
    assert_eq!(press(&mut model, "r"), []);
    assert!(shown(&model).contains("$ piton retry F3"), "{}", shown(&model));
    assert_eq!(press(&mut model, "\u{1b}"), []);
    assert!(shown(&model).contains("nothing was changed"));
    let retry = Effect::Run { words: vec!["retry".into(), "F3".into()], typed: "piton retry F3".into() };
    assert_eq!(press(&mut model, "r\n"), [retry]);
    let told =
        |text: &str, good: bool| Msg::Ran { command: "piton retry F3".into(), text: text.into(), good };
    let _ = update(&mut model, told("12:00:00 F3 you asked to retry it", true));
    assert!(shown(&model).contains("you asked to retry it"));
    let _ = update(&mut model, told("error: F3 is in progress\n\nhint: piton stop", false));
    assert!(shown(&model).contains("✗ piton retry F3"), "{}", shown(&model));
    assert_eq!(press(&mut model, "q"), [], "a key closes it");
    assert_eq!(press(&mut model, "q"), [Effect::Leave]);
}

#[test]
fn an_answer_is_typed_into_the_command() {
    let mut model = model(USUAL);
    assert_eq!(press(&mut model, "a\n"), [], "there is no answer yet");
    assert_eq!(press(&mut model, "use v2, q"), [], "letters are no keys here");
    let _ = update(&mut model, Msg::Paste(" and\npaste".to_owned()));
    insta::assert_snapshot!(shown(&model));
    let words = ["answer", "F3", "use v2, q and paste"].map(str::to_owned).to_vec();
    let typed = "piton answer F3 'use v2, q and paste'".to_owned();
    assert_eq!(press(&mut model, "\n"), [Effect::Run { words, typed }]);
}

#[test]
fn a_command_in_a_text_can_be_run_or_copied() {
    let mut model = model(USUAL);
    let effects = press(&mut model, "n5");
    fill(&mut model, &effects);
    let _ = press(&mut model, "G");
    let _ = press(&mut model, "\n");
    assert!(shown(&model).contains("is for a shell"), "{}", shown(&model));
    assert_eq!(press(&mut model, "y"), [Effect::Copy("piton run plan.toml".to_owned())]);
    let _ = press(&mut model, "↑\n");
    assert!(shown(&model).contains("$ piton retry A3"));
    let run = Effect::Run { words: vec!["retry".into(), "A3".into()], typed: "piton retry A3".into() };
    assert_eq!(press(&mut model, "\n"), [run]);
}

#[test]
fn leaving_streaming_and_stopping_are_asked_for() {
    let mut model = model(USUAL);
    assert_eq!(press(&mut model, "s"), [Effect::Stream]);
    let control = |c| Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    assert_eq!(update(&mut model, control('z')), [Effect::Suspend]);
    let _ = press(&mut model, "/abc");
    assert_eq!(update(&mut model, control('c')), [Effect::Leave], "whatever is open");
}

#[test]
fn the_run_ends_and_trouble_is_said() {
    let mut model = model(USUAL);
    let mut over = expedition();
    over.alive = false;
    over.status = piton_core::view::RunStatus::Ended;
    let _ = update(&mut model, Msg::Picture(Box::new(over)));
    assert!(shown(&model).contains("✗ ended · 2 wait for you"), "{}", shown(&model));
    let _ = update(&mut model, Msg::Trouble(Some("the journal is gone".to_owned())));
    assert!(shown(&model).contains("the journal is gone"));
    let _ = update(&mut model, Msg::Trouble(None));
    assert!(!shown(&model).contains("the journal is gone"));
}

#[test]
fn the_keys_are_explained() {
    let mut model = model(USUAL);
    let _ = press(&mut model, "?");
    insta::assert_snapshot!(shown(&model));
}
