//! Recording packets, from files or an interface.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use splitproof_capture::packets::{Assembler, Control, Ended, Limits, Open, Ports, Reason, Source, Statistics};
use splitproof_capture::session::{self, Sampling, Shared};
use splitproof_capture::tls::KeyLog;
use splitproof_capture::trace::{Engine, Loss, Manifest, Options};

use super::Done;
use super::plan::Record;
use super::progress::Progress;
use super::redact::left_out;
use super::series::Series;
use super::sink::{Deciding, Watched};
use super::stop::{self, STOPPED};
use super::summary::{Summary, moment};
use super::watch::{Cpu, Watch};

/// What a killed live recording can lose.
pub const FLUSH_EVERY: Duration = Duration::from_secs(10);

/// What to do about encrypted sessions.
pub const ENCRYPTED: &str = "the sessions are encrypted: record where they are not, or let clients that allow it connect \
                             unencrypted through `tap --refuse-encryption`";

/// Records until the source ends or is told to stop, and prints the summary.
pub fn run(plan: Record) -> anyhow::Result<Done> {
    let Record { source, key_logs, ports, duration, sampling, long, output } = plan;
    // Before the old trace is replaced: a wrong file name must not cost it.
    let has_end = source.check()?.is_some();
    let keys = KeyLog::default();
    for path in &key_logs {
        match source {
            Source::Files(_) => keys.read(path)?,
            Source::Live(_) => keys.follow(path)?,
        }
    }
    let stop = stop::on_signals()?;
    let (name, inputs, flush_every): (_, Vec<String>, _) = match &source {
        Source::Files(files) => ("packets", files.iter().map(|file| file.display().to_string()).collect(), None),
        Source::Live(live) => ("live", vec![live.interface.clone()], Some(FLUSH_EVERY)),
    };
    let heard = inputs.join(", ");
    let engine = ports.only_engine().unwrap_or(Engine::Postgresql);
    let options = Options { inputs, existing: output.existing, flush_every, ..Options::new(engine, name) };
    let rotates = !long.rotation.is_none();
    let series = Series::create(output.dir.clone(), options, long.rotation)?;
    let (decided, open) = sessions(&ports, &keys, sampling);
    let mut watched = Watched::new(series, stop.clone(), output.redact, engine, Arc::clone(&decided));
    let mut progress = Progress::start();
    let live = matches!(source, Source::Live(_)).then(|| {
        let watch = Watch::new(&output.dir, long.min_free, !progress.is_seen());
        (watch.status(), watch.ended(), watch)
    });
    let ended_by = live.as_ref().map(|(_, ended, _)| Arc::clone(ended));
    let cpu = Cpu::start();
    if let Some((status, _, watch)) = live {
        progress = progress.with(status);
        watched = watched.watching(watch);
    }
    let mut sink = Deciding { watched, decided, told: false };
    let mut assembler = Assembler::new(ports, Limits::default(), open);
    let ended = {
        let mut show = |state: splitproof_capture::packets::Progress<'_>| progress.packets(state);
        let mut begun = || eprintln!("listening on {heard}");
        let control = Control {
            stop: Some(&stop),
            duration,
            begun: Some(&mut begun),
            key_log: Some(&keys),
            progress: Some(&mut show),
        };
        let ended = source.run(&mut assembler, &mut sink, control)?;
        assembler.finish(&mut sink);
        drop(progress);
        ended
    };
    let budget = ended_by.is_some().then(|| cpu.budget());
    // An interface and a pipe are read until somebody says that it is enough; a file has an end.
    let stopped = has_end && ended.reason == Reason::Stopped;
    let (manifest, traces) = sink.watched.finish(&assembler.losses(), stopped)?;

    let mut problems = problems(&ended, &manifest, assembler.statistics());
    problems.extend(manifest.stopped.then(|| STOPPED.to_owned()));
    problems.extend(left_out(&manifest));
    problems.extend(ended_by.and_then(|why| why.get().cloned()));
    let mut summary = Summary::new(&output.dir, &manifest, &problems).packets(assembler.statistics());
    summary = summary.traces(rotates.then_some(traces));
    if let Some(budget) = budget {
        summary = summary.cpu(budget);
    }
    summary.print(output.json)?;
    Ok(Done::from_problems(&problems))
}

/// Opens sessions. A trace is of one engine: where the ports are of several, the first session decides which.
fn sessions(ports: &Ports, keys: &KeyLog, sampling: Option<Sampling>) -> (Arc<OnceLock<Shared>>, Open) {
    let decided = Arc::new(OnceLock::new());
    if let Some(engine) = ports.only_engine() {
        decided.set(Shared::new(engine).with_key_log(keys)).ok();
    }
    let (shared, keys) = (Arc::clone(&decided), keys.clone());
    let open: Open = Box::new(move |engine, session, start| {
        if let Some(left_out) = sampling.and_then(|sampling| sampling.leaves_out(&start)) {
            return left_out;
        }
        session::decoder(engine, session, start, shared.get_or_init(|| Shared::new(engine).with_key_log(&keys)))
    });
    (decided, open)
}

/// What the user must know although a trace was written.
fn problems(ended: &Ended, manifest: &Manifest, statistics: &Statistics) -> Vec<String> {
    let mut problems: Vec<String> = ended.damaged.iter().map(ToString::to_string).collect();
    for cut in &ended.cut {
        let path = cut.path.display();
        problems.push(format!(
            "{path}: ends inside a packet, at byte {} after {} packets; the last {} bytes are lost",
            cut.offset, cut.packets, cut.bytes
        ));
    }
    for overlap in &ended.overlapping {
        problems.push(format!(
            "{}: begins at {}, before the files before it end ({}): what is in both may count twice; give each packet once, \
             and the files in the order in which they were recorded",
            overlap.path.display(),
            moment(overlap.first_ns),
            moment(overlap.before_ns)
        ));
    }
    problems.extend(statistics.contradiction().map(|what| format!("the counts do not agree: {what}")));
    let losses = &manifest.table.losses;
    let others = losses.get(Loss::OtherEngine);
    if others > 0 {
        let engine = manifest.engine;
        problems.push(format!(
            "the trace is of {engine}: {others} sessions of another engine are not in it; record \
                               them into a trace of their own, with --port"
        ));
    }
    if manifest.table.requests == 0 {
        let why = if statistics.packets == 0 {
            "there was no packet".to_string()
        } else if losses.get(Loss::Encrypted) > 0 {
            format!("{ENCRYPTED}; with the secrets of a key log they can be read (--keylog)")
        } else if statistics.used == 0 {
            format!("none of the {} packets is of a port that was asked for; give --port", statistics.packets)
        } else {
            format!("{} packets were used, and none held a request; see what was lost", statistics.used)
        };
        problems.push(format!("no request was recorded: {why}"));
    }
    problems
}
