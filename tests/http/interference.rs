//! Tests non-interference: two databases differ only in what a token may not read. Every operation of the API document is called on both
//! with that token, and must answer the same. Everything that the token may read afterwards must be the same too. Random ids are excepted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use threadkeep::domain::storage::Storage;
use threadkeep::storage::{self, StorageConfig};

use crate::interference_calls::{Call, OWN, Step, detours, guesses, of_document, removals};
use crate::interference_seen::{HIDDEN, seen};
use crate::matrix::{NOBODYS, THREAD, World, post};
use crate::matrix_snapshots;
use crate::matrix_world::fill;
use crate::ownership::open;
use crate::server::{Answer, Server, create_key};
use crate::support::postgres;
use crate::tokens::text;

/// Promises of the documentation: a name of a thread or session that somebody else has taken cannot be taken again.
const NAMED_EXCEPTIONS: [&str; 2] = ["thread_taken", "session_taken"];

/// What a credential may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Owned,
    KeyOfSubject,
    OtherTenant,
    Prefix,
    Exact,
    ReadOnly,
    AppendOnly,
    WriteOnly,
    /// Like the one before, but with a subject, whose snapshots are its own: that which a restore takes for safety, too.
    SubjectThatWrites,
}

impl Kind {
    /// The root of its own namespaces, which is its subject.
    fn root(self) -> &'static str {
        match self {
            Self::Owned | Self::KeyOfSubject => "bob",
            _ => "ann",
        }
    }

    /// May take any name that is free: what is taken cannot be hidden from it.
    fn takes_names(self) -> bool {
        matches!(self, Self::Owned | Self::KeyOfSubject)
    }

    /// May do something with the thread whose content is hidden.
    fn reaches(self) -> bool {
        matches!(self, Self::AppendOnly | Self::WriteOnly | Self::SubjectThatWrites)
    }

    fn grants(self) -> Value {
        let own = |actions: &[&str]| (OWN, actions.iter().map(ToString::to_string).collect());
        let hidden = |action: &str| (THREAD, vec![action.to_owned()]);
        let all = ["read", "append", "write"];
        match self {
            Self::ReadOnly => grants(&[own(&["read"])]),
            Self::AppendOnly => grants(&[own(&all), hidden("append")]),
            Self::WriteOnly => grants(&[own(&all), hidden("write")]),
            Self::SubjectThatWrites => {
                let mut grants = grants(&[own(&all), hidden("write")]);
                // Its namespaces would begin with its own label.
                grants["namespaces"] = json!([]);
                let owned = json!({"owned": true, "actions": all});
                grants["snapshots"].as_array_mut().unwrap().push(owned);
                grants
            }
            _ => grants(&[own(&all)]),
        }
    }
}

/// Exactly these threads, with their namespaces, sessions and snapshots.
fn grants(of: &[(&str, Vec<String>)]) -> Value {
    let mut all = json!({"threads": [], "namespaces": [], "sessions": [], "snapshots": []});
    let mut add = |kind: &str, grant: Value| all[kind].as_array_mut().unwrap().push(grant);
    for (thread, actions) in of {
        add("threads", json!({"id": thread, "actions": actions}));
        add("namespaces", json!({"prefix": ["ann", thread], "actions": actions}));
        add("sessions", json!({"id": format!("kind:{thread}"), "actions": actions}));
        add("sessions", json!({"id": format!("agentrail:t/{thread}"), "actions": actions}));
        for name in [matrix_snapshots::name(thread), matrix_snapshots::with_archive(thread)] {
            add("snapshots", json!({"id": name, "actions": actions}));
        }
    }
    all
}

/// Everything whose name begins like the thread's.
fn by_prefix() -> Value {
    let actions = json!(["read", "append", "write"]);
    let each = |prefix: &str| json!({"prefix": prefix, "actions": actions});
    json!({
        "threads": [each("own:")],
        "namespaces": [{"prefix": ["ann", OWN], "actions": actions}],
        "sessions": [each("kind:own:"), each("agentrail:t/own:")],
        "snapshots": [each("snapshot-of-own:"), each("archive-of-own:")]
    })
}

/// One of the two databases, and the credential that asks.
struct Side {
    world: World,
    credential: String,
    /// The key of the whole tenant of the credential.
    of_tenant: String,
}

