//! Which plans there are to begin with.

use camino::Utf8Path;

use crate::paths::typed;
use crate::plans;

/// The commands that begin with the plans that lie in a project, or how to get a first one.
pub(crate) fn plan_hints(root: &Utf8Path) -> Vec<String> {
    const MOST: usize = 10;
    let plans = plans::seen(root);
    let mut hints: Vec<String> =
        plans.iter().take(MOST).map(|plan| format!("piton run {}", typed(plan))).collect();
    if plans.len() > MOST {
        hints.push(format!("and {} more plans", plans.len() - MOST));
    }
    if hints.is_empty() {
        hints.push("piton new NAME   writes a plan to begin with".to_owned());
    }
    hints
}
