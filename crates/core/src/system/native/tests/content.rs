//! What makes a task another one: its own words, and nothing that the plan says for all.

use super::*;

const PLAN: &str = "[defaults]\nchecks = ['true']\nattempts = 2\n\n\
    [[task]]\nid = 'T1'\ntitle = 'Add a cart'\nprompt = 'Write it.'\nfiles = ['cart.rs']\n\n\
    [[task]]\nid = 'T2'\ntitle = 'Use it'\nprompt = 'Use the cart.'\n";

#[test]
fn words_for_all_tasks_do_not_make_one_another() {
    let old = plan(PLAN, &Config::default());
    let config = read_config("[agents.other]\ncommand = 'x'\n[defaults]\nagent = 'other'\npriority = 2\n").0;
    let others = [
        plan(PLAN, &config),
        plan(&PLAN.replace("'true'", "'make'").replace("attempts = 2", "attempts = 7"), &Config::default()),
        plan(&PLAN.replace("[defaults]", "name = 'Shop'\n[defaults]"), &Config::default()),
    ];
    for (nth, new) in others.iter().enumerate() {
        for (old, new) in old.tasks.iter().zip(&new.tasks) {
            assert!(!new.is_another_than(old.content()), "{}, change {nth}", new.id);
        }
    }
    for (from, to) in
        [("Write it.", "Write it well."), ("Add a cart", "Add a basket"), ("cart.rs", "basket.rs")]
    {
        let new = plan(&PLAN.replace(from, to), &Config::default());
        let is_another = |nth: usize| new.tasks[nth].is_another_than(old.tasks[nth].content());
        assert_eq!([is_another(0), is_another(1)], [true, false], "{to}");
    }
}
