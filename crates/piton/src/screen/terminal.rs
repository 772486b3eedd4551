//! The terminal: its modes, which are always put back, and the cells that are drawn.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use ratatui_core::terminal::Terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::tcgetwinsize;

use crate::failure::{Failure, Outcome};
use crate::screen::draw::draw;
use crate::screen::model::Model;

/// The alternate screen, without a cursor; what is pasted comes in one piece.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?2004h";
const LEAVE: &str = "\x1b[?2004l\x1b[0m\x1b[?25h\x1b[?1049l";
/// The terminal shows a frame when all of it is there. One that does not know this ignores it.
const BEGIN_FRAME: &str = "\x1b[?2026h";
const END_FRAME: &str = "\x1b[?2026l";

/// The terminal has modes of ours.
static IS_OURS: AtomicBool = AtomicBool::new(false);
/// The alternate screen is shown.
static IS_ALTERNATE: AtomicBool = AtomicBool::new(false);

/// Put the terminal back as it was. Whoever comes first does it: the end, a signal or a panic.
pub(super) fn restore() {
    if IS_ALTERNATE.swap(false, Ordering::SeqCst) {
        write(LEAVE);
    }
    if IS_OURS.swap(false, Ordering::SeqCst) {
        // A terminal that is gone needs nothing.
        let _ = disable_raw_mode();
    }
}

/// A terminal that is gone must not end the program in a panic.
pub(super) fn write(text: &str) {
    let mut stream = io::stdout().lock();
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// Before a panic is reported, the terminal is put back: else the report would be lost with the alternate screen.
fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<Cells>,
}

impl Screen {
    pub(super) fn enter() -> Outcome<Screen> {
        restore_on_panic();
        let terminal = Terminal::new(Cells::new()).map_err(Failure::io("cannot use the terminal"))?;
        let mut screen = Screen { terminal };
        screen.resume()?;
        Ok(screen)
    }

    /// Take the terminal, again or for the first time, and draw all of it at the next frame.
    pub(super) fn resume(&mut self) -> Outcome {
        enable_raw_mode().map_err(Failure::io("cannot use the terminal"))?;
        IS_OURS.store(true, Ordering::SeqCst);
        self.show_alternate();
        Ok(())
    }

    pub(super) fn show_alternate(&mut self) {
        IS_ALTERNATE.store(true, Ordering::SeqCst);
        write(ENTER);
        // Writing to a terminal that is gone fails, and then the next key does, too.
        let _ = self.terminal.clear();
    }

    /// Show the normal screen, where lines are printed. The keys still come one by one.
    pub(super) fn show_normal(&self) {
        if IS_ALTERNATE.swap(false, Ordering::SeqCst) {
            write(LEAVE);
        }
    }

    pub(super) fn draw(&mut self, model: &Model) -> Outcome {
        self.terminal.draw(|frame| draw(model, frame)).map_err(Failure::io("cannot draw"))?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// Columns and rows, or what most terminals have.
pub(super) fn size() -> (u16, u16) {
    match tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_col, size.ws_row),
        _ => (80, 24),
    }
}

/// Wait for a key, at most so long. True if the terminal is gone: then no key will ever come.
pub(super) fn is_gone(wait: Duration) -> bool {
    let stdin = io::stdin();
    let mut watched = [PollFd::new(&stdin, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    match poll(&mut watched, Some(&wait)) {
        Ok(_) => watched[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL),
        // A signal came, which is looked at next.
        Err(_) => false,
    }
}

/// Ask the terminal to put a text into the clipboard, over any number of hops (OSC 52).
pub(super) fn copy(text: &str) {
    write(&format!("\x1b]52;c;{}\x07", base64(text.as_bytes())));
}

fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for sign in 0..4 {
            let at = (bits >> (18 - 6 * sign)) & 63;
            text.push(if sign > chunk.len() { '=' } else { char::from(SIGNS[at as usize]) });
        }
    }
    text
}

/// Cells that are drawn, as what the terminal is told. A frame is written at once.
struct Cells {
    out: String,
    has_colours: bool,
}

impl Cells {
    fn new() -> Cells {
        let has_colours = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Cells { out: String::new(), has_colours }
    }

    fn look(&mut self, colour: Color, modifier: Modifier) {
        self.out.push_str("\x1b[0");
        for (bit, code) in
            [(Modifier::BOLD, 1), (Modifier::DIM, 2), (Modifier::UNDERLINED, 4), (Modifier::REVERSED, 7)]
        {
            if modifier.contains(bit) {
                let _ = write!(self.out, ";{code}");
            }
        }
        let code = match colour {
            Color::Red => "31",
            Color::Green => "32",
            Color::Yellow => "33",
            Color::Cyan => "36",
            // The screen uses no others.
            _ => "",
        };
        if self.has_colours && !code.is_empty() {
            let _ = write!(self.out, ";{code}");
        }
        self.out.push('m');
    }
}

impl Backend for Cells {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let (mut place, mut look) = (None, None);
        for (x, y, cell) in content {
            if place != Some((x, y)) {
                let _ = write!(self.out, "\x1b[{};{}H", y + 1, x + 1);
            }
            let now = (cell.fg, cell.modifier);
            if look != Some(now) {
                self.look(cell.fg, cell.modifier);
                look = Some(now);
            }
            let symbol = cell.symbol();
            self.out.push_str(symbol);
            // Terminals do not agree about the width of other characters.
            place = symbol.is_ascii().then_some((x + 1, y));
        }
        self.out.push_str("\x1b[0m");
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        self.out.push_str("\x1b[?25l");
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        self.out.push_str("\x1b[?25h");
        Ok(())
    }

    /// Nobody needs it: each frame says where its cursor is.
    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let Position { x, y } = position.into();
        let _ = write!(self.out, "\x1b[{};{}H", y + 1, x + 1);
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.out.push_str("\x1b[0m\x1b[2J");
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let (width, height) = size();
        Ok(Size::new(width, height))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::new(0, 0) })
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.out.is_empty() {
            let frame = format!("{BEGIN_FRAME}{}{END_FRAME}", self.out);
            self.out.clear();
            let mut stream = io::stdout().lock();
            stream.write_all(frame.as_bytes())?;
            stream.flush()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_is_in_base64() {
        for (text, coded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("né", "bsOp")]
        {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn cells_become_what_a_terminal_understands() {
        let mut cells = Cells { out: String::new(), has_colours: true };
        let mut plain = Cell::new("a");
        let mut red = Cell::new("✗");
        red.fg = Color::Red;
        red.modifier = Modifier::BOLD;
        let drawn = [(0, 0, &plain.clone()), (1, 0, &red), (2, 0, &red), (0, 2, &plain.clone())];
        cells.draw(drawn.into_iter()).expect("it is only text");
        assert_eq!(cells.out, "\x1b[1;1H\x1b[0ma\x1b[0;1;31m✗\x1b[1;3H✗\x1b[3;1H\x1b[0ma\x1b[0m");
        cells = Cells { out: String::new(), has_colours: false };
        plain.fg = Color::Green;
        cells.draw([(0, 0, &plain)].into_iter()).expect("it is only text");
        assert_eq!(cells.out, "\x1b[1;1H\x1b[0ma\x1b[0m");
    }
}
