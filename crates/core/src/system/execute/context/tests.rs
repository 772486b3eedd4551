//! Own samples of PROJECT.md.

use super::*;
use crate::system::native::testing::task;
use proptest::prelude::*;

const HASH: &str = "1f2e3d4c5b6a79880123456789abcdef01234567";

fn now() -> Timestamp {
    Timestamp::parse("2026-03-01T12:00:00Z").expect("a time")
}

fn interface(name: &str, kind: &str) -> Export {
    Export::Interface { name: name.into(), kind: kind.into(), text: format!("pub struct {name};") }
}

fn endpoint_of(method: &str, path: &str, text: &str) -> Export {
    Export::Endpoint { method: method.into(), path: path.into(), text: text.into() }
}

fn spec(id: &str, exports: Vec<Export>) -> TaskSpec {
    let files = ["src/cart.rs", "src/cart/total.rs"].map(|path| RepoPath::new(path).expect("a path"));
    TaskSpec { exports, files: files.to_vec(), ..task(id, &[]) }
}

fn shop() -> Vec<TaskSpec> {
    vec![
        spec("L1-001", vec![interface("Cart", "model"), interface("total", "function")]),
        spec(
            "L2-001",
            vec![
                endpoint_of("post", "/carts/{id}/items", "Adds an item & returns Vec<Item>"),
                endpoint_of("GET", "/carts/{id}", ""),
                interface("CartService", "service"),
                interface("Cart", "sqlalchemy-model"),
                interface("cart_items", "table"),
            ],
        ),
    ]
}

fn folded(text: &str, specs: &[TaskSpec]) -> Result<Folded, Skipped> {
    fold(text, &specs.iter().collect::<Vec<_>>(), HASH, now())
}

const PROJECT: &str = r#"# Shop

Sells things. See the `<project-context>` block below.

<project-context version="1.0">
  <meta>
    <last-updated>2026-01-01T00:00:00Z</last-updated>
    <last-context-hash>0123abc</last-context-hash>
    <prd-path>docs/shop.md</prd-path>
  </meta>
  <features>
    <feature id="users" status="complete">
      <name>Users & friends</name>
      <files>src/users.rs</files>
    </feature>
  </features>
  <api-registry>
    <endpoint method="GET" path="/carts/{id}">
      <response>Cart<Item></response>
    </endpoint>
  </api-registry>
  <schema-registry>
  </schema-registry>
</project-context>

The end, without a newline"#;