impl Side {
    /// With more that is hidden, the second thread is there too, with all that belongs to one.
    async fn new(kind: Kind, storage: Arc<dyn Storage>, content: &str, has_more: bool) -> Self {
        let world = World::on(Arc::clone(&storage), TempDir::new().unwrap(), content).await;
        let server = &world.server;
        let held = json!({"thread_id": THREAD, "holder": crate::matrix_table::HOLDER, "fence": 1});
        post(server, &world.ann, "/v1/threads/lease/release", &held).await.ok();
        let credential = match kind {
            Kind::Owned => world.bob.clone(),
            Kind::OtherTenant => world.globex.clone(),
            Kind::KeyOfSubject => key_of(&storage, "bob").await,
            Kind::Prefix => mint(&world, &json!({"grants": by_prefix()})).await,
            Kind::SubjectThatWrites => {
                mint(&world, &json!({"subject": "eve", "grants": kind.grants()})).await
            }
            _ => mint(&world, &json!({"grants": kind.grants()})).await,
        };
        let owner =
            if kind.takes_names() || kind == Kind::OtherTenant { &credential } else { &world.ann };
        fill(server, owner, kind.root(), OWN, "everybody's").await;
        if has_more {
            fill(server, &world.ann, "ann", NOBODYS, content).await;
        }
        let of_tenant = if kind == Kind::OtherTenant { &world.globex } else { &world.acme }.clone();
        let before = last_report(server, &of_tenant, OWN).await;
        post(server, &of_tenant, "/v1/retention/run", &json!({"thread_id": OWN})).await.ok();
        await_report(server, &of_tenant, OWN, &before).await;
        Self { world, credential, of_tenant }
    }

    /// A background task works on rounds of retention: the calls after it see the same on both sides when its report is there.
    async fn ask_to_the_end(&self, step: &Step) -> Answer {
        let server = &self.world.server;
        if !step.begins_round() {
            return self.ask(&step.call).await;
        }
        let before = last_report(server, &self.of_tenant, step.target).await;
        let answer = self.ask(&step.call).await;
        if answer.status == 200 && answer.json()["policies"] != 0 {
            await_report(server, &self.of_tenant, step.target, &before).await;
        }
        answer
    }

