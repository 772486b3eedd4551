//! `piton watch`: a run on the whole screen.
//!
//! What is shown is a model, changed by messages and drawn by a function: neither reads or writes anything. The loop here
//! gathers messages and does what the model asks for. Other threads read, so a key never waits for the disk or for git.

mod action;
mod draw;
mod feed;
mod field;
mod help;
mod layout;
mod model;
mod page;
mod pane;
mod picture;
mod reader;
mod source;
mod stream;
mod terminal;
mod text;
mod tree;
mod view;

#[cfg(test)]
mod screenshot;
#[cfg(test)]
mod svg;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use piton_core::plan::RunId;
use piton_engine::clock;
use piton_engine::project::Project;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::iterator::Signals;

use crate::failure::{Exit, FINE, Failure, Outcome};
use crate::own_command;
use crate::screen::model::{Effect, Model, Msg, update};
use crate::screen::source::Source;
use crate::screen::stream::PlainStream;
use crate::screen::terminal::Screen;
use crate::screen::view::View;

/// How long the loop waits for a key before it looks for news.
const WAIT: Duration = Duration::from_millis(40);
/// The reader of keys looks at the terminal only if it may wait for it, as long as this at most.
const GLANCE: Duration = Duration::from_millis(1);
/// How often ages are shown anew.
const TICK: Duration = Duration::from_secs(1);
/// How long the loop has to end after a signal: it takes milliseconds, unless it hangs.
const GRACE: Duration = Duration::from_secs(2);

/// Watch a run until the person leaves. `which` are the words that say to a command which run is meant.
pub(crate) fn watch(project: &Project, run: &RunId, which: Vec<String>) -> Outcome<Exit> {
    let (tell, heard) = channel();
    let (ask, asked) = channel();
    let source = || Source::new(project.clone(), run.clone());
    let (follower, looker, counter) = (source(), source(), source());
    let teller = tell.clone();
    std::thread::spawn(move || reader::follow(follower, &teller));
    let teller = tell.clone();
    std::thread::spawn(move || reader::count(counter, &teller));
    let teller = tell.clone();
    std::thread::spawn(move || reader::look(looker, &asked, &teller));
    let heeded = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP, SIGCONT];
    let signals = Signals::new(heeded).map_err(Failure::io("cannot listen for signals"))?;
    let (pass_on, signals) = pass_on(signals);
    std::thread::spawn(pass_on);
    let mut stream = PlainStream::new(source());
    stream.begin();
    let mut watcher = Watcher {
        model: Model::new(terminal::size(), clock::now(), which),
        screen: Screen::enter()?,
        stream,
        is_streaming: false,
        signals,
        ask,
        tell,
    };
    let end = watcher.run(&heard);
    drop(watcher);
    end.map(|()| FINE)
}

/// What passes signals on to the loop, and where they arrive. A loop that does not end when it is asked to is ended: reading
/// from a terminal that is gone may never return.
fn pass_on(mut signals: Signals) -> (impl FnOnce() + Send, Receiver<i32>) {
    let (sent, come) = channel();
    let pass_on = move || {
        for signal in signals.forever() {
            let is_heard = sent.send(signal).is_ok();
            if !matches!(signal, SIGTSTP | SIGCONT) && is_heard {
                std::thread::sleep(GRACE);
                terminal::restore();
                signal_hook::low_level::exit(i32::from(FINE));
            }
        }
    };
    (pass_on, come)
}

/// What the loop should do next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Stay,
    Leave,
}

struct Watcher {
    model: Model,
    screen: Screen,
    stream: PlainStream,
    /// Lines are printed on the normal screen.
    is_streaming: bool,
    signals: Receiver<i32>,
    ask: Sender<Vec<View>>,
    tell: Sender<Msg>,
}

