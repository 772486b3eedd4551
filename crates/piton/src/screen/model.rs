//! What the screen shows, and what changes it. Nothing here reads or writes anything: what is to be done is an effect.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use piton_core::plan::TaskId;
use piton_core::time::{Span, Timestamp};

use crate::screen::action::{Action, Confirmation};
use crate::screen::field::{Edit, Field};
use crate::screen::layout::{Places, places};
use crate::screen::pane::{Move, Pane};
use crate::screen::picture::Picture;
use crate::screen::text::{Ink, Text};
use crate::screen::tree::Tree;
use crate::screen::view::{Focus, Tab, View};

/// How long a message stays.
const MESSAGE: Span = Span::seconds(8);
/// Terminals take a text of this size for the clipboard; some drop a longer one.
const MOST_COPIED: usize = 50_000;

/// A pane for a view. Of some the end is what matters: they grow.
fn pane_for(tab: Tab) -> Pane {
    match tab {
        Tab::Output | Tab::Journal => Pane::following(),
        Tab::Detail | Tab::Checks | Tab::Diff | Tab::Inbox | Tab::Landing | Tab::Timeline => Pane::default(),
    }
}

/// What comes in.
#[derive(Debug)]
pub(crate) enum Msg {
    Key(KeyEvent),
    Paste(String),
    /// Columns and rows.
    Resize(u16, u16),
    Tick(Timestamp),
    Picture(Box<Picture>),
    /// The text of a view as it is now.
    Whole(View, Vec<Text>),
    /// What has come to it.
    More(View, Vec<Text>),
    /// How many things wait for a person.
    Waiting(usize),
    /// A command has ended: what it printed, and whether it did what it was asked for.
    Ran {
        command: String,
        text: String,
        good: bool,
    },
    /// The run cannot be read at the moment, and why; or it can again.
    Trouble(Option<String>),
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Read these, and go on with it.
    Look(Vec<View>),
    /// Run a command, given without the program's name.
    Run {
        words: Vec<String>,
        typed: String,
    },
    Copy(String),
    /// Leave the alternate screen and print what happens, line by line.
    Stream,
    Suspend,
    Leave,
}

/// What is typed into the last line.
#[derive(Clone, Debug)]
pub(super) enum Prompt {
    /// What the tree shows; with the filter as it was before.
    Filter { field: Field, before: String },
    /// What is searched in the pane.
    Search(Field),
}

/// What covers the rest.
#[derive(Clone, Debug)]
pub(super) enum Popup {
    Help(Pane),
    Confirm(Confirmation),
    /// What a command answered.
    Answer {
        title: String,
        good: bool,
        pane: Pane,
    },
}

#[derive(Debug)]
pub(crate) struct Model {
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) picture: Option<Picture>,
    pub(super) tree: Tree,
    pub(super) focus: Focus,
    pub(super) tab: Tab,
    pub(super) main: Pane,
    /// The output beside the detail of a task, on a wide screen.
    pub(super) beside: Pane,
    pub(super) prompt: Option<Prompt>,
    pub(super) popup: Option<Popup>,
    pub(super) message: Option<(Ink, String)>,
    message_until: Timestamp,
    pub(super) waiting: usize,
    pub(super) trouble: Option<String>,
    /// A command is running.
    pub(super) running: Option<String>,
    verbose: bool,
    /// The timeline is about the selected task alone.
    of_one: bool,
    /// The words that say which run is meant, for commands.
    which: Vec<String>,
    /// What is being read.
    looked: Vec<View>,
}

