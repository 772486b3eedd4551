//! The difference between two texts, line by line, as `diff -u` shows it.

use std::ops::Range;

/// More lines than these, added and removed, are shown as one change: finding the smallest takes their square.
const MOST: usize = 1000;

/// Changes that are near each other, with the lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk<'a> {
    /// Where it is in both texts: `@@ -1,2 +1,3 @@`.
    pub header: String,
    /// The numbers of its first line in the old text and in the new one, counted from 1.
    pub at: (usize, usize),
    /// Each line as it ends in its text, with its sign: `-`, `+` or a space.
    pub lines: Vec<(char, &'a str)>,
}

/// The hunks of a difference, with so many lines around each change.
pub fn hunks<'a>(old: &'a str, new: &'a str, around: usize) -> Vec<Hunk<'a>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut lines = Vec::new();
    let (mut x, mut y) = (0, 0);
    for (i, j) in common(&old, &new).into_iter().chain([(old.len(), new.len())]) {
        lines.extend(old[x..i].iter().map(|line| ('-', *line)));
        lines.extend(new[y..j].iter().map(|line| ('+', *line)));
        lines.extend(old.get(i).map(|line| (' ', *line)));
        (x, y) = (i + 1, j + 1);
    }
    let mut hunks = Vec::new();
    let mut shown: Option<Range<usize>> = None;
    let changed = lines.iter().enumerate().filter(|(_, (sign, _))| *sign != ' ').map(|(at, _)| at);
    for at in changed {
        let near = at.saturating_sub(around)..at.saturating_add(around).saturating_add(1).min(lines.len());
        match &mut shown {
            Some(shown) if near.start <= shown.end => shown.end = near.end,
            shown => hunks.extend(shown.replace(near).map(|before| hunk(&lines, before))),
        }
    }
    hunks.extend(shown.map(|last| hunk(&lines, last)));
    hunks
}

/// The whole difference with the names of both texts above it. Empty if there is none.
pub fn unified(old: &str, new: &str, names: (&str, &str), around: usize) -> String {
    let hunks = hunks(old, new, around);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", names.0, names.1);
    for hunk in hunks {
        text.push_str(&hunk.header);
        text.push('\n');
        for (sign, line) in hunk.lines {
            text.push(sign);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Where so many lines from `first` on, counted from 1, are in the new text, if all of them are there together.
pub fn line_now(old: &str, new: &str, first: usize, lines: usize) -> Option<usize> {
    let old: Vec<&str> = old.lines().collect();
    let new: Vec<&str> = new.lines().collect();
    let wanted = first.checked_sub(1)?..(first - 1).checked_add(lines)?;
    let kept: Vec<usize> =
        common(&old, &new).into_iter().filter(|(i, _)| wanted.contains(i)).map(|(_, j)| j).collect();
    let is_together = kept.windows(2).all(|pair| pair[1] == pair[0] + 1);
    kept.first().filter(|_| kept.len() == lines && is_together).map(|at| at + 1)
}

fn hunk<'a>(all: &[(char, &'a str)], shown: Range<usize>) -> Hunk<'a> {
    let count = |lines: &[(char, &str)], other: char| lines.iter().filter(|(sign, _)| *sign != other).count();
    let (before, lines) = (&all[..shown.start], &all[shown]);
    let range = |other: char| match (count(before, other), count(lines, other)) {
        (start, 1) => format!("{}", start + 1),
        (start, 0) => format!("{start},0"),
        (start, count) => format!("{},{count}", start + 1),
    };
    let at = (count(before, '+') + 1, count(before, '-') + 1);
    Hunk { header: format!("@@ -{} +{} @@", range('+'), range('-')), at, lines: lines.to_vec() }
}

/// The lines that both have, by their numbers, as many as possible.
fn common(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let first = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let rest = old[first..].iter().rev().zip(new[first..].iter().rev());
    let last = rest.take_while(|(old, new)| old == new).count();
    let (x, y) = (old.len() - last, new.len() - last);
    let between = between(&old[first..x], &new[first..y]);
    let between = between.into_iter().map(|(i, j)| (first + i, first + j));
    (0..first).map(|i| (i, i)).chain(between).chain((0..last).map(|i| (x + i, y + i))).collect()
}

