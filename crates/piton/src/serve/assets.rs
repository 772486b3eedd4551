//! The page: files that are part of the program. Nothing is read from disk, so that no path leads anywhere else.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use piton_core::plan::Digest;

struct Asset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($path:literal, $kind:expr) => {
        Asset { path: concat!("/", $path), kind: $kind, bytes: include_bytes!(concat!("../../page/", $path)) }
    };
}

const ASSETS: &[Asset] = &[
    Asset { path: "/", kind: "text/html; charset=utf-8", bytes: include_bytes!("../../page/index.html") },
    asset!("style.css", "text/css; charset=utf-8"),
    asset!("icon.svg", "image/svg+xml"),
    asset!("app.js", SCRIPT),
    asset!("api.js", SCRIPT),
    asset!("dom.js", SCRIPT),
    asset!("words.js", SCRIPT),
    asset!("canvas.js", SCRIPT),
    asset!("overview.js", SCRIPT),
    asset!("tasks.js", SCRIPT),
    asset!("task.js", SCRIPT),
    asset!("output.js", SCRIPT),
    asset!("diff.js", SCRIPT),
    asset!("highlight.js", SCRIPT),
    asset!("review.js", SCRIPT),
    asset!("graph.js", SCRIPT),
    asset!("timeline.js", SCRIPT),
    asset!("landing.js", SCRIPT),
    asset!("journal.js", SCRIPT),
    asset!("figures.js", SCRIPT),
    asset!("replay.js", SCRIPT),
];

/// No script and no style but our own files, no request to another machine, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What every answer carries.
pub(super) fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is about a run is kept nowhere.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// A file of the page. `known` is the digest that the browser has already.
pub(super) fn find(path: &str, known: Option<&str>) -> Option<Response<Body>> {
    let asset = ASSETS.iter().find(|asset| asset.path == path)?;
    let tag = format!("\"{}\"", Digest::of_bytes(asset.bytes).short());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let (status, body) = match is_known {
        true => (StatusCode::NOT_MODIFIED, Body::empty()),
        false => (StatusCode::OK, Body::from(asset.bytes)),
    };
    let response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, asset.kind)
        // Asked for each time, and sent only if it has changed: another version of Piton may answer next.
        .header(header::CACHE_CONTROL, "no-cache")
        .header(header::ETAG, tag);
    Some(response.body(body).expect("the parts are valid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_that_the_page_imports_is_served() {
        for asset in ASSETS {
            let text = String::from_utf8_lossy(asset.bytes);
            for (_, rest) in
                text.match_indices("} from \"").map(|(at, found)| text.split_at(at + found.len()))
            {
                let name = rest.split('"').next().unwrap_or_default();
                let name = name.trim_start_matches('.');
                assert!(ASSETS.iter().any(|asset| asset.path == name), "{} imports {name}", asset.path);
            }
        }
        for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/page")).expect("the page") {
            let name = file.expect("a file").file_name().into_string().expect("UTF-8");
            let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
            assert!(ASSETS.iter().any(|asset| asset.path == path), "{name} is not served");
        }
    }

    #[test]
    fn the_page_has_nothing_that_the_policy_forbids() {
        for asset in ASSETS {
            let text = String::from_utf8_lossy(asset.bytes).replace("http://www.w3.org/2000/svg", "");
            for forbidden in [
                "http://",
                "https://",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "document.write",
            ] {
                assert!(!text.contains(forbidden), "{} has {forbidden}", asset.path);
            }
            if asset.kind.starts_with("text/html") {
                let has_handler = text
                    .split(" on")
                    .skip(1)
                    .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).starts_with('='));
                assert!(!text.contains("<script>") && !text.contains("style=") && !has_handler, "inline");
            }
        }
    }

    #[test]
    fn paths_lead_to_files_of_the_page_alone() {
        assert!(find("/", None).is_some() && find("/app.js", None).is_some());
        for path in
            ["", "app.js", "/../app.js", "/./app.js", "//app.js", "/app.js/", "/%2e%2e/app.js", "/etc/passwd"]
        {
            assert!(find(path, None).is_none(), "{path}");
        }
    }

    #[test]
    fn what_the_browser_has_is_not_sent_again() {
        let first = find("/app.js", None).expect("a file");
        let tag = first.headers()[header::ETAG].to_str().expect("text").to_owned();
        let again = find("/app.js", Some(&tag)).expect("a file");
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert_eq!(find("/app.js", Some("\"other\"")).expect("a file").status(), StatusCode::OK);
    }
}
