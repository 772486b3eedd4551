//! Outputs of test runners, and what they come to.

use super::*;

fn tests(passed: u64, failed: u64, skipped: u64) -> Option<Tests> {
    Some(Tests { passed, failed, skipped })
}

#[test]
fn cargo_test_is_summed_over_its_crates() {
    let output = "
running 3 tests
test keeps_the_words_only ... ok
test reads::nothing ... ignored, needs a network
test reads::twice ... FAILED

failures:
reads::twice

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.03s

 Running unittests src/lib.rs (target/debug/deps/other-5a1)

running 4 tests
test result: ok. 4 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
";
    assert_eq!(counts(output), tests(5, 1, 1));
    let nothing =
        "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 9 filtered out";
    assert_eq!(counts(nothing), tests(0, 0, 0));
    assert!(ran_none(nothing) && !ran_none(output));
}

#[test]
fn nextest_says_it_once_and_what_failed_tests_printed_is_not_counted() {
    let green = "     Summary [   0.132s] 5 tests run: 5 passed (1 slow, 1 flaky), 2 skipped\n";
    assert_eq!(counts(green), tests(5, 0, 2));
    let red = "
    FAIL [   0.004s] shop cart::adds
  stdout ───
running 1 test
test cart::adds ... FAILED
test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.00s
  Cancelling due to test failure
────────────
 Summary [   0.018s] 4/8 tests run: 2 passed, 1 failed, 1 timed out, 0 skipped
    FAIL [   0.004s] shop cart::adds
";
    assert_eq!(counts(red), tests(2, 2, 0));
    let with_docs = format!("{green}\n   Doc-tests shop\n\ntest result: ok. 3 passed; 0 failed; 1 ignored\n");
    assert_eq!(counts(&with_docs), tests(8, 0, 3));
    assert_eq!(counts("Summary [ 0.000s] 0 tests run: 0 passed, 12 skipped"), tests(0, 0, 12));
}

#[test]
fn pytest_is_read_with_and_without_its_frame() {
    let framed = "======== 2 failed, 17 passed, 3 skipped, 1 xfailed, 1 xpassed, 4 warnings, 1 error in 61.40s (0:01:01) ========";
    assert_eq!(counts(framed), tests(18, 3, 4));
    assert_eq!(counts("....s                     [100%]\n4 passed, 1 skipped in 0.05s\n"), tests(4, 0, 1));
    assert_eq!(counts("========== no tests ran in 0.01s =========="), tests(0, 0, 0));
    assert_eq!(counts("====== 12 deselected, 1 warning in 0.33s ======"), tests(0, 0, 0));
    assert_eq!(counts("3 warnings in 0.4s"), None);
    assert_eq!(counts("compiled in 0.4s"), None);
}

#[test]
fn jest_and_vitest_are_told_apart_by_their_summaries() {
    let jest = "
Test Suites: 1 failed, 3 passed, 4 total
Tests:       1 failed, 2 skipped, 1 todo, 20 passed, 24 total
Snapshots:   0 total
Time:        2.31 s
";
    assert_eq!(counts(jest), tests(20, 1, 3));
    assert_eq!(counts("Test Suites: 1 failed, 1 total\nTests:       0 total\n"), tests(0, 0, 0));
    assert!(ran_none("No tests found, exiting with code 0"));
    let vitest = "
 Test Files  1 failed | 2 passed (3)
  Tests  1 failed | 12 passed | 2 skipped | 1 todo (16)
   Start at  10:11:12
";
    assert_eq!(counts(vitest), tests(12, 1, 3));
    assert_eq!(counts("      Tests  7 passed (7)"), tests(7, 0, 0));
    assert_eq!(counts(" Test Files  1 failed (1)\n      Tests  no tests\n"), tests(0, 0, 0));
    assert!(ran_none("No test files found, exiting with code 0"));
}

#[test]
fn node_tells_a_line_each() {
    let node = "# tests 6\n# suites 1\n# pass 4\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n";
    assert_eq!(counts(node), tests(4, 1, 1));
    assert_eq!(counts(&node.replace("# ", "ℹ ")), tests(4, 1, 1));
    assert_eq!(counts("# tests 2\n# pass  2\n\n# ok\n"), tests(2, 0, 0));
    assert_eq!(counts("# tests 0\n# pass 0\n"), tests(0, 0, 0));
    assert_eq!(counts("# tests 3\n"), None);
}

