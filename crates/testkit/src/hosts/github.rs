//! The scripted `gh`: as much of it as Piton uses, with the messages and exit codes of gh 2.102.

use serde_json::{Value, json};

use super::acts::{self, NotOpened, Obstacle};
use super::args::Args;
use super::github_json as show;
use super::reply::{Reply, Said, json, line, nothing, said};
use super::repository::Repository;
use super::state::{CheckResult, Comment, Method, Phase, State};

pub(super) struct Gh<'a> {
    pub(super) state: &'a mut State,
    pub(super) repository: &'a Repository,
    pub(super) stdin: &'a str,
}

pub(super) const REPO: &str = "--repo|-R";
pub(super) const JSON: [&str; 3] = ["--json", "--jq|-q", REPO];

pub(super) fn answer(mut gh: Gh<'_>, args: &[String]) -> Said {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    if words == ["--version"] {
        return Ok(line("gh version 2.102.0 (2026-09-30)"));
    }
    if let ["auth", "status", ..] = words.as_slice() {
        return gh.auth(&args[2..]);
    }
    if !gh.state.rules.logged_in {
        return Err(said(
            4,
            "To get started with GitHub CLI, please run:  gh auth login\nAlternatively, populate the GH_TOKEN environment variable with a GitHub API authentication token.",
        ));
    }
    match words.as_slice() {
        ["repo", "view", ..] => gh.repo(&args[2..]),
        ["pr", "create", ..] => gh.create(&args[2..]),
        ["pr", "view", ..] => gh.view(&args[2..]),
        ["pr", "list", ..] => gh.list(&args[2..]),
        ["pr", "edit", ..] => gh.edit(&args[2..]),
        ["pr", "comment", ..] => gh.comment(&args[2..], true),
        ["pr", "merge", ..] => gh.merge(&args[2..]),
        ["pr", "checks", ..] => gh.checks(&args[2..]),
        ["pr", "ready", ..] => gh.ready(&args[2..]),
        ["pr", "close", ..] => gh.close(&args[2..]),
        ["pr", "update-branch", ..] => gh.update_branch(&args[2..]),
        ["run", "view", ..] => gh.run(&args[2..]),
        ["issue", "list", ..] => gh.issues(&args[2..]),
        ["issue", "view", ..] => gh.issue(&args[2..]),
        ["issue", "edit", ..] => gh.edit_issue(&args[2..]),
        ["issue", "comment", ..] => gh.comment(&args[2..], false),
        ["issue", "close", ..] => gh.close_issue(&args[2..], true),
        ["issue", "reopen", ..] => gh.close_issue(&args[2..], false),
        ["api", ..] => gh.api(&args[1..]),
        _ => Err(said(1, format!("unknown command {:?} for \"gh\"", words.join(" ")))),
    }
}

fn no_request(number: u64) -> Reply {
    let problem = format!("Could not resolve to a PullRequest with the number of {number}.");
    said(1, format!("GraphQL: {problem} (repository.pullRequest)"))
}

