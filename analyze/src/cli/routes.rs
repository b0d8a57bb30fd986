//! `routes`.

use std::io::{BufWriter, Write, stdout};

use splitproof_analyze::compare::routes_of;
use splitproof_analyze::comparison::{self, RouteSummary};

use super::coverage::{duration, line};
use super::flags::Format;
use super::plan::Routes;

/// Routes and shapes that are listed for people; JSON has all.
const LISTED: usize = 25;
const SHAPES: usize = 4;

/// Describes the routes. It always passes.
pub fn run(plan: &Routes) -> anyhow::Result<u8> {
    let routes = routes_of(&plan.trace, plan.memory)?;
    let mut out = BufWriter::new(stdout().lock());
    match plan.format {
        Format::Json => {
            serde_json::to_writer_pretty(&mut out, &routes)?;
            writeln!(out)?;
        }
        Format::Text => text(&routes, plan.capacity, &mut out)?,
    }
    out.flush()?;
    Ok(0)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn text(routes: &comparison::Routes, capacity: Option<f64>, out: &mut impl Write) -> std::io::Result<()> {
    if routes.list.is_empty() {
        writeln!(out, "no route: no statement is tagged, and no session names its application")?;
        return Ok(());
    }
    let work = if routes.measured { "the primary worked" } else { "clients waited (a recording: no node was seen)" };
    writeln!(out, "{work} {} in all; {} requests name no route", duration(routes.primary_ms), routes.without_route)?;
    for route in routes.list.iter().take(LISTED) {
        writeln!(out)?;
        one(route, routes, out)?;
    }
    if routes.list.len() > LISTED {
        writeln!(out, "\n{} more routes: --format json lists all", routes.list.len() - LISTED)?;
    }
    writeln!(out)?;
    let (now, with) = (routes.primary_peak, routes.primary_peak_with_all);
    writeln!(
        out,
        "busiest second of the primary: {now:.2} statements at once; {with:.2} if all that replicas served came back"
    )?;
    match capacity {
        Some(capacity) if with <= capacity => {
            writeln!(out, "the primary could take it back: {capacity} at once are given")
        }
        Some(capacity) => writeln!(out, "the primary could NOT take it back: {capacity} at once are given"),
        None if with <= now => writeln!(out, "the primary bore as much in this window"),
        None => writeln!(out, "whether the primary could take that is not known: --capacity says how much it can"),
    }
}

fn one(route: &RouteSummary, routes: &comparison::Routes, out: &mut impl Write) -> std::io::Result<()> {
    let kind = if route.tagged { "" } else { " (application)" };
    writeln!(out, "{}{kind}", line(&route.route.to_string(), 100))?;
    writeln!(
        out,
        "  {} calls, {} of clients' time; {} calls and {} on the primary, {} of its time",
        route.calls,
        duration(route.time_ms),
        route.primary_calls,
        duration(route.primary_ms),
        percent(route.primary_share)
    )?;
    if let Some(writes) = route.hidden_writes.filter(|&writes| writes > 0) {
        writeln!(out, "  {writes} writes behind {}", route.route.method.as_deref().unwrap_or(""))?;
    }
    if route.movable {
        writeln!(out, "  could move to a replica: relief {}", percent(route.relief))?;
    } else {
        writeln!(
            out,
            "  held by {} requests; moving its {} eligible reads alone: relief {}",
            route.held,
            route.eligible,
            percent(route.relief_by_statement)
        )?;
        for shape in route.held_by.iter().take(SHAPES) {
            writeln!(out, "    {:>7}  {}: {}", shape.requests, line(&shape.shape.text, 110), shape.reason)?;
        }
        if route.held_by.len() > SHAPES {
            writeln!(out, "    {:>7}  more shapes", route.held_by.len() - SHAPES)?;
        }
    }
    if route.eligible == 0 {
        return Ok(());
    }
    let older = route.older_at.iter().map(|older| {
        let share = percent(older.reads as f64 / route.eligible as f64);
        let own = if older.own > 0 { format!(" ({} own writes)", older.own) } else { String::new() };
        format!("{} {share}{own}", duration(older.lag_ms as f64))
    });
    writeln!(out, "  older answers on a replica that is behind by: {}", older.collect::<Vec<_>>().join(", "))?;
    if routes.measured {
        let served = &route.served;
        writeln!(
            out,
            "  eligible reads served: old {}, new {}, fallback {}, refused {}, not known {}; peak with them back {:.2}",
            served.old, served.new, served.fallback, served.refused, served.unknown, route.peak_with_it
        )?;
    }
    Ok(())
}
