//! Making a lost or incomplete manifest again from the files.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use serde::Deserialize;

use super::column::Row;
use super::directory;
use super::error::Error;
use super::file::{ENGINE_KEY, SOURCE_KEY, Seal, seal};
use super::manifest::{Engine, FORMAT, File, Group, Manifest, Sealed, TOOL, Table, Window};
use super::position::Position;
use super::request::Request;
use super::rows::{Columns, Opened};
use super::shape::Shape;

/// Writes `trace.json` again from the Parquet files of a trace, in place of the one that is there.
///
/// The inputs and a run's section are taken over from the manifest that is there, if it can be read. The loss counters are
/// not, since they count what came before a file went missing. So the new one is marked `rebuilt`, and is not `complete`. A run
/// whose section is lost is refused: nothing else tells the roles of its nodes.
pub fn rebuild(dir: &Path) -> Result<Manifest, Error> {
    let names = directory::list(dir)?;
    let kept = kept(dir);
    if kept.run.is_none() && directory::is_run(&names) {
        return Err(Error::RunLost { dir: dir.into() });
    }
    let mut tables: BTreeMap<&str, (Table, HashSet<u64>)> = BTreeMap::new();
    let (mut engine, mut source) = (None, None);
    for name in &names {
        let Some(stem) = directory::stem(name) else { continue };
        let opened = Opened::open::<Request>(&dir.join(name), 0)?;
        engine = engine.or_else(|| opened.label(ENGINE_KEY).and_then(Engine::from_word));
        source = source.or_else(|| opened.label(SOURCE_KEY).map(str::to_string));
        let (table, sessions) = tables.entry(stem).or_default();
        take_in(dir, name, opened.groups().len(), table, sessions)?;
    }
    if tables.is_empty() {
        return Err(Error::NotATrace { dir: dir.into() });
    }
    let mut manifest = Manifest {
        format: FORMAT,
        tool: TOOL.to_string(),
        engine: engine.unwrap_or(Engine::Postgresql),
        source: source.unwrap_or_else(|| "unknown".to_string()),
        inputs: kept.inputs,
        complete: false,
        stopped: false,
        rebuilt: true,
        table: Table::default(),
        encrypted: Vec::new(),
        nodes: BTreeMap::new(),
        shapes: count::<Shape>(dir, &names, directory::SHAPES)?,
        positions: count::<Position>(dir, &names, directory::POSITIONS)?,
        sealed: sealed(dir, &names)?,
        run: kept.run,
    };
    for (stem, (table, _)) in tables {
        match stem.strip_prefix("node-") {
            Some(node) => drop(manifest.nodes.insert(node.to_string(), table)),
            None => manifest.table = table,
        }
    }
    directory::write_manifest(dir, &manifest)?;
    Ok(manifest)
}

/// What the old manifest knew and the files do not.
#[derive(Default, Deserialize)]
struct Kept {
    #[serde(default)]
    inputs: Vec<String>,
    run: Option<serde_json::Value>,
}

fn kept(dir: &Path) -> Kept {
    let text = std::fs::read(dir.join(directory::MANIFEST)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// The files beside the requests, as they are now.
fn sealed(dir: &Path, names: &[String]) -> Result<BTreeMap<String, Sealed>, Error> {
    let beside = names.iter().filter(|name| directory::is_beside(name));
    let sealed = beside.map(|name| {
        let path = dir.join(name);
        let Seal { bytes, digest } = seal(&path).map_err(Error::io(&path, "read"))?;
        Ok((name.clone(), Sealed { bytes, xxh3: digest }))
    });
    sealed.collect()
}

/// Adds one file of requests to its table.
fn take_in(dir: &Path, name: &str, groups: usize, table: &mut Table, sessions: &mut HashSet<u64>) -> Result<(), Error> {
    let path = dir.join(name);
    let Seal { bytes, digest } = seal(&path).map_err(Error::io(&path, "read"))?;
    let mut file = File { name: name.to_string(), bytes, xxh3: digest, groups: Vec::with_capacity(groups) };
    for index in 0..groups {
        let columns = Columns::Only(vec!["duration_ns"]);
        let mut group: Option<Group> = None;
        for row in Opened::open::<Request>(&path, 0)?.rows::<Request>(Some(index), &columns)? {
            let row = row?;
            let start = row.start_ns;
            let group = group.get_or_insert(Group { rows: 0, first_start_ns: start, last_start_ns: start });
            group.rows += 1;
            group.last_start_ns = start;
            sessions.insert(row.session);
            let last_end_ns = row.end_ns().unwrap_or(start);
            Window::cover(&mut table.window, Window { first_start_ns: start, last_end_ns });
        }
        file.groups.extend(group);
    }
    table.requests += file.rows();
    table.sessions = sessions.len() as u64;
    table.files.push(file);
    Ok(())
}

/// Rows of one of the other files; `None` when it is not there.
fn count<R: Row>(dir: &Path, names: &[String], name: &str) -> Result<Option<u64>, Error> {
    if !names.iter().any(|other| other == name) {
        return Ok(None);
    }
    Ok(Some(Opened::open::<R>(&dir.join(name), 0)?.groups().iter().sum()))
}
