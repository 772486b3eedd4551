//! A message on the desktop, by the program that the desktop has for it. A library that speaks to it directly would add
//! more crates to Piton than all that it does otherwise.

use camino::Utf8Path;

use crate::programs::is_runnable;

/// The notification service of a session on Linux.
const SERVICE: &str = "org.freedesktop.Notifications";

/// Programs that can show a message, the likeliest first, with the words that come before title and text.
#[cfg(not(target_os = "macos"))]
const PROGRAMS: [&str; 3] = ["notify-send", "busctl", "gdbus"];
#[cfg(target_os = "macos")]
const PROGRAMS: [&str; 1] = ["osascript"];

/// Why no message can be shown here, as far as that can be seen.
pub(super) fn problem(root: &Utf8Path) -> Option<String> {
    if program(root).is_none() {
        return Some(format!("none of these is installed: {}", PROGRAMS.join(", ")));
    }
    let named = std::env::var("DBUS_SESSION_BUS_ADDRESS").is_ok_and(|address| !address.is_empty());
    let usual = format!("/run/user/{}/bus", rustix::process::getuid().as_raw());
    let has_desktop = cfg!(target_os = "macos") || named || Utf8Path::new(&usual).exists();
    (!has_desktop).then(|| "there is no session bus, so no desktop is logged in here".to_owned())
}

fn program(root: &Utf8Path) -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| is_runnable(program, root))
}

/// What to start to show it.
pub(super) fn command(title: &str, text: &str, root: &Utf8Path) -> Result<Vec<String>, String> {
    let program = program(root).ok_or_else(|| problem(root).unwrap_or_default())?;
    Ok(words(program, title, &plain(program, text)).into_iter().map(str::to_owned).collect())
}

fn words<'t>(program: &'t str, title: &'t str, text: &'t str) -> Vec<&'t str> {
    const PLACE: &str = "/org/freedesktop/Notifications";
    match program {
        // No word is part of a script: the texts are its arguments.
        "osascript" => vec![
            program,
            "-e",
            "on run argv",
            "-e",
            "display notification (item 2 of argv) with title (item 1 of argv)",
            "-e",
            "end run",
            title,
            text,
        ],
        "busctl" => {
            let call = [program, "--user", "call", "--", SERVICE, PLACE, SERVICE, "Notify", "susssasa{sv}i"];
            [&call[..], &["Piton", "0", "", title, text, "0", "0", "-1"]].concat()
        }
        "gdbus" => {
            let call = [program, "call", "--session", "--dest", SERVICE, "--object-path", PLACE];
            let method = ["--method", "org.freedesktop.Notifications.Notify"];
            [&call[..], &method, &["--", "Piton", "0", "", title, text, "[]", "{}", "-1"]].concat()
        }
        _ => vec![program, "--app-name=Piton", "--", title, text],
    }
}

/// Desktops on Linux take the text for markup, with links and pictures.
fn plain(program: &str, text: &str) -> String {
    match program {
        "osascript" => text.to_owned(),
        _ => text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"),
    }
}