impl Gh<'_> {
    fn auth(&self, args: &[String]) -> Said {
        let args = Args::read(args, &["--hostname|-h", "--json"], &["--active|-a"])?;
        let logged_in = self.state.rules.logged_in;
        if args.get("--json").is_some() {
            let account = json!([{"state": "success", "active": true, "host": self.state.host, "login": "me", "tokenSource": "keyring", "gitProtocol": "ssh"}]);
            let host = self.state.host.clone();
            return Ok(json(&if logged_in {
                json!({"hosts": {host: account}})
            } else {
                json!({"hosts": {}})
            }));
        }
        if logged_in {
            return Ok(line(format!(
                "{}\n  ✓ Logged in to {0} account me (keyring)\n  - Active account: true",
                self.state.host
            )));
        }
        Err(said(1, "You are not logged into any GitHub hosts. To log in, run: gh auth login"))
    }

    /// A wrong repository is not found.
    pub(super) fn meant(&self, args: &Args) -> Said<()> {
        let (host, name) = (&self.state.host, self.state.full_name());
        let meant = args.get("--repo").map(str::to_owned).or_else(|| std::env::var("GH_REPO").ok());
        match meant {
            Some(meant) if meant != name && meant != format!("{host}/{name}") => Err(said(
                1,
                format!("GraphQL: Could not resolve to a Repository with the name '{meant}'. (repository)"),
            )),
            _ => Ok(()),
        }
    }

    fn repo(&self, args: &[String]) -> Said {
        let args = Args::read(args, &JSON, &[])?;
        if args.word(0).is_none() {
            self.meant(&args)?;
        }
        let allows = |method| self.state.rules.methods.contains(&method);
        let all = json!({
            "nameWithOwner": self.state.full_name(), "name": self.state.name, "owner": {"login": self.state.owner},
            "url": format!("https://{}/{}", self.state.host, self.state.full_name()),
            "defaultBranchRef": {"name": "main"}, "isPrivate": true, "viewerPermission": "WRITE",
            "mergeCommitAllowed": allows(Method::Merge), "squashMergeAllowed": allows(Method::Squash),
            "rebaseMergeAllowed": allows(Method::Rebase), "deleteBranchOnMerge": self.state.rules.delete_branches,
        });
        let wanted = args.get("--json").unwrap_or("name,url").split(',');
        let mut picked = serde_json::Map::new();
        for field in wanted {
            let value = all
                .get(field)
                .ok_or_else(|| said(1, format!("Unknown JSON field: \"{field}\"\nAvailable fields:")))?;
            picked.insert(field.to_owned(), value.clone());
        }
        Ok(json(&Value::Object(picked)))
    }

    pub(super) fn body(&self, args: &Args) -> Said<Option<String>> {
        Ok(match (args.get("--body"), args.get("--body-file")) {
            (Some(body), _) => Some(body.to_owned()),
            (None, Some("-")) => Some(self.stdin.to_owned()),
            (None, Some(path)) => Some(
                std::fs::read_to_string(path).map_err(|error| said(1, format!("open {path}: {error}")))?,
            ),
            (None, None) => None,
        })
    }

    fn create(&mut self, args: &[String]) -> Said {
        let valued = [
            "--head|-H",
            "--base|-B",
            "--title|-t",
            "--body|-b",
            "--body-file|-F",
            "--label|-l",
            "--reviewer|-r",
            "--assignee|-a",
            "--milestone|-m",
            REPO,
        ];
        let args = Args::read(args, &valued, &["--draft|-d"])?;
        self.meant(&args)?;
        let body = self.body(&args)?;
        let (Some(title), Some(body), Some(head)) = (args.get("--title"), body, args.get("--head")) else {
            return Err(said(
                1,
                "must provide `--title` and `--body` (or `--fill` or `fill-first` or `--fillverbose`) when not running interactively",
            ));
        };
        let base = args.get("--base").unwrap_or("main");
        if head == base {
            return Err(said(
                1,
                format!(
                    "head branch \"{head}\" is the same as base branch \"{base}\", cannot create a pull request"
                ),
            ));
        }
        let failed = |problem: String| {
            said(1, format!("pull request create failed: GraphQL: {problem} (createPullRequest)"))
        };
        let number = acts::open(self.state, self.repository, head, base, title, &body).map_err(|why| match why {
            NotOpened::Exists(number) => said(1, format!("a pull request for branch \"{head}\" into branch \"{base}\" already exists:\n{}", show::url(self.state, number))),
            NotOpened::NoBranch => failed(format!("Head sha can't be blank, Base sha can't be blank, No commits between {base} and {head}, Head ref must be a branch")),
            NotOpened::NoBase => failed("Base sha can't be blank, Base ref must be a branch".to_owned()),
            NotOpened::NoCommits => failed(format!("No commits between {base} and {head}")),
        })?;
        let url = show::url(self.state, number);
        let request = self.state.request(number).expect("just opened");
        request.draft = args.has("--draft");
        request.labels = args.list("--label");
        Ok(line(url))
    }

    /// The number of a request that is named by number, address or branch.
    fn named(&self, args: &Args) -> Said<u64> {
        self.meant(args)?;
        let word = args.word(0).unwrap_or_default();
        if word.parse::<u64>().is_ok() || word.contains("/pull/") {
            let number = args.number(0)?;
            let exists = self.state.requests.iter().any(|request| request.number == number);
            return if exists { Ok(number) } else { Err(no_request(number)) };
        }
        let of_branch = self.state.requests.iter().rev().filter(|request| request.branch == word);
        let newest =
            of_branch.clone().find(|request| request.phase == Phase::Open).or(of_branch.clone().next());
        newest
            .map(|request| request.number)
            .ok_or_else(|| said(1, format!("no pull requests found for branch \"{word}\"")))
    }

    fn view(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &JSON, &["--comments|-c"])?;
        let number = self.named(&args)?;
        let wanted = args.get("--json").unwrap_or("title,state,url").to_owned();
        let request = self.state.requests.iter().find(|request| request.number == number).expect("named");
        let shown = show::request(self.state, self.repository, request, &wanted)?;
        // It has found out by the next look.
        self.state.request(number).expect("named").unknown = false;
        Ok(json(&shown))
    }

    fn list(&self, args: &[String]) -> Said {
        let valued = [
            "--head|-H",
            "--base|-B",
            "--state|-s",
            "--limit|-L",
            "--label|-l",
            "--author|-A",
            "--search|-S",
            JSON[0],
            JSON[1],
            REPO,
        ];
        let args = Args::read(args, &valued, &[])?;
        self.meant(&args)?;
        let (wanted, phase) = (args.get("--json").unwrap_or("number"), args.get("--state").unwrap_or("open"));
        show::known_of_requests(wanted)?;
        let most = args.get("--limit").and_then(|most| most.parse().ok()).unwrap_or(30);
        let fits = |request: &&super::state::Request| {
            let is_phase = match phase {
                "open" => request.phase == Phase::Open,
                "merged" => request.phase == Phase::Merged,
                "closed" => request.phase != Phase::Open,
                _ => true,
            };
            is_phase
                && args.get("--head").is_none_or(|head| head == request.branch)
                && args.get("--base").is_none_or(|base| base == request.base)
                && args.all("--label").all(|label| request.labels.iter().any(|known| known == label))
        };
        let all = self.state.requests.iter().rev().filter(fits).take(most);
        let shown: Said<Vec<Value>> =
            all.map(|request| show::request(self.state, self.repository, request, wanted)).collect();
        Ok(json(&Value::Array(shown?)))
    }

    fn edit(&mut self, args: &[String]) -> Said {
        let valued = [
            "--title|-t",
            "--body|-b",
            "--body-file|-F",
            "--base|-B",
            "--add-label",
            "--remove-label",
            "--add-reviewer",
            REPO,
        ];
        let args = Args::read(args, &valued, &[])?;
        let (number, body, now) = (self.named(&args)?, self.body(&args)?, self.state.now());
        let url = show::url(self.state, number);
        let request = self.state.request(number).expect("named");
        request.title = args.get("--title").unwrap_or(&request.title).to_owned();
        request.body = body.unwrap_or_else(|| request.body.clone());
        request.base = args.get("--base").unwrap_or(&request.base).to_owned();
        let removed = args.list("--remove-label");
        request.labels.retain(|label| !removed.contains(label));
        request.labels.extend(args.list("--add-label"));
        request.updated_at = now;
        Ok(line(url))
    }

    fn comment(&mut self, args: &[String], of_request: bool) -> Said {
        let args = Args::read(args, &["--body|-b", "--body-file|-F", REPO], &["--edit-last"])?;
        let body =
            self.body(&args)?.ok_or_else(|| said(1, "flags required when not running interactively"))?;
        let number = if of_request { self.named(&args)? } else { self.named_issue(&args)? };
        Ok(line(self.add_comment(number, body)))
    }

    pub(super) fn add_comment(&mut self, number: u64, body: String) -> String {
        let (id, at) = (self.state.next_id(), self.state.now());
        let comment = Comment { id, by: "me".to_owned(), role: "OWNER".to_owned(), body, at: at.clone() };
        let url = format!("{}#issuecomment-{id}", show::issue_url(self.state, number));
        if let Some(request) = self.state.request(number) {
            request.comments.push(comment);
        } else if let Some(issue) = self.state.issues.iter_mut().find(|issue| issue.number == number) {
            issue.comments.push(comment);
            issue.updated_at = at;
        }
        url
    }

    fn merge(&mut self, args: &[String]) -> Said {
        let valued =
            ["--match-head-commit", "--subject|-t", "--body|-b", "--body-file|-F", "--author-email|-A", REPO];
        let plain = [
            "--merge|-m",
            "--squash|-s",
            "--rebase|-r",
            "--auto",
            "--disable-auto",
            "--delete-branch|-d",
            "--admin",
        ];
        let args = Args::read(args, &valued, &plain)?;
        let (number, body) = (self.named(&args)?, self.body(&args)?);
        let name = format!("{}#{number}", self.state.full_name());
        let rules = self.state.rules.clone();
        let request = self.state.request(number).expect("named");
        if args.has("--disable-auto") {
            (request.auto, request.queued) = (None, false);
            return Ok(nothing());
        }
        match request.phase {
            Phase::Merged => {
                return Ok(Reply {
                    stderr: format!("! Pull request {name} was already merged\n"),
                    ..nothing()
                });
            }
            Phase::Closed => {
                return Err(said(1, format!("X Pull request {name} can't be merged because it was closed")));
            }
            Phase::Open => {}
        }
        let chosen: Vec<Method> =
            [("--merge", Method::Merge), ("--squash", Method::Squash), ("--rebase", Method::Rebase)]
                .into_iter()
                .filter_map(|(flag, method)| args.has(flag).then_some(method))
                .collect();
        let method = match (chosen.as_slice(), rules.queue) {
            ([method], _) => *method,
            ([], true) => rules.methods[0],
            ([], false) => {
                return Err(said(
                    1,
                    "--merge, --rebase, or --squash required when not running interactively",
                ));
            }
            _ => return Err(said(1, "only one of --merge, --rebase, or --squash can be enabled")),
        };
        let refuse = |problem: &str| Err(said(1, format!("GraphQL: {problem} (mergePullRequest)")));
        if args.get("--match-head-commit").is_some_and(|head| head != request.head) {
            return refuse("Head branch was modified. Review and try the merge again.");
        }
        if rules.queue {
            request.queued = true;
            return Ok(nothing());
        }
        if !rules.methods.contains(&method) {
            let name = match method {
                Method::Merge => "Merge commits",
                Method::Squash => "Squash merges",
                Method::Rebase => "Rebase merges",
            };
            return refuse(&format!("{name} are not allowed on this repository."));
        }
        let blocked = acts::obstacles(self.state, self.repository, number);
        if args.has("--auto") && !rules.auto_merge {
            return Err(said(
                1,
                "GraphQL: Auto merge is not allowed for this repository (enablePullRequestAutoMerge)",
            ));
        }
        if args.has("--auto") && !blocked.is_empty() {
            self.state.request(number).expect("named").auto = Some(method);
            return Ok(nothing());
        }
        let auto = "To have the pull request merged after all the requirements have been met, add the `--auto` flag.";
        let admin =
            "To use administrator privileges to immediately merge the pull request, add the `--admin` flag.";
        let not = |problem: &str| {
            Err(said(1, format!("X Pull request {name} is not mergeable: {problem}.\n{auto}\n{admin}")))
        };
        match blocked.first() {
            Some(Obstacle::Draft) => return refuse("Pull Request is still a draft"),
            Some(Obstacle::Conflict) => return not("the merge commit cannot be cleanly created"),
            Some(Obstacle::Behind) => return not("the head branch is not up to date with the base branch"),
            Some(Obstacle::Check | Obstacle::Review) => {
                return not("the base branch policy prohibits the merge");
            }
            None => {}
        }
        let message = args.get("--subject").map(|subject| (subject, body.as_deref().unwrap_or("")));
        if !acts::merge(self.state, self.repository, number, method, message) {
            return refuse("Base branch was modified. Review and try the merge again.");
        }
        let branch = self.state.request(number).expect("named").branch.clone();
        if args.has("--delete-branch") && self.repository.tip(&branch).is_some() {
            self.repository.delete(&branch);
        }
        Ok(nothing())
    }

    fn checks(&self, args: &[String]) -> Said {
        let args = Args::read(args, &JSON, &["--required"])?;
        let number = self.named(&args)?;
        let request = self.state.requests.iter().find(|request| request.number == number).expect("named");
        let checks = self.state.checks_of(&request.head);
        if checks.is_empty() {
            return Err(said(1, format!("no checks reported on the '{}' branch", request.branch)));
        }
        if let Some(wanted) = args.get("--json") {
            let shown: Said<Vec<Value>> = checks
                .iter()
                .enumerate()
                .map(|(at, check)| show::check(self.state, at, check, wanted))
                .collect();
            return Ok(json(&Value::Array(shown?)));
        }
        let any = |result| checks.iter().any(|check| check.result == result);
        let code = if any(CheckResult::Red) {
            1
        } else if any(CheckResult::Pending) {
            8
        } else {
            0
        };
        let rows: String =
            checks.iter().map(|check| format!("{}\t{:?}\n", check.name, check.result)).collect();
        Ok(Reply { code, stdout: rows, stderr: String::new() })
    }

    fn ready(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO], &["--undo"])?;
        let (number, name) = (self.named(&args)?, self.state.full_name());
        self.state.request(number).expect("named").draft = args.has("--undo");
        let what =
            if args.has("--undo") { "converted to \"draft\"" } else { "marked as \"ready for review\"" };
        Ok(Reply { stderr: format!("✓ Pull request {name}#{number} is {what}\n"), ..nothing() })
    }

    fn close(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &["--comment|-c", REPO], &["--delete-branch|-d"])?;
        let (number, name, now) = (self.named(&args)?, self.state.full_name(), self.state.now());
        if let Some(comment) = args.get("--comment") {
            self.add_comment(number, comment.to_owned());
        }
        let request = self.state.request(number).expect("named");
        if request.phase != Phase::Open {
            return Ok(Reply {
                stderr: format!("! Pull request {name}#{number} is already closed\n"),
                ..nothing()
            });
        }
        (request.phase, request.auto, request.queued, request.updated_at) = (Phase::Closed, None, false, now);
        if args.has("--delete-branch") {
            self.repository.delete(&request.branch);
        }
        Ok(Reply {
            stderr: format!("✓ Closed pull request {name}#{number} ({})\n", request.title),
            ..nothing()
        })
    }

    fn update_branch(&mut self, args: &[String]) -> Said {
        let args = Args::read(args, &[REPO], &["--rebase"])?;
        let number = self.named(&args)?;
        let request = self.state.request(number).expect("named");
        if self.repository.is_up_to_date(&request.head, &request.base) {
            return Ok(line("✓ PR branch already up-to-date"));
        }
        match self.repository.bring_in(&request.branch, &request.base) {
            Some(_) => Ok(line("✓ PR branch updated")),
            None => Err(said(1, "Cannot update PR branch due to conflicts")),
        }
    }

    fn run(&self, args: &[String]) -> Said {
        let args = Args::read(
            args,
            &["--job|-j", "--attempt|-a", JSON[0], JSON[1], REPO],
            &["--log", "--log-failed", "--exit-status"],
        )?;
        self.meant(&args)?;
        if args.word(0) != Some("77") && args.get("--job").is_none() {
            return Err(said(
                1,
                "failed to get run: HTTP 404: Not Found (https://api.github.com/repos/o/r/actions/runs/1)",
            ));
        }
        // The run is that of the newest commit with a red check.
        let red: Vec<_> = self
            .state
            .requests
            .iter()
            .rev()
            .flat_map(|request| self.state.checks_of(&request.head))
            .filter(|check| check.result == CheckResult::Red)
            .collect();
        let row =
            |name: &str, text: &str| format!("{name}\tRun tests\t2026-03-01T12:00:00.0000000Z {text}\n");
        let log = red.iter().flat_map(|check| check.log.lines().map(|text| row(&check.name, text)));
        Ok(Reply { stdout: log.collect(), ..nothing() })
    }
}
