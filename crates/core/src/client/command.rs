//! Any program that takes a prompt, on standard input or in a file.

use super::{Client, Launch, Start};
use crate::plan::PromptBy;

#[derive(Debug)]
pub(super) struct Command;

impl Client for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn start(&self, start: &Start<'_>) -> Result<Launch, String> {
        let words = start.agent.command.iter().chain(&start.agent.args);
        Ok(Launch {
            words: words.map(|word| word.replace("{prompt}", start.prompt)).collect(),
            reads_prompt_file: start.agent.prompt == PromptBy::File,
            ..Launch::default()
        })
    }
}
