//! A real browser: Debian's `chromium-headless-shell`, or Chromium, driven by `chromedriver` over WebDriver.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::http;
use crate::sandbox::until;

/// The key of an element in answers of WebDriver.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    address: String,
    session: String,
}

impl Browser {
    /// `None`, with the reason, if this machine has no browser and driver.
    pub fn start() -> Result<Browser, &'static str> {
        const MISSING: &str = "chromium-headless-shell and chromium-driver are not installed";
        let driver = find("chromedriver").ok_or(MISSING)?;
        // The program itself: what starts it on Debian is a script, which would be ended in its place.
        let own =
            Some(PathBuf::from("/usr/lib/chromium/chromium-headless-shell")).filter(|own| own.is_file());
        let browser =
            own.or_else(|| find("chromium-headless-shell")).or_else(|| find("chromium")).ok_or(MISSING)?;
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
        let driver = Command::new(driver)
            .arg(format!("--port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is installed");
        let mut started = Browser { driver, address: format!("127.0.0.1:{port}"), session: String::new() };
        until("chromedriver", || std::net::TcpStream::connect(&started.address).ok());
        let options = json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": {
            "binary": browser,
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                "--window-size=1280,900"],
        }, "goog:loggingPrefs": { "browser": "ALL" } } } });
        let answer = started.send("POST", "/session", &options);
        started.session = answer["sessionId"].as_str().expect("a session").to_owned();
        Ok(started)
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let headers = [("Host", self.address.as_str()), ("Content-Type", "application/json")];
        let reply = http::ask(&self.address, method, path, &headers, &body);
        reply.json()["value"].clone()
    }

    fn command(&self, method: &str, what: &str, body: &Value) -> Value {
        let answer = self.send(method, &format!("/session/{}/{what}", self.session), body);
        assert!(answer.get("error").is_none(), "{what} {body}: {answer}");
        answer
    }

    pub fn open(&self, url: &str) {
        self.command("POST", "url", &json!({ "url": url }));
    }

    pub fn url(&self) -> String {
        self.command("GET", "url", &Value::Null).as_str().unwrap_or_default().to_owned()
    }

    /// What a script returns. It runs in the page, as a function body.
    pub fn script(&self, text: &str) -> Value {
        self.command("POST", "execute/sync", &json!({ "script": text, "args": [] }))
    }

    /// What a script gives to the function that is its last argument.
    pub fn script_later(&self, text: &str) -> Value {
        self.command("POST", "execute/async", &json!({ "script": text, "args": [] }))
    }

    /// The text of the page that can be seen.
    pub fn text(&self) -> String {
        self.script("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    pub fn until_shows(&self, text: &str) {
        until(&format!("{text:?} on the page, which shows\n{}", self.text()), || {
            self.text().contains(text).then_some(())
        });
    }

    #[track_caller]
    pub fn until_is(&self, what: &str) {
        until(&format!("{what}, on a page that shows\n{}", self.text()), || {
            (self.script(&format!("return !!({what})")) == true).then_some(())
        });
    }

    /// Click the first element that a CSS selector finds.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let found = self.element(selector);
        // As a person would who finds it below a bar.
        let middle =
            format!("document.querySelector({})?.scrollIntoView({{ block: 'center' }})", json!(selector));
        self.script(&middle);
        self.command("POST", &format!("element/{found}/click"), &json!({}));
    }

    /// Click the first link or button with this text.
    #[track_caller]
    pub fn click_text(&self, text: &str) {
        let find = format!(
            "const found = [...document.querySelectorAll('a, button')]\
             .find((one) => one.textContent.trim() === {} && one.checkVisibility());\
             found?.scrollIntoView({{ block: 'center' }}); return found",
            json!(text)
        );
        let found = until(&format!("a button {text:?} on a page that shows\n{}", self.text()), || {
            self.script(&find)[ELEMENT].as_str().map(str::to_owned)
        });
        self.command("POST", &format!("element/{found}/click"), &json!({}));
    }

    #[track_caller]
    pub fn types(&self, selector: &str, text: &str) {
        let found = self.element(selector);
        self.command("POST", &format!("element/{found}/value"), &json!({ "text": text }));
    }

    /// Press keys wherever the focus is.
    pub fn press(&self, keys: &str) {
        self.act(&keys.chars().flat_map(|key| [("keyDown", key), ("keyUp", key)]).collect::<Vec<_>>());
    }

    /// The same with Shift held down.
    pub fn press_with_shift(&self, keys: &str) {
        const SHIFT: char = '\u{e008}';
        let keys = keys.chars().flat_map(|key| [("keyDown", key), ("keyUp", key)]);
        self.act(&[("keyDown", SHIFT)].into_iter().chain(keys).chain([("keyUp", SHIFT)]).collect::<Vec<_>>());
    }

    fn act(&self, keys: &[(&str, char)]) {
        let actions: Vec<Value> =
            keys.iter().map(|(kind, key)| json!({ "type": kind, "value": key.to_string() })).collect();
        self.command(
            "POST",
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }),
        );
    }

    fn element(&self, selector: &str) -> String {
        until(&format!("{selector} on a page that shows\n{}", self.text()), || {
            let found = self.send(
                "POST",
                &format!("/session/{}/element", self.session),
                &json!({ "using": "css selector", "value": selector }),
            );
            found[ELEMENT].as_str().map(str::to_owned)
        })
    }

    /// The size of the window, as a phone or a desk has it.
    pub fn resize(&self, width: u32, height: u32) {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Whether the person likes it `dark` or `light`.
    pub fn prefer(&self, scheme: &str) {
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
    }

    pub fn devtools(&self, command: &str, arguments: &Value) {
        self.command("POST", "goog/cdp/execute", &json!({ "cmd": command, "params": arguments }));
    }

    /// What the browser complained about since the last call: errors of scripts, and what a policy forbade.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().cloned().unwrap_or_default();
        entries.iter().map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// What the window shows, as a PNG file.
    pub fn picture(&self, path: &Path) {
        let answer = self.command("GET", "screenshot", &Value::Null);
        let bytes = decoded(answer.as_str().unwrap_or_default());
        std::fs::write(path, bytes)
            .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let close = json!({ "cmd": "Browser.close", "params": {} });
            let _ = self.send("POST", &format!("/session/{}/goog/cdp/execute", self.session), &close);
            let _ = self.send("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for value in text.bytes().filter_map(|byte| LETTERS.iter().position(|letter| *letter == byte)) {
        bits = (bits << 6) | u32::try_from(value).unwrap_or(0);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).unwrap_or(0));
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    #[test]
    fn base64_is_read() {
        assert_eq!(super::decoded("UGl0b24="), b"Piton");
        assert_eq!(super::decoded("AP8Q"), [0, 255, 16]);
    }
}
