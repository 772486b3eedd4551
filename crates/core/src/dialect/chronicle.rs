//! What the state files of all systems tell of a run beyond its state: folded from the same events.
