//! Recording from server logs.

use std::sync::{Arc, OnceLock};

use splitproof_capture::log::{Control, Ended, Source};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Manifest, Options};

use super::Done;
use super::plan::Log;
use super::progress::Progress;
use super::redact::left_out;
use super::series::{Rotation, Series};
use super::sink::Watched;
use super::stop::{self, STOPPED};
use super::summary::{Summary, moment};

/// Records until the files end or until told to stop, and prints the summary.
pub fn run(plan: Log) -> anyhow::Result<Done> {
    let Log { source, output } = plan;
    // Before the old trace is replaced: a wrong file name must not cost it.
    let has_end = source.check()?.is_some();
    let stop = stop::on_signals()?;
    let engine = source.format.engine();
    let inputs = source.files.iter().map(|file| file.display().to_string()).collect();
    let options = Options { inputs, existing: output.existing, ..Options::new(engine, "log") };
    let shared = Shared::new(engine);
    let decided = Arc::new(OnceLock::from(shared.clone()));
    let series = Series::create(output.dir.clone(), options, Rotation::default())?;
    let mut sink = Watched::new(series, stop.clone(), output.redact, engine, decided);

    let progress = Progress::start();
    let show = move |state: splitproof_capture::log::Progress<'_>| progress.log(state);
    let control = Control { stop: Some(stop), progress: Some(Box::new(show)) };
    let ended = source.run(&shared, &mut sink, control)?;
    let (manifest, _) = sink.finish(&ended.losses, has_end && ended.stopped)?;

    let mut problems = problems(&source, &ended, &manifest);
    problems.extend(manifest.stopped.then(|| STOPPED.to_owned()));
    problems.extend(left_out(&manifest));
    Summary::new(&output.dir, &manifest, &problems).log(&ended).print(output.json)?;
    Ok(Done::from_problems(&problems))
}

/// What the user must know although a trace was written.
fn problems(source: &Source, ended: &Ended, manifest: &Manifest) -> Vec<String> {
    let mut problems: Vec<String> = ended.damaged.iter().map(ToString::to_string).collect();
    for overlap in &ended.overlapping {
        problems.push(format!(
            "{}: begins at {}, before the files before it end ({}): give the files in the order in which they were written, and \
             each server's log into a trace of its own",
            overlap.path.display(),
            moment(overlap.first_ns),
            moment(overlap.before_ns)
        ));
    }
    problems
        .extend(ended.contradiction(manifest.table.requests).map(|what| format!("the counts do not agree: {what}")));
    if manifest.table.requests == 0 {
        let why = match ended.statistics.entries {
            0 => "there was no entry in the log".to_string(),
            entries => format!(
                "none of the {entries} entries is a statement; see what was lost, whether the log is of format {}, and what the \
                 server was told to log",
                source.format.name()
            ),
        };
        problems.push(format!("no request was recorded: {why}"));
    }
    problems
}