impl Watcher {
    fn run(&mut self, heard: &Receiver<Msg>) -> Outcome {
        let mut ticked = Instant::now();
        let mut is_stale = true;
        loop {
            if self.is_streaming {
                self.stream.print();
            } else if is_stale {
                self.screen.draw(&self.model)?;
            }
            let mut messages = Vec::new();
            let unreadable = || Failure::io("cannot read the keyboard");
            if terminal::is_gone(WAIT) {
                return Ok(());
            }
            // All keys that have come are taken before the next frame: a held key does not lag behind.
            while event::poll(GLANCE).map_err(unreadable())? {
                messages.extend(self.message(event::read().map_err(unreadable())?));
            }
            loop {
                match heard.try_recv() {
                    Ok(message) => messages.push(message),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => {
                        return Err(Failure::new("nothing reads the run any more"));
                    }
                }
            }
            let size = terminal::size();
            if size != self.model.size() {
                messages.push(Msg::Resize(size.0, size.1));
            }
            if ticked.elapsed() >= TICK {
                ticked = Instant::now();
                messages.push(Msg::Tick(clock::now()));
            }
            is_stale = !messages.is_empty();
            for message in messages {
                if self.heed(message)? == Next::Leave {
                    return Ok(());
                }
            }
            if self.heed_signals(&mut is_stale)? == Next::Leave {
                return Ok(());
            }
        }
    }

    /// What a key or a resize comes to.
    fn message(&self, event: Event) -> Option<Msg> {
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => Some(Msg::Key(key)),
            Event::Paste(text) if !self.is_streaming => Some(Msg::Paste(text)),
            Event::Resize(columns, rows) => Some(Msg::Resize(columns, rows)),
            _ => None,
        }
    }

    fn heed(&mut self, message: Msg) -> Outcome<Next> {
        if let (Msg::Key(key), true) = (&message, self.is_streaming) {
            return self.stream_key(*key);
        }
        for effect in update(&mut self.model, message) {
            match effect {
                // Its thread ends only with this one.
                Effect::Look(views) => drop(self.ask.send(views)),
                Effect::Run { words, typed } => self.carry_out(words, typed),
                Effect::Copy(text) => terminal::copy(&text),
                Effect::Stream => {
                    self.is_streaming = true;
                    self.screen.show_normal();
                    self.stream.greet();
                }
                Effect::Suspend => self.suspend()?,
                Effect::Leave => return Ok(Next::Leave),
            }
        }
        Ok(Next::Stay)
    }

    fn stream_key(&mut self, key: KeyEvent) -> Outcome<Next> {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Ok(Next::Leave),
            KeyCode::Char('z') if is_control => self.suspend()?,
            KeyCode::Char('s' | 'q') | KeyCode::Esc => {
                self.is_streaming = false;
                self.screen.show_alternate();
            }
            _ => {}
        }
        Ok(Next::Stay)
    }

    /// A command may take its time: a provider may be asked. It runs beside the loop.
    fn carry_out(&self, words: Vec<String>, typed: String) {
        let tell = self.tell.clone();
        std::thread::spawn(move || {
            let (text, good) = match own_command::run(&words, &[]) {
                Ok(answer) => (answer.text, answer.code == Some(0)),
                Err(failure) => (failure.message, false),
            };
            // Nobody may be there any more.
            let _ = tell.send(Msg::Ran { command: typed, text, good });
        });
    }

    /// Give the terminal back and stop, as every program does on Ctrl-Z. This returns when it continues.
    fn suspend(&mut self) -> Outcome {
        terminal::restore();
        signal_hook::low_level::emulate_default_handler(SIGTSTP)
            .map_err(Failure::io("cannot stop this process"))?;
        self.resume()
    }

    fn resume(&mut self) -> Outcome {
        self.screen.resume()?;
        if self.is_streaming {
            self.screen.show_normal();
        }
        Ok(())
    }

    fn heed_signals(&mut self, is_stale: &mut bool) -> Outcome<Next> {
        while let Ok(signal) = self.signals.try_recv() {
            *is_stale = true;
            match signal {
                SIGTSTP => self.suspend()?,
                // Whoever stopped it may have changed the terminal.
                SIGCONT => self.resume()?,
                _ => return Ok(Next::Leave),
            }
        }
        Ok(Next::Stay)
    }
}