/// Myers' greedy search: with each further change, how far the old text is matched on each diagonal.
fn between(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let (n, m) = (old.len(), new.len());
    let most = (n + m).min(MOST);
    // A diagonal is what the old text is ahead of the new one; its place here has to be positive.
    let (middle, end) = (most + 1, (n + most + 1).wrapping_sub(m));
    let mut reached = vec![0; 2 * most + 3];
    let mut rounds = Vec::new();
    for changes in 0..=most {
        rounds.push(reached.clone());
        for at in (middle - changes..=middle + changes).step_by(2) {
            let mut x = step(&reached, at, middle, changes).1;
            while x < n && x + middle - at < m && old[x] == new[x + middle - at] {
                x += 1;
            }
            reached[at] = x;
            if at == end && x >= n {
                return way_back(&rounds, (n, at), middle);
            }
        }
    }
    Vec::new()
}

/// The diagonal from which another one is reached with one change more, and how far.
fn step(reached: &[usize], at: usize, middle: usize, changes: usize) -> (usize, usize) {
    if changes == 0 {
        return (at, 0);
    }
    let adds = at == middle - changes || at != middle + changes && reached[at - 1] < reached[at + 1];
    if adds { (at + 1, reached[at + 1]) } else { (at - 1, reached[at - 1] + 1) }
}

fn way_back(rounds: &[Vec<usize>], (mut x, mut at): (usize, usize), middle: usize) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (changes, reached) in rounds.iter().enumerate().rev() {
        let (from, begin) = step(reached, at, middle, changes);
        while x > begin {
            x -= 1;
            pairs.push((x, x + middle - at));
        }
        (x, at) = (reached[from], from);
    }
    pairs.reverse();
    pairs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_difference_looks_as_diff_shows_it() {
        let (old, new) = ("a\nb\nc\nd\ne\nf\ng\nh\n", "a\nB\nc\nd\ne\nf\nf2\ng\nh");
        assert_eq!(
            unified(old, new, ("one", "two"), 1),
            "--- one\n+++ two\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -6,3 +6,4 @@\n f\n+f2\n g\n-h\n+h\n\\ No newline at end of file\n"
        );
        assert_eq!(
            unified("", "x\n", ("/dev/null", "new"), 2),
            "--- /dev/null\n+++ new\n@@ -0,0 +1 @@\n+x\n"
        );
        assert_eq!(
            unified("x\ny\n", "", ("old", "/dev/null"), 2),
            "--- old\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x\n-y\n"
        );
        assert_eq!(unified("x\n", "x\n", ("a", "b"), 2), "");
    }

    #[test]
    fn changes_that_are_near_share_a_hunk() {
        let text = |changed: &[usize]| -> String {
            (0..20).map(|i| format!("{i}{}\n", if changed.contains(&i) { "!" } else { "" })).collect()
        };
        let count = |changed: &[usize]| hunks(&text(&[]), &text(changed), 2).len();
        assert_eq!((count(&[3, 8]), count(&[3, 9]), count(&[0, 19])), (1, 2, 2));
    }

    #[test]
    fn texts_that_have_little_in_common_are_shown_as_one_change() {
        let lines = |from: usize| (from..from + 5000).map(|i| format!("{i}\n")).collect::<String>();
        let (old, new) = (lines(0), lines(4000));
        let hunks = hunks(&old, &new, 1);
        assert_eq!(hunks.len(), 1);
        assert_eq!(hunks[0].header, "@@ -1,5000 +1,5000 @@");
    }

    /// The length of the longest common subsequence, by the book.
    fn longest(old: &[&str], new: &[&str]) -> usize {
        let mut row = vec![0; new.len() + 1];
        for a in old {
            let mut diagonal = 0;
            for (j, b) in new.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if a == b { diagonal + 1 } else { above.max(row[j]) };
                diagonal = above;
            }
        }
        row[new.len()]
    }

    proptest! {
        #[test]
        fn both_texts_are_in_their_difference_and_it_is_the_smallest(
            old in "([abc]\n){0,12}[abc]?",
            new in "([abc]\n){0,12}[abc]?",
        ) {
            let all = hunks(&old, &new, usize::MAX);
            let side = |other: char| -> String {
                let lines = all.iter().flat_map(|hunk| &hunk.lines);
                lines.filter(|(sign, _)| *sign != other).map(|(_, line)| *line).collect()
            };
            if old == new {
                prop_assert!(all.is_empty());
            } else {
                prop_assert_eq!((side('+'), side('-')), (old.clone(), new.clone()));
            }
            let (old, new): (Vec<&str>, Vec<&str>) =
                (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
            prop_assert_eq!(common(&old, &new).len(), longest(&old, &new));
        }
    }
}
