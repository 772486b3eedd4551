use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use piton_core::plan::Fences;

use super::caches::{Arrangement, CACHES, Facts, arrange, as_markdown};
use super::{Access, Guard};

/// For a project with these files, where these variables are set and these places exist.
fn arranged(files: &[&str], env: &[(&str, &str)], profile: &[&str], there: &[&str]) -> Arrangement {
    let env: BTreeMap<&str, &str> = [("HOME", "/h")].into_iter().chain(env.iter().copied()).collect();
    let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    arrange(&Facts {
        private: Utf8Path::new("/job/caches"),
        said: &|name| env.get(name).map(|value| (*value).to_owned()),
        settled: &|name| profile.contains(&name),
        files: &files,
        exists: &|path| there.contains(&path.as_str()),
        opened: &["/h/.cache/mine".into(), "/h/other".into()],
    })
}

fn made(arrangement: &Arrangement) -> Vec<&str> {
    arrangement.made_paths().map(Utf8Path::as_str).collect()
}

#[test]
fn caches_of_the_tools_that_a_project_uses_are_made_where_their_variables_say() {
    let plain = arranged(&["Cargo.toml", "package.json", "pyproject.toml"], &[], &[], &[]);
    let expected = [
        "/h/.cargo/registry",
        "/h/.cargo/git",
        "/h/.cargo/.package-cache",
        "/h/.cargo/.package-cache-mutate",
        "/h/.npm/_cacache",
        "/h/.cache/pip",
    ];
    assert_eq!(made(&plain), expected);
    let moved = arranged(&["Cargo.toml", "go.mod"], &[("CARGO_HOME", "/c"), ("GOPATH", "/g")], &[], &[]);
    let expected = [
        "/c/registry",
        "/c/git",
        "/c/.package-cache",
        "/c/.package-cache-mutate",
        "/g/pkg/mod",
        "/h/.cache/go-build",
    ];
    assert_eq!(made(&moved), expected);
    let elsewhere = arranged(&["setup.py"], &[("XDG_CACHE_HOME", "/x")], &[], &[]);
    assert_eq!(made(&elsewhere), ["/x/pip"]);
    assert_eq!(made(&arranged(&["README.md"], &[], &[], &[])), [""; 0]);
    assert_eq!(made(&arranged(&["a.csproj"], &[], &[], &[])).first(), Some(&"/h/.nuget/packages"));
}

#[test]
fn what_holds_programs_is_not_shared() {
    let all = arranged(
        &["Cargo.toml", "package.json", ".pre-commit-config.yaml"],
        &[],
        &[],
        &["/h/.cache/ms-playwright"],
    );
    let open: Vec<&str> = all.shared.iter().map(|place| place.path.as_str()).collect();
    for closed in
        ["/h/.npm", "/h/.cache", "/h/.cache/pre-commit", "/h/.cache/ms-playwright", "/h/.rustup", "/h/.cargo"]
    {
        assert!(!open.iter().any(|open| Utf8Path::new(closed).starts_with(open)), "{closed} in {open:?}");
    }
    for (name, place) in [
        ("npm_config_cache", "/job/caches/npm-npx"),
        ("PRE_COMMIT_HOME", "/job/caches/pre-commit"),
        ("XDG_CACHE_HOME", "/job/caches/everything-else"),
        ("PLAYWRIGHT_BROWSERS_PATH", "/h/.cache/ms-playwright"),
        ("CYPRESS_CACHE_FOLDER", "/job/caches/cypress"),
        ("PIP_CACHE_DIR", "/h/.cache/pip"),
    ] {
        assert_eq!(all.env.get(name).map(String::as_str), Some(place), "{name}");
    }
    assert_eq!(all.env.get("RUSTUP_HOME"), None, "there is none");
    assert_eq!(all.env_remove, ["NPM_CONFIG_CACHE"]);
    let leads = |link: &str, to: &str| all.link_pairs().any(|pair| pair == (link.into(), to.into()));
    assert!(leads("/job/caches/npm-npx/_cacache", "/h/.npm/_cacache"));
    assert!(leads("/job/caches/everything-else/uv", "/h/.cache/uv"));
    assert!(leads("/job/caches/everything-else/mine", "/h/.cache/mine"), "what the plan opens is found");
    assert!(leads("/job/caches/everything-else/ms-playwright", "/h/.cache/ms-playwright"));
}

#[test]
fn what_a_profile_sets_stays_as_it_is() {
    let env = [("PRE_COMMIT_HOME", "/p"), ("XDG_CACHE_HOME", "/x")];
    let all = arranged(&["setup.py"], &env, &["PRE_COMMIT_HOME", "XDG_CACHE_HOME"], &[]);
    assert_eq!((all.env.get("PRE_COMMIT_HOME"), all.env.get("XDG_CACHE_HOME")), (None, None));
    assert_eq!(
        all.link_pairs().filter(|(link, _)| link.starts_with("/job/caches/everything-else")).count(),
        0
    );
    let own = arranged(&[], &[("PRE_COMMIT_HOME", "/p")], &[], &[]);
    let own = own.env.get("PRE_COMMIT_HOME").map(String::as_str);
    assert_eq!(own, Some("/job/caches/pre-commit"), "yours is for you alone");
}

#[test]
fn each_private_cache_has_a_variable_and_a_folder_of_its_own() {
    let mut folders: Vec<Utf8PathBuf> = Vec::new();
    let all = arranged(&[], &[], &[], &[]);
    for cache in CACHES {
        assert!(cache.access == Access::Shared || !cache.variables.is_empty(), "{}", cache.tool);
        assert!(cache.usual.starts_with("~/"), "{}", cache.tool);
    }
    for place in all.env.values().map(Utf8PathBuf::from).filter(|place| place.starts_with("/job/caches")) {
        assert!(!folders.contains(&place), "{place}");
        folders.push(place);
    }
    assert!(folders.len() > 10);
}

#[test]
fn the_documentation_shows_the_table() {
    let page = include_str!("../../../../docs/reference/sandbox.md");
    let table = as_markdown();
    assert!(page.contains(&table), "put this into docs/reference/sandbox.md:\n{table}");
}

#[test]
fn agents_are_kept_from_the_checkout_unless_the_plan_opens_a_folder_in_it_or_around_it() {
    let keeps = |writable: &str| {
        let fences = Fences { writable: vec!["/srv".to_owned(), writable.to_owned()], ..Fences::default() };
        Guard { fences, in_force: true, root: "/w/project".into(), common: None }.keeps_from_checkout()
    };
    assert!(["/w/project-2", "/w/other", "/cache"].into_iter().all(keeps));
    assert!(!["/w/project", "/w/project/docs", "/w", "/"].into_iter().any(keeps));
}