#[test]
fn results_are_entered_and_nothing_else_changes() {
    let folded = folded(PROJECT, &shop()).expect("there is something new");
    insta::assert_snapshot!(folded.text, @r#"
    # Shop

    Sells things. See the `<project-context>` block below.

    <project-context version="1.0">
      <meta>
        <last-updated>2026-03-01T12:00:00Z</last-updated>
        <last-context-hash>1f2e3d4c5b6a79880123456789abcdef01234567</last-context-hash>
        <prd-path>docs/shop.md</prd-path>
      </meta>
      <features>
        <feature id="users" status="complete">
          <name>Users & friends</name>
          <files>src/users.rs</files>
        </feature>
        <feature id="cart-service" status="complete">
          <name>CartService</name>
          <files>src/cart.rs, src/cart/total.rs</files>
        </feature>
      </features>
      <api-registry>
        <endpoint method="GET" path="/carts/{id}">
          <response>Cart<Item></response>
        </endpoint>
        <endpoint method="POST" path="/carts/{id}/items">
          <description>Adds an item &amp; returns Vec&lt;Item&gt;</description>
        </endpoint>
      </api-registry>
      <schema-registry>
        <model name="Cart"/>
        <model name="cart_items" table="cart_items"/>
      </schema-registry>
    </project-context>

    The end, without a newline
    "#);
    assert_eq!(folded.features, ["cart-service"]);
    assert_eq!(folded.endpoints, ["POST /carts/{id}/items"]);
    assert_eq!(folded.models, ["Cart", "cart_items"]);
    assert_eq!(folded.last_hash.as_deref(), Some("0123abc"));
    assert_eq!(folded.warnings, ["PROJECT.md:13: a bare `&` is read as the character; XML wants `&amp;`"]);
}

#[test]
fn a_second_time_there_is_nothing_new() {
    let once = folded(PROJECT, &shop()).expect("there is something new").text;
    assert_eq!(folded(&once, &shop()), Err(Skipped::NothingNew));
}

#[test]
fn what_the_block_lacks_is_made() {
    let bare = "<project-context version=\"1.0\">\r\n</project-context>\r\n";
    insta::assert_snapshot!(folded(bare, &shop()).expect("new").text.replace("\r\n", "␍\n"), @r#"
    <project-context version="1.0">␍
      <meta>␍
        <last-updated>2026-03-01T12:00:00Z</last-updated>␍
        <last-context-hash>1f2e3d4c5b6a79880123456789abcdef01234567</last-context-hash>␍
      </meta>␍
      <features>␍
        <feature id="cart-service" status="complete">␍
          <name>CartService</name>␍
          <files>src/cart.rs, src/cart/total.rs</files>␍
        </feature>␍
      </features>␍
      <api-registry>␍
        <endpoint method="POST" path="/carts/{id}/items">␍
          <description>Adds an item &amp; returns Vec&lt;Item&gt;</description>␍
        </endpoint>␍
        <endpoint method="GET" path="/carts/{id}"/>␍
      </api-registry>␍
      <schema-registry>␍
        <model name="Cart"/>␍
        <model name="cart_items" table="cart_items"/>␍
      </schema-registry>␍
    </project-context>␍
    "#);
    let inline = "\t<project-context>\n\t\t<meta/>\n\t\t<features/>\n\t\t<schema-registry></schema-registry></project-context>";
    insta::assert_snapshot!(folded(inline, &shop()).expect("new").text, @r#"
    <project-context>
    	<meta>
    		<last-updated>2026-03-01T12:00:00Z</last-updated>
    		<last-context-hash>1f2e3d4c5b6a79880123456789abcdef01234567</last-context-hash>
    	</meta>
    	<features>
    		<feature id="cart-service" status="complete">
    			<name>CartService</name>
    			<files>src/cart.rs, src/cart/total.rs</files>
    		</feature>
    	</features>
    	<schema-registry>
    		<model name="Cart"/>
    		<model name="cart_items" table="cart_items"/>
    	</schema-registry>
    	<api-registry>
    		<endpoint method="POST" path="/carts/{id}/items">
    			<description>Adds an item &amp; returns Vec&lt;Item&gt;</description>
    		</endpoint>
    		<endpoint method="GET" path="/carts/{id}"/>
    	</api-registry></project-context>
    "#);
    let one_line = "<project-context version=\"1.0\"></project-context>";
    let made = folded(one_line, &shop()).expect("new").text;
    assert_eq!(folded(&made, &shop()), Err(Skipped::NothingNew), "{made}");
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let specs = shop();
    let told = |text: &str| folded(text, &specs).expect_err("it cannot be used").to_string();
    let twice = format!("{PROJECT}\n\n{PROJECT}");
    let said = [
        told("# Shop\n\nThe `<project-context>` block is missing.\n"),
        told(&twice),
        told("<project-context version=\"1.0\">\n<features>\n"),
        told("<project-context version=\"1.0\">\n<features>\n</project-context>"),
        told(
            "<project-context version=\"1.0\">\n<last-updated><features></features></last-updated>\n</project-context>",
        ),
        told("<project-context version=\"2.1\">\n</project-context>"),
        folded(PROJECT, &[spec("L1-001", vec![interface("total", "function")])])
            .expect_err("none")
            .to_string(),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    PROJECT.md has no <project-context> block
    PROJECT.md has several <project-context> blocks, at lines 5, 32: which one is meant?
    PROJECT.md:1: <project-context> is not closed
    PROJECT.md:2: <features> is not closed
    PROJECT.md:2: <last-updated> is not closed
    PROJECT.md:1: the <project-context> block is of version 2.1, not 1.0
    no task exports an endpoint, a model or a feature
    ");
}

#[test]
fn a_word_in_place_of_the_hash_is_unknown() {
    let text = PROJECT.replace("0123abc", "current-HEAD");
    let folded = folded(&text, &shop()).expect("there is something new");
    assert_eq!(folded.last_hash, None);
    assert_eq!(
        folded.warnings[1],
        "PROJECT.md:8: `current-HEAD` is not a commit, so the last one is unknown"
    );
    assert!(folded.text.contains(&format!("<last-context-hash>{HASH}</last-context-hash>")));
}

#[test]
fn kinds_are_told_by_their_words() {
    let of = |kind: &str| Registry::parse(kind);
    assert_eq!(of("React Component"), Some(Registry::Features));
    assert_eq!(of("pydantic-schema"), Some(Registry::Models { is_table: false }));
    assert_eq!(of("TABLE"), Some(Registry::Models { is_table: true }));
    assert_eq!([of("struct"), of("function"), of("")], [None, None, None]);
    assert_eq!(
        ["CartService", "HTTP client 2", "  --", "größeÄnderung"].map(kebab),
        ["cart-service", "http-client-2", "", "größe-änderung"]
    );
}

proptest! {
    #[test]
    fn any_file_keeps_its_bytes_and_is_changed_once(
        parts in proptest::collection::vec(prop_oneof![
            Just("<project-context version=\"1.0\">"), Just("</project-context>"), Just("\n"), Just("  "),
            Just("<meta>"), Just("</meta>"), Just("<features>"), Just("</features>"), Just("<features/>"),
            Just("<last-updated>"), Just("</last-updated>"), Just("<api-registry/>"), Just("<!--"), Just("-->"),
            Just("<model name=\"Cart\"/>"), Just("a & b < c"), Just("<![CDATA["), Just("]]>"), Just("\""),
            Just("<last-context-hash/>"), Just("<schema-registry a=\">\">"), Just("</schema-registry>"), Just("ü"),
        ], 0..24)
    ) {
        let text = parts.concat();
        let specs = shop();
        if let Ok(folded) = folded(&text, &specs) {
            // What was there is there still, in its order, but for the two values.
            let mut rest = folded.text.as_str();
            for part in parts.iter().filter(|part| part.starts_with('<') && !part.ends_with("/>")) {
                let at = rest.find(part);
                prop_assert!(at.is_some(), "{} is lost in {}", part, folded.text);
                rest = &rest[at.unwrap_or(0) + part.len()..];
            }
            let again = super::fold(&folded.text, &specs.iter().collect::<Vec<_>>(), HASH, now());
            prop_assert_eq!(again, Err(Skipped::NothingNew), "{}", folded.text);
        }
    }
}
