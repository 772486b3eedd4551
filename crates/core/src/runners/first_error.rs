//! Where the first error stands in the output of a compiler or a test runner. Later ones often follow from it, and the end
//! of a long output only counts them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// How the line looks that an error begins with, and how many lines before it belong to it. The classes are written out, since
/// this build of `regex` has no tables for those of Unicode.
const ERRORS: [(&str, usize); 20] = [
    // rustc, cargo, clang, swiftc and many others.
    (r"^(?:fatal )?error(?:\[[A-Za-z0-9_]+\])?: ", 0),
    (r"^thread '.*' (?:\([0-9]+\) )?panicked at ", 0),
    // gcc, clang, javac, mypy, ld: `file:12:5: error: …`.
    (r"^[^ \t].*: (?:fatal )?error: ", 0),
    (r"undefined reference to ", 0),
    // tsc, csc, msvc: `file(12,5): error TS2322: …`, `file:12:5 - error TS2322: …`.
    (r"(?:: | - )error [A-Z]{1,6}[0-9]+: ", 0),
    // go: builds and tests.
    (r"^[ \t]*[^ \t]+\.go:[0-9]+(?::[0-9]+)?: ", 0),
    (r"^[ \t]*--- FAIL: ", 0),
    (r"^panic: ", 0),
    // Python: uncaught, pytest, unittest, flake8 and ruff.
    (r"^[ \t]*Traceback \(most recent call last\):", 0),
    (r"^=+ (?:FAILURES|ERRORS) =+$", 0),
    (r"^(?:FAIL|ERROR): [A-Za-z0-9_]+ \(", 0),
    (r"^[^ \t]+:[0-9]+:[0-9]+: [A-Z]{1,4}[0-9]+ ", 0),
    (r"^[ \t]*(?:Syntax|Indentation|Tab)Error: ", 3),
    // jest, vitest, mocha, rspec.
    (r"^[ \t]*● [^ \t]", 0),
    (r"^[ \t]*(?:FAIL|❯|×) +[^ \t]+\.[A-Za-z0-9_]+", 0),
    (r"^(?:Failures:|[ \t]+1\) [^ \t].*)$", 0),
    // eslint: the name of the file stands in a line before.
    (r"^[ \t]+[0-9]+:[0-9]+[ \t]+error[ \t]", 1),
    // TAP, maven.
    (r"^[ \t]*not ok ", 0),
    (r"^\[ERROR\] ", 0),
    // Node, Java and whatever else names its exceptions.
    (
        r"^[ \t]*(?:Exception in thread .*|(?:Uncaught )?[A-Za-z0-9_.]*(?:Error|Exception)(?: \[[A-Za-z0-9_]+\])?: .*)$",
        0,
    ),
];

static PATTERNS: LazyLock<Vec<(Regex, usize)>> = LazyLock::new(|| {
    let compiled = |(pattern, before): (&str, usize)| {
        (Regex::new(pattern).expect("a test looks for each of them"), before)
    };
    ERRORS.into_iter().map(compiled).collect()
});

/// The place of the first error: from the line it begins with to the end of the text.
pub fn first_error(text: &str) -> Option<Range<usize>> {
    let mut starts: Vec<usize> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        starts.push(at);
        at += line.len();
        let is = |(pattern, _): &&(Regex, usize)| pattern.is_match(line.trim_end());
        if let Some((_, before)) = PATTERNS.iter().find(is) {
            let start = starts[starts.len() - 1 - (*before).min(starts.len() - 1)];
            return Some(start..text.len());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line that the first error begins with, between lines that are none.
    fn found(error: &str) -> Option<String> {
        let noise =
            "   Compiling a v0.1.0 (/w/a)\nwarning: unused variable: `x`\n0 errors so far\ntest a ... ok\n";
        let text = format!("{noise}{error}\nerror: aborting due to 2 previous errors\n");
        let at = first_error(&text)?;
        text[at].lines().next().map(str::to_owned)
    }

    #[test]
    fn the_first_error_of_each_tool_is_found() {
        for error in [
            "error[E0432]: unresolved import `crate::parse`",
            "error: expected `;`, found `}`",
            "thread 'tests::adds' panicked at src/lib.rs:7:5:",
            "thread 'tests::adds' (4711) panicked at src/lib.rs:7:5:",
            "src/main.c:12:5: error: 'x' undeclared (first use in this function)",
            "src/main.c:1:10: fatal error: x.h: No such file or directory",
            "/usr/bin/ld: main.o: in function `main': main.c:(.text+0x5): undefined reference to `f'",
            "src/a.ts(12,5): error TS2322: Type 'string' is not assignable to type 'number'.",
            "src/a.ts:12:5 - error TS2322: Type 'string' is not assignable to type 'number'.",
            "Program.cs(3,9): error CS1002: ; expected",
            "./main.go:10:2: undefined: x",
            "    main_test.go:9: got 1, want 2",
            "--- FAIL: TestAdd (0.00s)",
            "panic: runtime error: index out of range [3] with length 3",
            "Traceback (most recent call last):",
            "=================================== FAILURES ===================================",
            "==================================== ERRORS ====================================",
            "FAIL: test_add (tests.Adds.test_add)",
            "app/models.py:1:1: F401 `os` imported but unused",
            "app/models.py:3: error: Incompatible return value type",
            "Foo.java:10: error: cannot find symbol",
            "[ERROR] Failed to execute goal org.apache.maven.plugins",
            "  ● adds › two numbers",
            "FAIL src/add.test.js",
            " FAIL  src/add.test.ts > adds",
            "  1) adds two numbers:",
            "not ok 2 - adds",
            "ReferenceError: x is not defined",
            "TypeError [ERR_INVALID_ARG_TYPE]: The \"path\" argument must be of type string.",
            "Exception in thread \"main\" java.lang.IllegalStateException: no",
        ] {
            assert_eq!(found(error).as_deref(), Some(error));
        }
        let eslint = "/w/src/a.js\n  3:1  error  'x' is not defined  no-undef";
        assert_eq!(found(eslint).as_deref(), Some("/w/src/a.js"));
        let python = "  File \"a.py\", line 1\n    x = (\n        ^\nSyntaxError: '(' was never closed";
        assert_eq!(found(python).as_deref(), Some("  File \"a.py\", line 1"));
    }

    #[test]
    fn what_only_speaks_of_errors_is_none() {
        for fine in [
            "warning: unused",
            "0 errors, 2 warnings",
            "no error: fine",
            "tests/error.rs",
            "Error handling",
            "",
        ] {
            assert_eq!(first_error(fine), None, "{fine}");
        }
    }
}
