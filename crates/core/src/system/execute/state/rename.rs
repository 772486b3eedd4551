//! The file with other names: tasks and layers may be called otherwise where it is going to be read.

use super::file::{Layer, StateFile};
use super::words::LayerStatus;

/// What something is called in the other place.
type Called<'a> = &'a dyn Fn(&str) -> String;

impl StateFile {
    /// Rename every task and every layer. Layers that get one name become one. Worktrees and branches are where they
    /// are.
    pub fn rename(&mut self, task: Called<'_>, layer: Called<'_>) {
        let again =
            |names: &mut [String], called: Called<'_>| names.iter_mut().for_each(|name| *name = called(name));
        for name in [&mut self.current_layer, &mut self.options.layer_filter, &mut self.options.start_layer] {
            again(name.as_mut_slice(), layer);
        }
        again(self.options.task_filter.as_mut_slice(), task);
        for names in [&mut self.completed, &mut self.failed, &mut self.abandoned] {
            again(names, task);
        }
        for (id, _) in &mut self.tasks.0 {
            *id = task(id);
        }
        for (id, worktree) in &mut self.worktrees.0 {
            *id = task(id);
            worktree.task_id.clone_from(id);
        }
        for entry in &mut self.merge_queue {
            entry.task_id = task(&entry.task_id);
        }
        let mut layers: Vec<(String, Layer)> = Vec::new();
        for (name, own) in std::mem::take(&mut self.layers.0) {
            let name = layer(&name);
            match layers.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => join(known, &own),
                None => layers.push((name, own)),
            }
        }
        self.layers.0 = layers;
    }
}

fn join(layer: &mut Layer, other: &Layer) {
    layer.status = match (layer.status, other.status) {
        (one, two) if one == two => one,
        (LayerStatus::Blocked, _) | (_, LayerStatus::Blocked) => LayerStatus::Blocked,
        _ => LayerStatus::InProgress,
    };
    layer.started_at = [layer.started_at, other.started_at].into_iter().flatten().min();
    let ended = [layer.completed_at, other.completed_at].into_iter().flatten().max();
    layer.completed_at = ended.filter(|_| layer.status == LayerStatus::Completed);
    layer.tasks_total += other.tasks_total;
    layer.tasks_completed += other.tasks_completed;
    layer.tasks_failed += other.tasks_failed;
}
