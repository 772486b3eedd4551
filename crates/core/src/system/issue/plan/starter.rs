//! The plan that `piton new issue` writes: small, complete, and explained where one looks.

use super::name::folder_name;
use super::{DESIGN, LISTS, REQUIREMENTS};
use crate::plan::BadId;

/// The folder's name, and its files. A slug that cannot be part of a path and a branch is refused.
pub fn starter(number: u64, slug: &str) -> Result<(String, Vec<(String, String)>), BadId> {
    let folder = folder_name(number, slug)?;
    let words = slug.replace(['-', '_'], " ");
    let mut letters = words.chars();
    let title: String = letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let file = |name: &str, text: &str| {
        (name.to_owned(), text.replace("NUMBER", &number.to_string()).replace("TITLE", &title))
    };
    let files =
        vec![file(REQUIREMENTS, REQUIREMENTS_TEXT), file(DESIGN, DESIGN_TEXT), file(LISTS[0], TASKS_TEXT)];
    Ok((folder, files))
}

const REQUIREMENTS_TEXT: &str = "# Requirements: Issue #NUMBER - TITLE

## Introduction

Say here what is wanted, and for whom.

## Glossary

- **Greeting**: one line on standard output

## Requirements

### Requirement 1: Greet by name

**User Story:** As a person at a terminal, I want to be greeted, so that I know that the program is there.

#### Acceptance Criteria

1. WHEN a name is given, THE system SHALL print `Hello, ` and the name
2. WHEN no name is given, THE system SHALL print `Hello!`

### Requirement 2: Be found

**User Story:** As a new user, I want to read how it is called, so that I need not ask.

#### Acceptance Criteria

1. THE README SHALL show how `greet.sh` is called
";

const DESIGN_TEXT: &str = "# Design: Issue #NUMBER - TITLE

## Overview

One script, `greet.sh`, in POSIX shell. Nothing is installed.

## Interfaces

`sh greet.sh [NAME]` prints one line and ends with 0.

## Testing strategy

`test.sh` calls the script with and without a name.
";

const TASKS_TEXT: &str = "# Tasks: Issue #NUMBER - TITLE

<!-- See what this means: `piton plan NUMBER`; work on it: `piton run NUMBER`. Replace these tasks by your own.
     A box with a number is a task. Tasks run one after the other, from top to bottom, each on what the last left.
     Boxes without a number are steps of the task above them. -->

## Tasks

- [ ] 0. Create Feature Branch
  - Piton does this itself
- [ ] 1. Greet
  - [ ] 1.1 Write `greet.sh`
    - print `Hello, ` and the name, or `Hello!` without one
    - Files: `greet.sh`
    - _Requirements: 1.1, 1.2_
  - [ ] 1.2 Write the tests in `test.sh`
    - [ ] with a name
    - [ ] without a name
    - Files: `test.sh`
    - _Requirements: 1.1, 1.2_
- [ ] 2. Checkpoint - It greets
  - `sh test.sh` passes
- [ ] 3. Show in the README how it is called
  - Files: `README.md`
  - _Requirements: 2.1_
- [ ] 4. Final Checkpoint
  - `sh test.sh` passes
  - `grep -q greet.sh README.md` passes
";
