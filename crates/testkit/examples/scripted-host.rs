//! What tests put in the place of `gh` and `glab`.

fn main() -> std::process::ExitCode {
    piton_testkit::hosts::main()
}
