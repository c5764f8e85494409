//! Parses the command line, runs it, and says in words why it failed.

fn main() -> std::process::ExitCode {
    prickle::cli::main()
}