impl Model {
    pub(crate) fn new(size: (u16, u16), now: Timestamp, which: Vec<String>) -> Model {
        Model {
            size,
            now,
            picture: None,
            tree: Tree::default(),
            focus: Focus::Tree,
            tab: Tab::Detail,
            main: pane_for(Tab::Detail),
            beside: pane_for(Tab::Output),
            prompt: None,
            popup: None,
            message: None,
            message_until: now,
            waiting: 0,
            trouble: None,
            running: None,
            verbose: false,
            of_one: false,
            which,
            looked: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> (u16, u16) {
        self.size
    }

    pub(super) fn places(&self) -> Places {
        places(self.size, self.focus, self.tab)
    }

    /// What is visible, as far as it has to be read.
    fn views(&self) -> Vec<View> {
        let task = || {
            let picture = self.picture.as_ref()?;
            self.tree.task(picture).map(|task| task.id.clone())
        };
        let places = self.places();
        let view = |tab: Tab| {
            let verbose = tab == Tab::Journal && self.verbose;
            let columns = if tab == Tab::Timeline { places.pane_room().columns } else { 0 };
            match self.is_of_task(tab) {
                true => task().map(|task| View { tab, task: Some(task), verbose, columns }),
                false => Some(View { tab, task: None, verbose, columns }),
            }
        };
        let main = places.pane.map(|_| self.tab);
        let beside = places.beside.map(|_| Tab::Output);
        main.into_iter().chain(beside).filter_map(view).collect()
    }

    /// The selected task, where the view is about it.
    pub(super) fn selected(&self) -> Option<&TaskId> {
        let picture = self.picture.as_ref()?;
        self.tree.task(picture).map(|task| &task.id)
    }

    /// Whether a view is about the selected task.
    pub(super) fn is_of_task(&self, tab: Tab) -> bool {
        tab.is_of_task() || tab == Tab::Timeline && self.of_one
    }

    fn say(&mut self, ink: Ink, text: impl Into<String>) {
        self.message = Some((ink, text.into()));
        self.message_until = self.now.plus(MESSAGE);
    }
}

/// One step: what comes in changes the model, and may ask for something to be done.
pub(crate) fn update(model: &mut Model, msg: Msg) -> Vec<Effect> {
    let mut effects = Vec::new();
    match msg {
        Msg::Key(key) => effects.extend(keyed(model, key)),
        Msg::Paste(text) => pasted(model, &text),
        Msg::Resize(columns, rows) => model.size = (columns, rows),
        Msg::Tick(now) => {
            model.now = now;
            if now >= model.message_until {
                model.message = None;
            }
        }
        Msg::Picture(picture) => {
            model.picture = Some(*picture);
            rebuild(model);
        }
        Msg::Whole(view, lines) => put(model, &view, |pane, room| pane.set(lines, room)),
        Msg::More(view, lines) => put(model, &view, |pane, room| pane.append(lines, room)),
        Msg::Waiting(many) => model.waiting = many,
        Msg::Ran { command, text, good } => {
            model.running = None;
            answered(model, &command, &text, good);
        }
        Msg::Trouble(trouble) => model.trouble = trouble,
    }
    settle(model);
    let views = model.views();
    if views != model.looked {
        // The text of another view must not be taken for this one's. The reader, too, compares place by place.
        if views.first() != model.looked.first() {
            let search = model.main.search().to_owned();
            model.main = pane_for(model.tab);
            model.main.set_search(&search);
        }
        if views.get(1) != model.looked.get(1) {
            model.beside = pane_for(Tab::Output);
        }
        model.looked.clone_from(&views);
        effects.push(Effect::Look(views));
    }
    effects
}

/// Make the rows of the tree again.
fn rebuild(model: &mut Model) {
    let height = model.places().tree_height();
    if let Some(picture) = &model.picture {
        model.tree.build(picture, height);
    }
}

/// Whatever has changed: what is selected is visible.
fn settle(model: &mut Model) {
    let places = model.places();
    model.tree.settle(places.tree_height());
    model.main.settle(places.pane_room());
    model.beside.settle(places.beside_room());
    match &mut model.popup {
        Some(Popup::Help(pane) | Popup::Answer { pane, .. }) => pane.settle(places.popup_room()),
        Some(Popup::Confirm(_)) | None => {}
    }
}

/// Lines for a view. They may be for one that is no longer looked at.
fn put(model: &mut Model, view: &View, into: impl FnOnce(&mut Pane, crate::screen::pane::Room)) {
    let places = model.places();
    match model.looked.iter().position(|looked| looked == view) {
        Some(_) if view.tab == model.tab => into(&mut model.main, places.pane_room()),
        Some(_) => into(&mut model.beside, places.beside_room()),
        None => {}
    }
}

fn answered(model: &mut Model, command: &str, text: &str, good: bool) {
    let lines = Text::lines(if good { Ink::Plain } else { Ink::Warning }, text);
    match &lines[..] {
        [] => model.say(Ink::Good, format!("done: {command}")),
        [one] if good => model.say(Ink::Good, one.plain()),
        _ => {
            let mut pane = Pane::default();
            pane.set(lines, model.places().popup_room());
            model.popup = Some(Popup::Answer { title: command.to_owned(), good, pane });
        }
    }
}

fn pasted(model: &mut Model, text: &str) {
    match (&mut model.popup, &mut model.prompt) {
        (Some(Popup::Confirm(confirmation)), _) => {
            let at = confirmation.at;
            if let Some(asked) = confirmation.fields.get_mut(at) {
                asked.field.put(text);
            }
        }
        (None, Some(Prompt::Filter { field, .. } | Prompt::Search(field))) => {
            field.put(text);
            apply_prompt(model);
        }
        _ => {}
    }
}

fn keyed(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if is_control => return Some(Effect::Leave),
        KeyCode::Char('z') if is_control => return Some(Effect::Suspend),
        _ => {}
    }
    match model.popup.take() {
        Some(Popup::Confirm(confirmation)) => confirming(model, key, confirmation),
        Some(Popup::Help(pane)) => {
            model.popup = scrolled(model, key, pane).map(Popup::Help);
            None
        }
        Some(Popup::Answer { title, good, pane }) => {
            model.popup = scrolled(model, key, pane).map(|pane| Popup::Answer { title, good, pane });
            None
        }
        None if model.prompt.is_some() => {
            prompting(model, key);
            None
        }
        None => command(model, key),
    }
}

/// A popup that is only read: a key moves in it, or closes it.
fn scrolled(model: &Model, key: KeyEvent, mut pane: Pane) -> Option<Pane> {
    pane.scroll(movement(key)?, model.places().popup_room());
    Some(pane)
}

fn confirming(model: &mut Model, key: KeyEvent, mut confirmation: Confirmation) -> Option<Effect> {
    let fields = confirmation.fields.len();
    match key.code {
        KeyCode::Esc => {
            model.say(Ink::Dim, "nothing was changed");
            return None;
        }
        KeyCode::Enter => match confirmation.command() {
            // From one field to the next, and from the last one to the end.
            _ if confirmation.at + 1 < fields => confirmation.at += 1,
            Ok(words) => {
                let typed = confirmation.typed();
                model.running = Some(typed.clone());
                return Some(Effect::Run { words, typed });
            }
            Err(missing) => {
                let place = confirmation.fields.iter().position(|asked| asked.label == missing);
                confirmation.at = place.unwrap_or(confirmation.at);
            }
        },
        KeyCode::Tab | KeyCode::Down if fields > 0 => confirmation.at = (confirmation.at + 1) % fields,
        KeyCode::BackTab | KeyCode::Up if fields > 0 => {
            confirmation.at = (confirmation.at + fields - 1) % fields;
        }
        _ => {
            let at = confirmation.at;
            if let (Some(asked), Some(edit)) = (confirmation.fields.get_mut(at), edit(key)) {
                asked.field.edit(edit);
            }
        }
    }
    model.popup = Some(Popup::Confirm(confirmation));
    None
}

/// What a key does to a field.
fn edit(key: KeyEvent) -> Option<Edit> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('a') if is_control => Edit::Home,
        KeyCode::Char('e') if is_control => Edit::End,
        KeyCode::Char('w') if is_control => Edit::EraseWord,
        KeyCode::Char('u') if is_control => Edit::Clear,
        KeyCode::Char(c) if !is_control => Edit::Put(c),
        KeyCode::Left => Edit::Left,
        KeyCode::Right => Edit::Right,
        KeyCode::Home => Edit::Home,
        KeyCode::End => Edit::End,
        KeyCode::Backspace => Edit::Backspace,
        KeyCode::Delete => Edit::Delete,
        _ => return None,
    })
}

