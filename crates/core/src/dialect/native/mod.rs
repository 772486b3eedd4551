//! Native.

#[cfg(test)]
pub(crate) mod testing {
    //! Small plans for the tests of other rooms.

    use crate::plan::{Argv, Check, TaskId, TaskSpec};
    use crate::time::Span;

    pub(crate) fn task(id: &str, depends_on: &[&str]) -> TaskSpec {
        TaskSpec {
            id: TaskId::new(id).expect("valid"),
            title: format!("Do {id}"),
            prompt: format!("Please do {id}"),
            group: 0,
            depends_on: depends_on.iter().map(|d| TaskId::new(d).expect("valid")).collect(),
            files: Vec::new(),
            criteria: Vec::new(),
            checks: vec![Check { name: "true".into(), run: Argv::parse("true"), timeout: Span::minutes(5) }],
            priority: 50,
            agent: "default".into(),
            attempts: 3,
            confirm: false,
            may_change_nothing: false,
            timeout: Span::minutes(30),
            silence: None,
        }
    }

    pub(crate) fn tasks(of: &[(&str, &[&str])]) -> Vec<TaskSpec> {
        of.iter().map(|(id, needs)| task(id, needs)).collect()
    }
}
