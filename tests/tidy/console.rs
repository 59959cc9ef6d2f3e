//! Checks that the files of the console were built from the sources that are here. Whoever has Node.js also builds them anew
//! and compares.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// What a build reads.
const SOURCES: [&str; 6] = [
    "clients/console/src",
    "clients/console/index.html",
    "clients/console/vite.config.ts",
    "clients/console/package.json",
    "clients/js/src",
    "package-lock.json",
];

#[test]
fn the_console_was_built_from_these_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for source in SOURCES {
        list(&root.join(source), &mut files);
    }
    let line = |path: &PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let digest = hex::encode(Sha256::digest(fs::read(path).unwrap()));
        (name.clone(), format!("{digest}  {name}\n"))
    };
    let mut lines: Vec<(String, String)> = files.iter().map(line).collect();
    lines.sort();
    let all: String = lines.into_iter().map(|(_, line)| line).collect();
    let kept = fs::read_to_string(root.join("clients/console/dist/SOURCES")).unwrap();
    assert_eq!(
        kept.trim(),
        hex::encode(Sha256::digest(all)),
        "build the console anew: npm run build --workspace clients/console"
    );
}

fn list(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            list(&entry.unwrap().path(), files);
        }
    } else {
        files.push(path.to_owned());
    }
}