/// Keys while a filter or a search is typed.
fn prompting(model: &mut Model, key: KeyEvent) {
    let Some(mut prompt) = model.prompt.take() else { return };
    match (key.code, &mut prompt) {
        (KeyCode::Esc, Prompt::Filter { before, .. }) => {
            let before = before.clone();
            filter(model, &before);
            return;
        }
        (KeyCode::Esc, Prompt::Search(_)) => {
            model.main.set_search("");
            return;
        }
        (KeyCode::Enter, Prompt::Filter { .. }) => return,
        (KeyCode::Enter, Prompt::Search(field)) => {
            if !field.text().is_empty() && !model.main.find(true, true, model.places().pane_room()) {
                model.say(Ink::Warning, format!("`{}` was not found", field.text()));
            }
            return;
        }
        (KeyCode::Up | KeyCode::Down, Prompt::Filter { .. }) => {
            // One can choose among what was found while one types.
            if let Some(to) = movement(key) {
                go(model, to);
            }
        }
        (_, Prompt::Filter { field, .. } | Prompt::Search(field)) => {
            if let Some(edit) = edit(key) {
                field.edit(edit);
            }
        }
    }
    model.prompt = Some(prompt);
    apply_prompt(model);
}

/// What is typed shows at once what it finds.
fn apply_prompt(model: &mut Model) {
    match model.prompt.clone() {
        Some(Prompt::Filter { field, .. }) => filter(model, field.text()),
        Some(Prompt::Search(field)) => {
            model.main.set_search(field.text());
            model.main.find(true, true, model.places().pane_room());
        }
        None => {}
    }
}