#[test]
fn go_names_its_tests_only_when_asked_to() {
    let plain = "ok  \texample.com/shop/cart\t0.012s\n?   \texample.com/shop\t[no test files]\n";
    assert_eq!(counts(plain), None);
    assert!(!ran_none(plain));
    assert_eq!(counts("--- FAIL: TestAdds (0.00s)\nFAIL\nFAIL\texample.com/shop/cart\t0.01s\n"), None);
    let verbose = "
=== RUN   TestAdds
=== RUN   TestAdds/twice
--- FAIL: TestAdds (0.00s)
--- FAIL: TestAdds/twice (0.00s)
=== RUN   TestEmpty
--- PASS: TestEmpty (0.00s)
=== RUN   TestRemote
--- SKIP: TestRemote (0.00s)
FAIL
FAIL\texample.com/shop/cart\t0.012s
";
    assert_eq!(counts(verbose), tests(1, 2, 1));
    for none in ["?   \ta\t[no test files]", "ok  \ta\t0.1s [no tests to run]"] {
        assert_eq!(counts(none), tests(0, 0, 0), "{none}");
    }
}

#[test]
fn go_s_events_are_read() {
    let json = r#"
{"Time":"2026-01-02T10:00:00Z","Action":"start","Package":"shop/cart"}
{"Action":"run","Package":"shop/cart","Test":"TestAdds"}
{"Action":"output","Package":"shop/cart","Test":"TestAdds","Output":"--- PASS: TestAdds (0.00s)\n"}
{"Action":"pass","Package":"shop/cart","Test":"TestAdds","Elapsed":0}
{"Action":"run","Package":"shop/cart","Test":"TestSlow"}
{"Action":"skip","Package":"shop/cart","Test":"TestSlow","Elapsed":0}
{"Action":"run","Package":"shop/cart","Test":"TestTakes"}
{"Action":"fail","Package":"shop/cart","Test":"TestTakes","Elapsed":0}
{"Action":"fail","Package":"shop/cart","Elapsed":0.01}
"#;
    assert_eq!(counts(json), tests(1, 1, 1));
    assert_eq!(counts(r#"{"Action":"skip","Package":"shop","Elapsed":0}"#), tests(0, 0, 0));
    assert_eq!(counts(r#"{"Action":"fail","Package":"shop","Elapsed":0}"#), None);
    assert_eq!(counts(r#"{"Action":"pass"}"#), None);
}

#[test]
fn junit_is_counted_case_by_case() {
    let report = r#"<?xml version="1.0"?>
<testsuites tests="99">
  <testsuite name="cart" tests="4" failures="1">
<testcase name="adds" time="0.1"/>
<testcase name="a > b"><system-out><![CDATA[<testcase name="not one"/>]]></system-out></testcase>
<testcase name="takes"><failure message="1 &lt; 2">no</failure></testcase>
<testcase name="pays"><error/></testcase>
<!-- <testcase name="nor this"/> -->
<testcase name="later"><skipped message="not yet"/></testcase>
  </testsuite>
</testsuites>
"#;
    assert_eq!(counts(report), tests(2, 2, 1));
    assert_eq!(counts(&format!("{report}\n1 < 2, and that's it\n== 5 passed in 1s ==")), tests(2, 2, 1));
    assert_eq!(counts(r#"<testsuites tests="0" failures="0"></testsuites>"#), tests(0, 0, 0));
    assert_eq!(counts(&report[..report.find("<failure").expect("it is there")]), None);
    assert_eq!(counts("the report has a <testsuite> at its root"), None);
}

#[test]
fn colours_do_not_hide_a_summary_and_two_runners_are_added_up() {
    let coloured =
        "\u{1b}[1m\u{1b}[32m==== \u{1b}[1m3 passed\u{1b}[0m\u{1b}[32m in 0.10s\u{1b}[0m ====\u{1b}[0m";
    assert_eq!(counts(coloured), tests(3, 0, 0));
    let both = format!("{coloured}\r\nTests:       2 passed, 2 total\r\n");
    assert_eq!(counts(&both), tests(5, 0, 0));
}

#[test]
fn people_may_say_it_in_a_line() {
    assert_eq!(reported_counts("12 passed, 1 failed, 2 skipped"), tests(12, 1, 2));
    assert_eq!(reported_counts("0 passed"), tests(0, 0, 0));
    assert_eq!(reported_counts("==== 3 passed in 0.1s ===="), tests(3, 0, 0));
    for unknown in ["", "all green", "12", "3 warnings"] {
        assert_eq!(reported_counts(unknown), None, "{unknown}");
    }
}

#[test]
fn what_no_runner_said_is_unknown() {
    for output in
        ["", "all 12 tests passed", "test result: great", "Tests: many", "# Chapter 3", "{}", "0 errors"]
    {
        assert_eq!(counts(output), None, "{output:?}");
        assert!(!ran_none(output), "{output:?}");
    }
}

/// What a runner prints, and what it comes to: first where it finds no test and ends with 0, then where it finds some.
struct Runner {
    name: &'static str,
    none: &'static [&'static str],
    some: &'static [(&'static str, (u64, u64, u64))],
}

/// Printed by the programs themselves: unittest and nose2 (Python 3.11), mocha 11, jasmine 5, tape 5, node 20, deno 2, bun
/// 1.4, prove 3.44, rspec 3.12, PHPUnit 9.6, CTest 3.25, go 1.19, jest 30, vitest 4, pytest 9.
const PRINTED: &[Runner] = &[
    Runner {
        name: "unittest",
        none: &[
            "\n----------------------------------------------------------------------\nRan 0 tests in 0.000s\n\nOK\n",
        ],
        some: &[
            (".s.\n-----\nRan 3 tests in 0.000s\n\nOK (skipped=1)\n", (2, 0, 1)),
            (
                "FAIL: test_a (test_b.T.test_a)\n-----\nRan 6 tests in 0.015s\n\nFAILED (failures=1, errors=1, \
                 skipped=1, expected failures=1)\n",
                (2, 2, 2),
            ),
        ],
    },
    Runner {
        name: "mocha",
        none: &["\n\n  0 passing (1ms)\n\n", "# tests 0\n# pass 0\n# fail 0\n1..0\n"],
        some: &[
            ("\n\n  x\n    ✔ a\n    - b\n    - todo\n\n\n  1 passing (43ms)\n  2 pending\n\n", (1, 0, 2)),
            ("ok 1 x a\nok 2 x b # SKIP -\n# tests 1\n# pass 1\n# fail 0\n1..3\n", (1, 0, 0)),
            ("  2 passing (1s)\n  1 failing\n", (2, 1, 0)),
        ],
    },
    Runner {
        name: "jasmine",
        none: &["Started\n\n\nNo specs found\nFinished in 0.004 seconds\nIncomplete: No specs found\n"],
        some: &[(
            "Started\n*.\n\n2 specs, 0 failures, 1 pending spec\nFinished in 0.037 seconds\n",
            (1, 0, 1),
        )],
    },
    Runner {
        name: "tape",
        none: &["TAP version 13\n\n1..0\n# tests 0\n# pass  0\n\n# ok\n\n"],
        some: &[(
            "TAP version 13\n# a\nok 1 should be truthy\n\n1..1\n# tests 1\n# pass  1\n\n# ok\n",
            (1, 0, 0),
        )],
    },
    Runner {
        name: "node --test",
        none: &[
            "TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
            "TAP version 13\n# Subtest: /p/none.test.js\nok 1 - /p/none.test.js\n  ---\n  duration_ms: 258.5\n  ...\n1..1\n\
             # tests 1\n# suites 0\n# pass 1\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
            "✔ /p/none.test.js (41.52ms)\nℹ tests 1\nℹ suites 0\nℹ pass 1\nℹ fail 0\nℹ cancelled 0\n",
        ],
        some: &[(
            "TAP version 13\n# Subtest: a\nok 1 - a\n  ---\n  duration_ms: 1.5\n  ...\n1..1\n# tests 1\n# suites 0\n# pass \
             1\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n",
            (1, 0, 0),
        )],
    },
    Runner {
        name: "deno",
        none: &[
            "Check none_test.ts\nrunning 0 tests from ./none_test.ts\n\nok | 0 passed | 0 failed (14ms)\n",
            "\nok | 0 passed | 0 failed (0ms)\n",
        ],
        some: &[
            (
                "running 2 tests from ./a_test.ts\na ... ok (45ms)\n\nok | 1 passed | 0 failed | 1 ignored (53ms)\n",
                (1, 0, 1),
            ),
            ("FAILED | 2 passed (3 steps) | 1 failed (1 step) (80ms)\n", (2, 1, 0)),
        ],
    },
    Runner {
        name: "bun",
        none: &[
            "bun test v1.4.4\n\nnone.test.ts:\n\n 0 pass\n 0 fail\nRan 0 tests across 1 file. [7.00ms]\n",
        ],
        some: &[(
            "(pass) a [0.16ms]\n(skip) b\n\n 1 pass\n 1 skip\n 0 fail\n 1 expect() calls\nRan 2 tests across 1 file. [69.00ms]\n",
            (1, 0, 1),
        )],
    },
    Runner {
        name: "prove",
        none: &[
            "t/a.t .. skipped: no\nFiles=1, Tests=0,  0 wallclock secs ( 0.02 usr +  0.05 CPU)\nResult: NOTESTS\n",
            "Files=0, Tests=0,  0 wallclock secs ( 0.00 usr +  0.00 sys =  0.00 CPU)\nResult: NOTESTS\n",
        ],
        some: &[(
            "t/a.t .. ok\nAll tests successful.\nFiles=1, Tests=2,  0 wallclock secs\nResult: PASS\n",
            (2, 0, 0),
        )],
    },
    Runner {
        name: "rspec",
        none: &[
            "No examples found.\n\n\nFinished in 0.0004 seconds (files took 0.13 seconds to load)\n0 examples, 0 failures\n",
        ],
        some: &[
            (".*\n\nFinished in 0.00697 seconds\n2 examples, 0 failures, 1 pending\n", (1, 0, 1)),
            ("3 examples, 1 failure\n", (2, 1, 0)),
            ("0 examples, 0 failures, 1 error occurred outside of examples\n", (0, 1, 0)),
        ],
    },
    Runner {
        name: "phpunit",
        none: &[
            "PHPUnit 9.6.7 by Sebastian Bergmann and contributors.\n\nNo tests executed!\n",
            "1) Warning\nNo tests found in class \"BTest\".\n\nWARNINGS!\nTests: 1, Assertions: 0, Warnings: 1.\n",
        ],
        some: &[
            (
                "OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Skipped: 1.\n",
                (1, 0, 1),
            ),
            ("OK (3 tests, 3 assertions)\n", (3, 0, 0)),
            ("FAILURES!\nTests: 4, Assertions: 5, Errors: 1, Failures: 1.\n", (2, 2, 0)),
        ],
    },
    Runner {
        name: "ctest",
        none: &["Test project /p/build\nNo tests were found!!!\n"],
        some: &[(
            "1/2 Test #1: a ....   Passed    0.00 sec\n\n100% tests passed, 0 tests failed out of 2\n",
            (2, 0, 0),
        )],
    },
    Runner {
        name: "go",
        none: &["?   \tx/a\t[no test files]\n", "ok  \tx/b\t0.020s [no tests to run]\n"],
        some: &[("=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tx/b\t0.002s\n", (1, 0, 0))],
    },
    Runner {
        name: "jest",
        none: &["No tests found, exiting with code 0\n", "Tests:       1 skipped, 1 total\n"],
        some: &[("Test Suites: 1 passed, 1 total\nTests:       1 skipped, 1 passed, 2 total\n", (1, 0, 1))],
    },
    Runner {
        name: "vitest",
        none: &[
            "No test files found, exiting with code 0\n",
            " Test Files  1 skipped (1)\n      Tests  1 skipped (1)\n",
        ],
        some: &[(" Test Files  1 passed (1)\n      Tests  1 passed | 1 skipped (2)\n", (1, 0, 1))],
    },
    Runner {
        name: "pytest",
        none: &["collected 0 items\n\n======== no tests ran in 0.06s =========\n"],
        some: &[(".s.          [100%]\n2 passed, 1 skipped in 0.02s\n", (2, 0, 1))],
    },
];

/// As their documentation and sources have it.
const DOCUMENTED: &[Runner] = &[
    Runner {
        name: "dotnet test",
        none: &[
            "No test is available in /p/shop.dll. Make sure that test discoverer & executors are registered.\n",
            "No test matches the given testcase filter `Name=x` in /p/shop.dll\n",
            "Test run summary: Zero tests ran - shop.dll (net8.0|x64)\n  total: 0\n  failed: 0\n  succeeded: 0\n  skipped: 0\n",
        ],
        some: &[
            (
                "Passed!  - Failed:     0, Passed:     3, Skipped:     1, Total:     4, Duration: 5 ms - shop.dll (net8.0)\n",
                (3, 0, 1),
            ),
            (
                "Test run summary: Failed! - shop.dll\n  total: 4\n  failed: 1\n  succeeded: 2\n  skipped: 1\n",
                (2, 1, 1),
            ),
        ],
    },
    Runner {
        name: "maven surefire",
        none: &[
            "[INFO] --- surefire:3.2.5:test (default-test) @ shop ---\n[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n",
        ],
        some: &[(
            "[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.03 s -- in shop.CartTest\n[INFO] \n[INFO] \
             Results:\n[INFO] \n[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n",
            (2, 0, 1),
        )],
    },
    Runner {
        name: "gradle",
        none: &[
            "> Task :compileTestJava NO-SOURCE\n> Task :testClasses UP-TO-DATE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n",
        ],
        some: &[],
    },
    Runner {
        name: "ExUnit",
        none: &["There are no tests to run\n", "\nFinished in 0.02 seconds\n0 tests, 0 failures\n"],
        some: &[
            (
                "Finished in 0.1 seconds (0.00s async, 0.1s sync)\n1 doctest, 3 tests, 0 failures, 1 skipped\n",
                (3, 0, 1),
            ),
            ("2 tests, 1 failure (1 excluded)\n", (1, 1, 0)),
        ],
    },
    Runner {
        name: "minitest and test-unit",
        none: &["0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n"],
        some: &[
            ("3 runs, 4 assertions, 1 failures, 0 errors, 1 skips\n", (1, 1, 1)),
            (
                "2 tests, 2 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n",
                (2, 0, 0),
            ),
        ],
    },
    Runner {
        name: "googletest",
        none: &[
            "[==========] Running 0 tests from 0 test suites.\n[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.\n",
        ],
        some: &[(
            "[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Cart.Adds\n",
            (2, 1, 0),
        )],
    },
    Runner {
        name: "Catch2",
        none: &["No tests ran\n"],
        some: &[
            ("All tests passed (3 assertions in 1 test case)\n", (1, 0, 0)),
            ("test cases: 2 | 1 passed | 1 failed\nassertions: 2 | 1 passed | 1 failed\n", (1, 1, 0)),
        ],
    },
    Runner {
        name: "sbt",
        none: &["[info] No tests were executed.\n"],
        some: &[("[info] Passed: Total 3, Failed 0, Errors 0, Passed 3, Skipped 1\n", (3, 0, 1))],
    },
    Runner {
        name: "clojure.test",
        none: &["\nRan 0 tests containing 0 assertions.\n0 failures, 0 errors.\n"],
        some: &[("\nRan 3 tests containing 5 assertions.\n1 failures, 0 errors.\n", (2, 1, 0))],
    },
    Runner {
        name: "swift test",
        none: &[
            "Test Suite 'All tests' passed.\n\t Executed 0 tests, with 0 failures (0 unexpected) in 0.000 (0.000) seconds\n",
        ],
        some: &[
            (
                "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n\t Executed 3 tests, with 1 test \
                 skipped and 1 failure (0 unexpected) in 0.1 (0.1) seconds\n",
                (1, 1, 1),
            ),
            ("✔ Test run with 3 tests in 1 suite passed after 0.001 seconds.\n", (3, 0, 0)),
        ],
    },
    Runner {
        name: "TAP without a summary, such as bats",
        none: &["1..0\n", "TAP version 13\n1..0 # SKIP no tests\n"],
        some: &[("1..3\nok 1 adds\nnot ok 2 takes\nok 3 pays # skip later\n", (1, 1, 1))],
    },
];

#[test]
fn every_runner_that_finds_no_test_is_heard_to_say_so() {
    for Runner { name, none, some } in PRINTED.iter().chain(DOCUMENTED) {
        for output in *none {
            assert!(ran_none(output), "{name}: {output}");
        }
        for (output, (passed, failed, skipped)) in *some {
            assert_eq!(counts(output), tests(*passed, *failed, *skipped), "{name}: {output}");
            assert!(!ran_none(output), "{name}: {output}");
        }
    }
}

#[test]
fn one_package_without_tests_takes_nothing_from_the_others() {
    for Runner { name, none, some } in PRINTED.iter().chain(DOCUMENTED) {
        let (Some(none), Some((output, _))) = (none.first(), some.first()) else { continue };
        for both in [format!("{none}\n{output}"), format!("{output}\n{none}")] {
            assert!(!ran_none(&both), "{name}: {both}");
        }
    }
    // Gradle says no number: what ran is unknown, not nothing. A build is not asked for tests.
    for ran in [
        "> Task :a:test NO-SOURCE\n> Task :b:test\n",
        "> Task :a:test NO-SOURCE\n> Task :b:test UP-TO-DATE\n",
    ] {
        assert_eq!(counts(ran), None);
    }
    assert_eq!(counts("> Task :test NO-SOURCE\n> Task :assemble\n> Task :build\n"), None);
}

#[test]
fn words_that_only_resemble_a_summary_are_no_summary() {
    for output in [
        "Ran 3 migrations in 1s",
        "Ran 0 checks",
        "3 passing cars",
        "2 pending",
        "0 failures",
        "3 files, 0 failures",
        "1 pass",
        "Tests run: many",
        "Result: PASS",
        "OK",
        "ok | fine",
        "> Task :compileJava",
        "Passed: all",
        "1..10",
        "[  OK  ] Started the server",
        "No tests ran because nobody asked",
    ] {
        assert_eq!(counts(output), None, "{output:?}");
    }
}
