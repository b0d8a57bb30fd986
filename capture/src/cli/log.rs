//! Recording from server logs.

use splitproof_capture::log::{Control, Ended, Source};
use splitproof_capture::session::Shared;
use splitproof_capture::trace::{Manifest, Options, Shape, Writer};

use super::Done;
use super::plan::Log;
use super::progress::Progress;
use super::sink::Watched;
use super::stop;
use super::summary::{Summary, moment};

/// Records until the files end or until told to stop, and prints the summary.
pub fn run(plan: Log) -> anyhow::Result<Done> {
    let Log { source, output } = plan;
    // Before the old trace is replaced: a wrong file name must not cost it.
    source.check()?;
    let stop = stop::on_signals()?;
    let engine = source.format.engine();
    let inputs = source.files.iter().map(|file| file.display().to_string()).collect();
    let options = Options { inputs, existing: output.existing, ..Options::new(engine, "log") };
    let mut sink = Watched { writer: Writer::create(&output.dir, options)?, stop: stop.clone() };

    let shared = Shared::new(engine);
    let progress = Progress::start();
    let show = move |state: splitproof_capture::log::Progress<'_>| progress.log(state);
    let control = Control { stop: Some(stop), progress: Some(Box::new(show)) };
    let ended = source.run(&shared, &mut sink, control)?;
    sink.writer.shapes(Shape::collected(shared.shapes().iter()))?;
    let manifest = sink.writer.finish(&ended.losses)?;

    let problems = problems(&source, &ended, &manifest);
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