fn filter(model: &mut Model, text: &str) {
    let height = model.places().tree_height();
    if let Some(picture) = model.picture.as_ref().filter(|_| model.tree.filter() != text) {
        model.tree.set_filter(text, picture, height);
    }
}

fn movement(key: KeyEvent) -> Option<Move> {
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('d' | 'f') if is_control => Move::PageDown,
        KeyCode::Char('u' | 'b') if is_control => Move::PageUp,
        KeyCode::Up | KeyCode::Char('k') => Move::Up,
        KeyCode::Down | KeyCode::Char('j') => Move::Down,
        KeyCode::PageUp => Move::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Move::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Move::Home,
        KeyCode::End | KeyCode::Char('G') => Move::End,
        _ => return None,
    })
}

fn go(model: &mut Model, to: Move) {
    let places = model.places();
    match (model.focus, &model.picture) {
        (Focus::Tree, Some(picture)) => model.tree.go(to, picture, places.tree_height()),
        (Focus::Tree, None) => {}
        (Focus::Pane, _) => model.main.go(to, places.pane_room()),
    }
}

fn command(model: &mut Model, key: KeyEvent) -> Option<Effect> {
    if let Some(to) = movement(key) {
        go(model, to);
        return None;
    }
    match key.code {
        KeyCode::Char('q') => return Some(Effect::Leave),
        KeyCode::Char('s') => return Some(Effect::Stream),
        KeyCode::Char('?') => {
            let mut pane = Pane::default();
            pane.set(crate::screen::help::lines(), model.places().popup_room());
            model.popup = Some(Popup::Help(pane));
        }
        KeyCode::Char('/') => model.prompt = Some(begin_prompt(model)),
        KeyCode::Char('n') => next(model, true),
        KeyCode::Char('N') => next(model, false),
        KeyCode::Tab => turn(model, 1),
        KeyCode::BackTab => turn(model, Tab::ALL.len() - 1),
        KeyCode::Char(c @ '1'..='9') => {
            let number = c.to_digit(10).map_or(0, |digit| digit as usize);
            if let Some(tab) = Tab::ALL.get(number.wrapping_sub(1)) {
                model.tab = *tab;
                model.focus = Focus::Pane;
            }
        }
        KeyCode::Enter => enter(model),
        KeyCode::Right | KeyCode::Char('l') => open(model),
        KeyCode::Left | KeyCode::Char('h') => back(model),
        KeyCode::Esc => escape(model),
        KeyCode::Char('v') if model.focus == Focus::Pane => model.main.toggle_mark(),
        KeyCode::Char('t') => {
            // From another view it is the run's; the second time, the task's.
            model.of_one = model.tab == Tab::Timeline && !model.of_one;
            model.tab = Tab::Timeline;
            model.focus = Focus::Pane;
        }
        KeyCode::Char('V') => {
            model.verbose = !model.verbose;
            let what = if model.verbose { "every event" } else { "what matters" };
            model.say(Ink::Dim, format!("the journal shows {what}"));
        }
        KeyCode::Char('y') => return copy(model, false),
        KeyCode::Char('Y') => return copy(model, true),
        KeyCode::Char(c) => act(model, c),
        _ => {}
    }
    None
}

/// What a letter asks for, if anything.
fn act(model: &mut Model, letter: char) {
    let Some(action) = Action::ALL.into_iter().find(|action| action.key() == letter) else { return };
    let task = model.picture.as_ref().and_then(|picture| model.tree.task(picture));
    match Confirmation::new(action, task, &model.which) {
        Ok(confirmation) => model.popup = Some(Popup::Confirm(confirmation)),
        Err(missing) => model.say(Ink::Warning, missing),
    }
}

