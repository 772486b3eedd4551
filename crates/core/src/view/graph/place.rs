//! Where each task stands: its layer is the column, its group a band of rows, and inside of that it is near what it waits
//! for and what waits for it.

use std::collections::{BTreeMap, HashMap};

use super::layers::Layered;
use super::{Frame, Layout, Node, Placed};
use crate::order::Arrange;
use crate::plan::TaskId;

/// As many tasks of a group stand below each other in any case: a screen holds about as many.
const TALL: usize = 24;
/// A box is about four times as wide as it is high: larger cells become squares.
const ASPECT: f64 = 4.0;
/// How often all layers are ordered again, each time by the neighbours on the other side. More changes little.
const SWEEPS: usize = 8;
/// Room for the name of a group, and below its last task.
const HEAD: f32 = 0.5;
const FOOT: f32 = 0.25;

/// The tasks of one group in one layer, from top to bottom.
struct Cell {
    band: usize,
    layer: usize,
    columns: usize,
    members: Vec<u32>,
}

/// The rows of a group.
struct Band<'n> {
    name: Option<&'n str>,
    members: Vec<u32>,
    first_layer: usize,
    last_layer: usize,
    rows: usize,
    top: f32,
}

impl Band<'_> {
    fn head(&self) -> f32 {
        if self.name.is_some() { HEAD } else { 0.0 }
    }

    fn height(&self) -> f32 {
        let rows = self.rows as f32;
        self.head() + rows + if self.name.is_some() { FOOT } else { 0.0 }
    }
}

pub(super) fn layout(nodes: &[Node]) -> Layout {
    // From here to the end, tasks are in the order of their ids.
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.arrange_by(|&a, &b| nodes[a].id.cmp(&nodes[b].id));
    let position: HashMap<&TaskId, u32> =
        (0..).zip(&order).map(|(at, &node)| (&nodes[node].id, at)).collect();
    let needs = order
        .iter()
        .map(|&node| nodes[node].after.iter().filter_map(|id| position.get(id).copied()).collect())
        .collect();
    let graph = Layered::new(needs);
    let mut bands = bands(nodes, &order, &graph);
    let mut cells = cells(&mut bands, &graph);
    let lefts = lefts(&cells, graph.depth());
    let height = stack(&mut bands, graph.depth());
    let spots = arrange(&mut cells, &bands, &graph);

    let original = |at: u32| u32::try_from(order[at as usize]).unwrap_or(u32::MAX);
    let mut placed: Vec<Option<Placed>> = vec![None; nodes.len()];
    for (at, &node) in order.iter().enumerate() {
        let (id, layer) = (nodes[node].id.clone(), graph.layers[at]);
        let (column, y) = spots[at];
        placed[node] = Some(Placed { id, layer, x: lefts[layer as usize] + column, y });
    }
    let mut edges: Vec<(u32, u32)> = (0_u32..)
        .zip(&graph.needs)
        .flat_map(|(at, needs)| needs.iter().map(move |&need| (original(need), original(at))))
        .collect();
    edges.sort_unstable();
    let frames = bands.iter().filter_map(|band| {
        let (x, right) = (lefts[band.first_layer], lefts[band.last_layer + 1]);
        let mut members: Vec<u32> = band.members.iter().map(|&at| original(at)).collect();
        members.sort_unstable();
        let (name, y, height) = (band.name?.to_owned(), band.top, band.height());
        Some(Frame { name, x, y, width: right - x, height, members })
    });
    Layout {
        nodes: placed.into_iter().flatten().collect(),
        edges,
        groups: frames.collect(),
        width: lefts.last().copied().unwrap_or(0.0),
        height,
    }
}

/// The groups, from the earliest layer on.
fn bands<'n>(nodes: &'n [Node], order: &[usize], graph: &Layered) -> Vec<Band<'n>> {
    let mut members: BTreeMap<Option<&str>, Vec<u32>> = BTreeMap::new();
    for (at, &node) in (0_u32..).zip(order) {
        members.entry(nodes[node].group.as_deref()).or_default().push(at);
    }
    let layer = |at: &u32| graph.layers[*at as usize] as usize;
    let mut bands: Vec<Band<'_>> = members
        .into_iter()
        .map(|(name, members)| {
            let first_layer = members.iter().map(layer).min().unwrap_or(0);
            let last_layer = members.iter().map(layer).max().unwrap_or(0);
            Band { name, members, first_layer, last_layer, rows: 0, top: 0.0 }
        })
        .collect();
    bands.arrange_by_key(|band| (band.first_layer, band.members.first().copied()));
    bands
}