    /// Asks again where the server did nothing: on a machine with much to do it may not have read its keys for a while.
    async fn ask(&self, call: &Call) -> Answer {
        loop {
            let answer = self.ask_once(call).await;
            if answer.status != 503 {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn ask_once(&self, call: &Call) -> Answer {
        let headers = [("x-api-key", self.credential.as_str())];
        match call {
            Call::Document(route, request) => {
                let path = route.path.replace("{token}", &self.credential);
                let route = crate::matrix::Route { path, ..route.clone() };
                self.world.ask_with(&route, request, &headers).await
            }
            Call::Post(path, body) => post(&self.world.server, &self.credential, path, body).await,
            Call::Put(path, bytes) => {
                self.world.server.send("PUT", path, &headers, bytes.clone()).await
            }
        }
    }
}

/// The id of the newest report of a thread's policy.
async fn last_report(server: &Server, reader: &str, thread: &str) -> Value {
    let path = format!("/v1/retention/reports?thread_id={thread}&limit=1");
    let answer = server.get_with(&path, &[("x-api-key", reader)]).await;
    answer.ok().json()["reports"][0]["report_id"].clone()
}

async fn await_report(server: &Server, reader: &str, thread: &str, before: &Value) {
    let is_new = async {
        while last_report(server, reader, thread).await == *before {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), is_new).await.expect("no report of a round");
}

async fn mint(world: &World, body: &Value) -> String {
    text(&post(&world.server, &world.acme, "/v1/tokens", body).await.ok())
}

async fn key_of(storage: &Arc<dyn Storage>, subject: &str) -> String {
    create_key(storage, "acme", &format!("key_of_{subject}"), Some(subject)).await
}

/// Every difference between the answers of both sides.
struct Comparison {
    kind: Kind,
    sides: [Side; 2],
    wrong: Vec<String>,
    asked: usize,
}

impl Comparison {
    async fn ask(&mut self, step: &Step) {
        let [first, second] =
            [self.sides[0].ask_to_the_end(step).await, self.sides[1].ask_to_the_end(step).await];
        self.asked += 1;
        let [one, other] = [seen(&first), seen(&second)];
        let is_named = step.may_be_taken && NAMED_EXCEPTIONS.iter().any(|it| other.contains(it));
        if one != other && !is_named {
            self.wrong.push(format!("{:?} × {}:\n    {one}\n    {other}", self.kind, step.name));
        }
        // What a restore replaced is kept in a snapshot of whoever restored: it is asked for, too.
        let safety = [&first, &second].map(safety_of);
        if let [Some(one), Some(other)] = safety {
            self.ask_for_safety([one, other]).await;
        }
    }

    async fn ask_for_safety(&mut self, ids: [String; 2]) {
        for path in ["/v1/snapshots/get", "/v1/snapshots/restore"] {
            let mut found = Vec::new();
            for (side, id) in self.sides.iter().zip(&ids) {
                let mut body = json!({"snapshot_id": id});
                if path.ends_with("restore") {
                    body["threads"] = json!([{"thread_id": THREAD, "into": OWN}]);
                    body["safety"] = json!(false);
                }
                let answer = post(&side.world.server, &side.credential, path, &body).await;
                found.push(seen(&answer).replace(id, "the safety snapshot"));
            }
            if found[0] != found[1] {
                let said = found.join("\n    ");
                self.wrong.push(format!("{:?} × {path} of safety:\n    {said}", self.kind));
            }
        }
    }
}

fn safety_of(answer: &Answer) -> Option<String> {
    let body: Value = serde_json::from_slice(&answer.body).ok()?;
    Some(body.get("safety_snapshot_id")?.as_str()?.to_owned())
}

async fn compare(kind: Kind, storages: [Arc<dyn Storage>; 2]) {
    let [one, other] = storages;
    let sides = [
        Side::new(kind, one, HIDDEN[0], false).await,
        Side::new(kind, other, HIDDEN[1], true).await,
    ];
    let mut all = Comparison { kind, sides, wrong: Vec::new(), asked: 0 };
    let document = of_document(kind.root());
    let steps = |is: fn(&Step) -> bool| document.iter().filter(move |it| is(it));
    let names_absent = |it: &Step| it.target == NOBODYS;
    for step in steps(Step::only_reads) {
        all.ask(step).await;
    }
    for step in guesses().iter().filter(|_| kind.reaches()) {
        all.ask(step).await;
    }
    for step in steps(Step::changes) {
        if !(kind.takes_names() && names_absent(step)) {
            all.ask(step).await;
        }
    }
    let detours = detours(kind.root());
    for step in &detours {
        if !(kind.takes_names() && names_absent(step)) {
            all.ask(step).await;
        }
    }
    for step in steps(Step::only_reads).chain(steps(Step::removes)).chain(steps(Step::only_reads)) {
        all.ask(step).await;
    }
    // On one side the name is free, on the other somebody else has it. What was made there goes before the next is asked.
    for step in steps(Step::changes).chain(&detours) {
        if kind.takes_names() && names_absent(step) {
            all.ask(&Step { may_be_taken: true, ..step.clone() }).await;
            for step in removals(NOBODYS) {
                all.ask(&step).await;
            }
        }
    }
    assert!(all.asked > 900, "{}", all.asked);
    assert!(all.wrong.is_empty(), "{} differ:\n{}", all.wrong.len(), all.wrong.join("\n"));
}

async fn on_sqlite(kind: Kind) {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    compare(kind, [open(&folders[0]).await, open(&folders[1]).await]).await;
}

async fn on_postgresql(kind: Kind) {
    let mut storages = Vec::new();
    let mut urls = Vec::new();
    for _ in 0..2 {
        let url = postgres::fresh_database().await;
        let config = StorageConfig {
            create: true,
            url: url.clone(),
            migrate: true,
            allow_unsafe: true,
            connections: 4,
            exclusive: false,
            objects: None,
            encryption: storage::Encryption::Off,
            read_times: threadkeep::storage::ReadTimes::default(),
        };
        storages.push(storage::open(&config).await.unwrap());
        urls.push(url);
    }
    let [one, other] = <[Arc<dyn Storage>; 2]>::try_from(storages).ok().unwrap();
    compare(kind, [one, other]).await;
    for url in &urls {
        postgres::ended(url);
    }
}

/// A test per kind of credential and engine.
macro_rules! nothing_hidden_is_seen {
    ($($kind:ident: $sqlite:ident, $postgresql:ident;)*) => {$(
        #[tokio::test]
        async fn $sqlite() {
            on_sqlite(Kind::$kind).await;
        }

        #[tokio::test]
        async fn $postgresql() {
            on_postgresql(Kind::$kind).await;
        }
    )*};
}

nothing_hidden_is_seen! {
    Owned: a_token_of_a_subject_sees_its_own_alone, a_token_of_a_subject_sees_its_own_alone_on_postgresql;
    KeyOfSubject: a_key_of_a_subject_sees_its_own_alone, a_key_of_a_subject_sees_its_own_alone_on_postgresql;
    OtherTenant: a_key_of_another_tenant_sees_its_own_alone, a_key_of_another_tenant_sees_its_own_alone_on_postgresql;
    Prefix: a_token_of_a_prefix_sees_what_it_names, a_token_of_a_prefix_sees_what_it_names_on_postgresql;
    Exact: a_token_of_one_thread_sees_that_alone, a_token_of_one_thread_sees_that_alone_on_postgresql;
    ReadOnly: a_token_that_reads_sees_what_it_names, a_token_that_reads_sees_what_it_names_on_postgresql;
    AppendOnly: a_token_that_appends_sees_nothing_of_it, a_token_that_appends_sees_nothing_of_it_on_postgresql;
    SubjectThatWrites: a_subject_that_writes_sees_nothing_of_it, a_subject_that_writes_sees_nothing_of_it_on_postgresql;
    WriteOnly: a_token_that_writes_sees_nothing_of_it, a_token_that_writes_sees_nothing_of_it_on_postgresql;
}