fn begin_prompt(model: &Model) -> Prompt {
    match model.focus {
        Focus::Tree => {
            let before = model.tree.filter().to_owned();
            Prompt::Filter { field: Field::new(&before), before }
        }
        Focus::Pane => Prompt::Search(Field::default()),
    }
}

/// In the tree, the next task that goes on or needs somebody; in a text, the next place that has what is searched.
fn next(model: &mut Model, forward: bool) {
    let places = model.places();
    let found = match (model.focus, &model.picture) {
        (Focus::Tree, Some(picture)) => model.tree.go_to_notable(forward, picture, places.tree_height()),
        (Focus::Tree, None) => false,
        (Focus::Pane, _) => model.main.find(forward, false, places.pane_room()),
    };
    if !found {
        let missing = match model.focus {
            Focus::Tree => "no task is in progress, and none needs you".to_owned(),
            Focus::Pane if model.main.search().is_empty() => "press / to search".to_owned(),
            Focus::Pane => format!("`{}` was not found", model.main.search()),
        };
        model.say(Ink::Warning, missing);
    }
}

fn turn(model: &mut Model, by: usize) {
    let at = Tab::ALL.iter().position(|tab| *tab == model.tab).unwrap_or(0);
    model.tab = Tab::ALL[(at + by) % Tab::ALL.len()];
    // Where one pane is visible, it is the one that was turned to.
    if model.places().is_single() {
        model.focus = Focus::Pane;
    }
}

/// Enter: a group folds, a task opens, a line that names a command offers to run it.
fn enter(model: &mut Model) {
    let places = model.places();
    match (model.focus, &model.picture, model.main.command()) {
        (Focus::Tree, Some(picture), _) if model.tree.is_at_group() => {
            model.tree.fold(None, picture, places.tree_height());
        }
        (Focus::Tree, _, _) => open(model),
        (Focus::Pane, Some(picture), Some(command)) => {
            let known = |id: &TaskId| picture.tasks.iter().find(|task| task.id == *id).cloned();
            match Confirmation::of_command(command, known, &model.which) {
                Ok(confirmation) => model.popup = Some(Popup::Confirm(confirmation)),
                Err(why) => model.say(Ink::Warning, why),
            }
        }
        (Focus::Pane, _, _) => {}
    }
}

/// To the right: a folded group opens, a task's text gets the keys.
fn open(model: &mut Model) {
    let height = model.places().tree_height();
    match &model.picture {
        Some(picture) if model.focus == Focus::Tree && model.tree.is_at_group() => {
            model.tree.fold(Some(false), picture, height);
        }
        _ => model.focus = Focus::Pane,
    }
}

/// To the left: back to the tree, and there to the group.
fn back(model: &mut Model) {
    let height = model.places().tree_height();
    match (&model.picture, model.focus) {
        (_, Focus::Pane) => model.focus = Focus::Tree,
        (Some(picture), Focus::Tree) => model.tree.fold(Some(true), picture, height),
        (None, Focus::Tree) => {}
    }
}

/// Back by one step: marked lines, a search, the pane, a filter.
fn escape(model: &mut Model) {
    match model.focus {
        Focus::Pane if model.main.has_mark() => model.main.unmark(),
        Focus::Pane if !model.main.search().is_empty() => model.main.set_search(""),
        Focus::Pane => model.focus = Focus::Tree,
        Focus::Tree => filter(model, ""),
    }
}

/// The marked lines, or all of the text; in the tree, the id of the task.
fn copy(model: &mut Model, all: bool) -> Option<Effect> {
    let text = match model.focus {
        Focus::Pane if all => model.main.all(),
        Focus::Pane => model.main.command().map_or_else(|| model.main.marked(), str::to_owned),
        Focus::Tree => model.selected().map(ToString::to_string).unwrap_or_default(),
    };
    if text.is_empty() {
        model.say(Ink::Warning, "there is nothing to copy");
        return None;
    }
    if text.len() > MOST_COPIED {
        model.say(Ink::Warning, "too much to copy: mark fewer lines with v");
        return None;
    }
    let lines = text.lines().count() as u64;
    model.main.unmark();
    model.say(Ink::Dim, format!("copied {}", piton_core::view::counted(lines, "line")));
    Some(Effect::Copy(text))
}
