//! Which part of the screen is for what, by its size.

use ratatui_core::layout::Rect;

use crate::screen::pane::Room;
use crate::screen::view::{Focus, Tab};

/// Below this width the tree and a text do not fit side by side.
const SINGLE: u16 = 80;
/// From this width on, the detail of a task leaves room for its output.
const WIDE: u16 = 160;
/// Columns left of a text, for the cursor.
pub(super) const GUTTER: u16 = 2;

/// The parts that are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub tabs: Rect,
    pub tree: Option<Rect>,
    pub pane: Option<Rect>,
    pub beside: Option<Rect>,
    pub state: Rect,
    pub keys: Rect,
    pub popup: Rect,
    size: (u16, u16),
}

pub(super) fn places(size: (u16, u16), focus: Focus, tab: Tab) -> Places {
    let (width, height) = size;
    let bar = |row: u16| Rect::new(0, row.min(height), width, u16::from(row < height));
    let body = height.saturating_sub(3);
    let part = |x: u16, width: u16| Rect::new(x, 1.min(height), width, body);
    let (tree, pane, beside) = if width < SINGLE {
        match focus {
            Focus::Tree => (Some(part(0, width)), None, None),
            Focus::Pane => (None, Some(part(0, width)), None),
        }
    } else {
        let tree = (width * 2 / 5).clamp(30, 60);
        let rest = width - tree - 1;
        if width >= WIDE && tab == Tab::Detail {
            let left = rest / 2;
            let right = part(tree + 1 + left + 1, rest - left - 1);
            (Some(part(0, tree)), Some(part(tree + 1, left)), Some(right))
        } else {
            (Some(part(0, tree)), Some(part(tree + 1, rest)), None)
        }
    };
    let (margin_x, margin_y) = (width / 16, height / 10);
    let popup = Rect::new(
        margin_x,
        margin_y,
        width.saturating_sub(2 * margin_x),
        height.saturating_sub(2 * margin_y),
    );
    Places {
        tabs: bar(0),
        tree,
        pane,
        beside,
        state: bar(height.saturating_sub(2)),
        keys: bar(height.saturating_sub(1)),
        popup,
        size,
    }
}

impl Places {
    pub(super) fn is_single(&self) -> bool {
        self.size.0 < SINGLE
    }

    pub(super) fn tree_height(&self) -> usize {
        usize::from(self.size.1.saturating_sub(3))
    }

    pub(super) fn pane_room(&self) -> Room {
        room(self.pane)
    }

    pub(super) fn beside_room(&self) -> Room {
        room(self.beside)
    }

    /// Inside of its frame.
    pub(super) fn popup_room(&self) -> Room {
        let Rect { width, height, .. } = self.popup;
        Room { columns: usize::from(width.saturating_sub(4)), rows: usize::from(height.saturating_sub(2)) }
    }
}

/// A text that is not visible is laid out as in any room: it has to be again when it is.
fn room(place: Option<Rect>) -> Room {
    let place = place.unwrap_or(Rect::new(0, 0, SINGLE, 20));
    Room { columns: usize::from(place.width.saturating_sub(GUTTER)), rows: usize::from(place.height) }
}