/// Cells in the order of their layers. A cell with too many tasks has several columns.
fn cells(bands: &mut [Band<'_>], graph: &Layered) -> Vec<Cell> {
    let mut found: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
    for (number, band) in bands.iter().enumerate() {
        for &at in &band.members {
            found.entry((graph.layers[at as usize] as usize, number)).or_default().push(at);
        }
    }
    let largest = found.values().map(Vec::len).max().unwrap_or(0);
    let tallest = TALL.max((ASPECT * largest as f64).sqrt().ceil() as usize);
    let cell = |((layer, band), members): ((usize, usize), Vec<u32>)| {
        let columns = members.len().div_ceil(tallest);
        bands[band].rows = bands[band].rows.max(members.len().div_ceil(columns));
        Cell { band, layer, columns, members }
    };
    found.into_iter().map(cell).collect()
}

/// Where each layer begins, and where the last one ends.
fn lefts(cells: &[Cell], depth: usize) -> Vec<f32> {
    let mut widths = vec![1_u16; depth];
    for cell in cells {
        let columns = u16::try_from(cell.columns).unwrap_or(u16::MAX);
        widths[cell.layer] = widths[cell.layer].max(columns);
    }
    let ends = widths.iter().scan(0.0, |end, &width| {
        *end += f32::from(width);
        Some(*end)
    });
    std::iter::once(0.0).chain(ends).collect()
}

/// Put each band below those that have a layer in common with it. Says how high all of them are.
fn stack(bands: &mut [Band<'_>], depth: usize) -> f32 {
    let mut used = vec![0.0_f32; depth];
    for band in bands {
        let layers = &mut used[band.first_layer..=band.last_layer];
        band.top = layers.iter().copied().fold(0.0, f32::max);
        layers.fill(band.top + band.height());
    }
    used.into_iter().fold(0.0, f32::max)
}

/// The column inside of its layer and the height of each task.
fn arrange(cells: &mut [Cell], bands: &[Band<'_>], graph: &Layered) -> Vec<(f32, f32)> {
    let mut spots = vec![(0.0, 0.0); graph.layers.len()];
    for cell in cells.iter() {
        let first: Vec<f32> = (0..cell.members.len()).map(|row| row as f32).collect();
        cell.put(&first, &bands[cell.band], &mut spots);
    }
    for sweep in 0..SWEEPS {
        // The last one goes to the left, so that a task stands beside what waits for it.
        let to_the_right = sweep % 2 == 0;
        let neighbours = if to_the_right { &graph.needs } else { &graph.dependents };
        for nth in 0..cells.len() {
            let cell = if to_the_right { nth } else { cells.len() - 1 - nth };
            let band = &bands[cells[cell].band];
            cells[cell].order(band, neighbours, &mut spots);
        }
    }
    spots
}

impl Cell {
    /// Order the tasks by the mean height of their neighbours. One without neighbours keeps its height.
    fn order(&mut self, band: &Band<'_>, neighbours: &[Vec<u32>], spots: &mut [(f32, f32)]) {
        let top = band.top + band.head();
        let mut wanted: Vec<(f32, u32)> = self
            .members
            .iter()
            .map(|&at| {
                let near = &neighbours[at as usize];
                let heights: f32 = near.iter().map(|&other| spots[other as usize].1).sum();
                let mean = if near.is_empty() { spots[at as usize].1 } else { heights / near.len() as f32 };
                (mean - top, at)
            })
            .collect();
        wanted.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        self.members = wanted.iter().map(|&(_, at)| at).collect();
        let rows: Vec<f32> = wanted.iter().map(|&(row, _)| row).collect();
        self.put(&rows, band, spots);
    }

    /// Give each task the row that is nearest to the wanted one, in this order.
    fn put(&self, wanted: &[f32], band: &Band<'_>, spots: &mut [(f32, f32)]) {
        let top = band.top + band.head();
        let count = self.members.len();
        let mut next = 0.0_f32;
        for (nth, (&at, wanted)) in self.members.iter().zip(wanted).enumerate() {
            let (column, row) = if self.columns > 1 {
                ((nth % self.columns) as f32, (nth / self.columns) as f32)
            } else {
                let lowest = (band.rows - (count - nth)) as f32;
                let row = wanted.round().max(next).min(lowest);
                next = row + 1.0;
                (0.0, row)
            };
            spots[at as usize] = (column, top + row);
        }
    }
}
