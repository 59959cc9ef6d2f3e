//! Tests the drive and raw files: an upload is listed and comes back, small and large, whole and in parts.

use serde_json::{Value, json};

use crate::drive_world::{World, noise};
use crate::server::JSON;

/// Name, file name and bytes of a part of a form.
type Field<'a> = (&'a str, Option<&'a str>, &'a [u8]);

/// Over what a value holds.
const LARGE: usize = (16 << 20) + 70_001;

fn form(fields: &[(&str, Option<&str>, &[u8])]) -> (String, Vec<u8>) {
    let boundary = "a-boundary-of-this-test";
    let mut body = Vec::new();
    for (name, media_type, bytes) in fields {
        let file = media_type
            .map_or(String::new(), |it| format!("; filename=\"ignored\"\r\nContent-Type: {it}"));
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n"
        );
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), body)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_uploaded_is_listed_and_comes_back() {
    let it = World::new().await;
    let entry = it.upload(&it.ann, "/code/main.py", b"print(1)\n").await;
    assert_eq!(entry.status, 201);
    let entry = entry.json();
    assert_eq!(
        (&entry["path"], &entry["name"], &entry["size"], &entry["is_dir"], &entry["media_type"]),
        (
            &json!("/code/main.py"),
            &json!("main.py"),
            &json!(9),
            &json!(false),
            &json!("text/plain")
        )
    );
    let (media, body) =
        form(&[("path", None, b"/img/a b.png"), ("file", Some("image/png"), &noise(5_000))]);
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", media.as_str())];
    let entry = it.server.send("POST", "/api/storage/upload", &headers, body).await;
    assert_eq!((entry.status, &entry.json()["path"]), (201, &json!("/img/a b.png")));
    assert_eq!(it.paths(&it.ann, "").await, ["/code/", "/img/"]);
    assert_eq!(it.paths(&it.ann, "?path=/code").await, ["/code/main.py"]);
    assert_eq!(it.paths(&it.ann, "?recursive=true").await, ["/code/main.py", "/img/a b.png"]);
    assert_eq!(it.paths(&it.ann, "?path=/nothing").await, Vec::<String>::new());
    let image = it.get(&it.ann, "/api/storage/download?path=/img/a%20b.png").await.ok();
    assert!(image.body == noise(5_000));
    assert_eq!(image.header("content-type"), Some("image/png"));
    assert_eq!(image.header("content-disposition"), Some("inline; filename=\"a b.png\""));
    assert_eq!(image.header("etag"), entry.json()["etag"].as_str());
    let text = it.get(&it.ann, "/api/storage/download?path=/workspace/code/main.py").await.ok();
    assert_eq!(text.body, b"print(1)\n");
    // The store sees what deepagents would have written.
    let item = json!({"namespace": ["ann", "workspace"], "key": "/code/main.py"});
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", JSON)];
    let got = it.server.send("POST", "/v1/store/get", &headers, item.to_string().into()).await.ok();
    let value = &got.json()["item"]["value"];
    assert_eq!((&value["content"], &value["encoding"]), (&json!("print(1)\n"), &json!("utf-8")));
    // Gone, and gone again.
    for _ in 0..2 {
        assert_eq!(it.delete(&it.ann, "/code").await, 204);
    }
    assert_eq!(it.paths(&it.ann, "").await, ["/img/"]);
    it.get(&it.ann, "/api/storage/download?path=/code/main.py")
        .await
        .assert_problem(404, "not_found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_joins_what_the_agents_namespaces_hold() {
    let it = World::new().await;
    let put = |namespace: Value, key: &str| {
        let body = json!({"namespace": namespace, "key": key, "value": {
            "content": "x", "encoding": "utf-8", "created_at": "t", "modified_at": "t"}});
        let headers = [("x-api-key", it.ann.clone()), ("content-type", JSON.to_owned())];
        let server = &it.server;
        async move {
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|it| (it.0, it.1.as_str())).collect();
            server.send("POST", "/v1/store/put", &headers, body.to_string().into()).await.ok();
        }
    };
    put(json!(["ann", "filesystem"]), "/facts.md").await;
    put(json!(["ann", "threads", "t~2e1", "artifacts"]), "/large_tool_results/7").await;
    put(json!(["ann", "threads", "t~2e1", "other"]), "/hidden").await;
    put(json!(["ann", "workspace"]), "/memories/shadowed.md").await;
    put(json!(["ann", "workspace"]), "/a/b/c.txt").await;
    put(json!(["ann", "workspace"]), "no slash").await;
    put(json!(["ann", "workspace"]), "/a/../escape").await;
    assert_eq!(it.paths(&it.ann, "").await, ["/memories/", "/threads/", "/a/"]);
    assert_eq!(it.paths(&it.ann, "?path=/memories").await, ["/memories/facts.md"]);
    assert_eq!(it.paths(&it.ann, "?path=/memory/").await, ["/memories/facts.md"]);
    assert_eq!(it.paths(&it.ann, "?path=/threads").await, ["/threads/t~2e1/"]);
    assert_eq!(
        it.paths(&it.ann, "?path=/threads/t~2e1").await,
        ["/threads/t~2e1/large_tool_results/"]
    );
    assert_eq!(it.paths(&it.ann, "?path=/workspace").await, ["/a/", "/workspace/memories/"]);
    let all = [
        "/a/b/c.txt",
        "/workspace/memories/shadowed.md",
        "/memories/facts.md",
        "/threads/t~2e1/large_tool_results/7",
    ];
    assert_eq!(it.paths(&it.ann, "?recursive=true").await, all);
    // Page by page the same, and each once.
    let (mut paged, mut query) = (Vec::new(), "?recursive=true&limit=1".to_owned());
    loop {
        let page = it.get(&it.ann, &format!("/api/storage/list{query}")).await.ok().json();
        paged.extend(page["entries"].as_array().unwrap().iter().map(|it| it["path"].clone()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("?recursive=true&limit=1&cursor={next}");
        assert!(paged.len() < 10);
    }
    assert_eq!(paged, all);
    for path in all {
        it.get(&it.ann, &format!("/api/storage/download?path={path}")).await.ok();
    }
    assert_eq!(it.delete(&it.ann, "/threads/t~2e1").await, 204);
    assert_eq!(it.paths(&it.ann, "").await, ["/memories/", "/a/"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_any_size_comes_back_whole_in_ranges_and_not_at_all() {
    let it = World::new().await;
    for length in [0, 10, LARGE] {
        let bytes = noise(length);
        let path = format!("/v1/files/content?ns=ann&ns=workspace&path=/f{length}.bin");
        let stored = it.put(&it.ann, &path, &bytes).await.ok().json();
        assert_eq!((&stored["created"], &stored["size_bytes"]), (&json!(true), &json!(length)));
        let again = it.put(&it.ann, &path, &bytes).await.ok().json();
        assert_eq!((&again["unchanged"], &again["version"]), (&json!(true), &stored["version"]));
        let whole = it.get(&it.ann, &path).await.ok();
        assert!(whole.body == bytes, "{length}");
        assert_eq!(whole.header("content-length"), Some(length.to_string().as_str()));
        assert_eq!(whole.header("accept-ranges"), Some("bytes"));
        let etag = whole.header("etag").unwrap();
        let held = it.get_with(&it.ann, &path, ("if-none-match", etag)).await;
        assert_eq!((held.status, held.body.len()), (304, 0));
        let entry = &it.get(&it.ann, "/api/storage/list").await.ok().json()["entries"];
        let entry =
            entry.as_array().unwrap().iter().find(|it| it["name"] == format!("f{length}.bin"));
        assert_eq!(entry.unwrap()["etag"], etag);
        assert_eq!(entry.unwrap()["size"], json!(length));
        if length == 0 {
            let nothing = it.get_with(&it.ann, &path, ("range", "bytes=0-0")).await;
            nothing.assert_problem(416, "range_not_satisfiable");
            continue;
        }
        for (from, to) in [(0, 0), (length / 2, length / 2 + 5), (length - 3, length - 1)] {
            let range = format!("bytes={from}-{to}");
            let part = it.get_with(&it.ann, &path, ("range", &range)).await;
            let to = to.min(length - 1);
            assert_eq!(part.status, 206);
            assert!(part.body == bytes[from..=to], "{range}");
            let said = format!("bytes {from}-{to}/{length}");
            assert_eq!(part.header("content-range"), Some(said.as_str()));
        }
    }
    let item = json!({"namespace": ["ann", "workspace"], "key": format!("/f{LARGE}.bin")});
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", JSON)];
    let got = it.server.send("POST", "/v1/store/get", &headers, item.to_string().into()).await;
    got.assert_problem(413, "value_too_large");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_upload_goes_on_where_it_was() {
    let it = World::new().await;
    let (bytes, headers) =
        (noise(3_000_000), [("x-api-key", it.ann.as_str()), ("content-type", JSON)]);
    let place = json!({"namespace": ["ann", "workspace"], "path": "/film.mp4"});
    let begun =
        it.server.send("POST", "/v1/files/uploads", &headers, place.to_string().into()).await.ok();
    let upload = format!("/v1/files/uploads/{}", begun.json()["upload_id"].as_str().unwrap());
    let part = |number: u32, bytes: &[u8]| {
        let path = format!("{upload}/parts/{number}");
        let (server, key, bytes) = (&it.server, it.ann.clone(), bytes.to_vec());
        async move { server.send("PUT", &path, &[("x-api-key", &key)], bytes).await }
    };
    part(1, &bytes[..1_000_000]).await.ok();
    part(3, &bytes[2_500_000..]).await.ok();
    let complete = |body: Value| {
        let path = format!("{upload}/complete");
        let (server, key) = (&it.server, it.ann.clone());
        async move {
            let headers = [("x-api-key", key.as_str()), ("content-type", JSON)];
            server.send("POST", &path, &headers, body.to_string().into()).await
        }
    };
    complete(json!({})).await.assert_problem(422, "invalid");
    let seen = it.get(&it.ann, &upload).await.ok().json();
    let arrived: Vec<&Value> =
        seen["parts"].as_array().unwrap().iter().map(|it| &it["part"]).collect();
    assert_eq!((arrived, &seen["path"]), (vec![&json!(1), &json!(3)], &json!("/film.mp4")));
    let second = part(2, &bytes[1_000_000..2_500_000]).await.ok().json();
    let other = json!({"parts": [{"part": 1, "sha256": second["sha256"]}]});
    complete(other).await.assert_problem(422, "invalid");
    let film = json!({"media_type": "video/mp4"});
    let stored = complete(film.clone()).await.ok().json();
    assert_eq!(stored["size_bytes"], 3_000_000);
    assert_eq!(complete(film).await.ok().json()["version"], stored["version"]);
    let whole = it.get(&it.ann, "/api/storage/download?path=/film.mp4").await.ok();
    assert!(whole.body == bytes);
    assert_eq!(whole.header("content-type"), Some("video/mp4"));
    part(4, b"late").await.assert_problem(404, "not_found");
    it.server.send("DELETE", &upload, &headers[..1], Vec::new()).await.ok();
    assert!(it.get(&it.ann, "/api/storage/download?path=/film.mp4").await.ok().body == bytes);
    for id in ["upl_00000000000000000000000000000000", "upl_x"] {
        let status = it.get(&it.ann, &format!("/v1/files/uploads/{id}")).await.status;
        assert_eq!(status, if id == "upl_x" { 422 } else { 404 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_breaks_off_leaves_no_file() {
    let it = World::new().await;
    for length in [100, LARGE] {
        let bytes = noise(length);
        let pieces =
            vec![Ok(bytes::Bytes::from(bytes)), Err(std::io::Error::other("the line broke"))];
        let body = axum::body::Body::from_stream(futures::stream::iter(pieces));
        let path = "/api/storage/upload?path=/broken.bin";
        let answer = it.server.send_body("POST", path, &[("x-api-key", &it.ann)], body).await;
        answer.assert_problem(400, "malformed_body");
        it.get(&it.ann, "/api/storage/download?path=/broken.bin")
            .await
            .assert_problem(404, "not_found");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_say_where_before_what() {
    let it = World::new().await;
    let file: (&str, Option<&str>, &[u8]) = ("file", Some("text/plain"), b"x");
    let cases: [(&[Field], &str); 5] = [
        (&[file], "path"),
        (&[("path", None, b"/a"), ("path", None, b"/b"), file], "path"),
        (&[("path", None, b"/../a"), file], "path"),
        (&[("path", None, b"/a")], "file"),
        (&[("other", None, b"/a"), file], "body"),
    ];
    for (fields, wrong) in cases {
        let (media, body) = form(fields);
        let headers = [("x-api-key", it.ann.as_str()), ("content-type", media.as_str())];
        let answer = it.server.send("POST", "/api/storage/upload", &headers, body).await;
        assert_eq!((answer.status, answer.field()), (422, wrong.to_owned()), "{}", answer.json());
    }
    let headers =
        [("x-api-key", it.ann.as_str()), ("content-type", "multipart/form-data; boundary=x")];
    let cut =
        it.server.send("POST", "/api/storage/upload?path=/a", &headers, b"--x\r\n".to_vec()).await;
    cut.assert_problem(400, "malformed_body");
    assert_eq!(it.paths(&it.ann, "?recursive=true").await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_comes_before_the_file_of_a_form_has_a_limit() {
    let it = World::new().await;
    let (media, whole) = form(&[("path", None, b"/a"), ("file", None, &noise(3 << 20))]);
    let headers = [("x-api-key", it.ann.as_str()), ("content-type", media.as_str())];
    let upload = async |body: Vec<u8>| {
        let pieces: Vec<_> =
            body.chunks(20_000).map(|it| Ok::<_, std::io::Error>(it.to_vec())).collect();
        let body = axum::body::Body::from_stream(futures::stream::iter(pieces));
        it.server.send_body("POST", "/api/storage/upload", &headers, body).await
    };
    let much = vec![b'-'; 3 << 20];
    let part = b"--a-boundary-of-this-test\r\nContent-Disposition: form-data; name=\"file\"\r\nX: ";
    // Nothing but bytes, bytes before the form, and the head of a part that does not end.
    for body in [much.clone(), [&much[..], &whole].concat(), [&part[..], &much].concat()] {
        let answer = upload(body).await;
        assert_eq!((answer.status, answer.field()), (422, "body".to_owned()), "{}", answer.json());
    }
    assert_eq!(it.paths(&it.ann, "?recursive=true").await, Vec::<String>::new());
    for whole in [whole.clone(), [b"before\r\n".as_slice(), &whole].concat()] {
        assert_eq!(upload(whole).await.status, 201);
    }
    assert_eq!(it.paths(&it.ann, "?recursive=true").await, ["/a"]);
}
