//! A chart: on the left latency, on the right CPU time of a pair, against producers; a line for
//! each heap. Logarithmic, as heaps that fight over a lock are far from those that do not.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::coord::combinators::BindKeyPoints;
use plotters::prelude::*;

use super::ALLOCS;
use crate::record::Record;
use crate::row::Row;
use crate::table::{Axis, Figure};

const SIZE: (u32, u32) = (1000, 440);
const LEGEND_WIDTH: u32 = 200;

/// Colours that are told apart by most people with a colour vision deficiency as well.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(150, 110, 60),
    RGBColor(120, 94, 240),
    RGBColor(170, 170, 0),
    RGBColor(60, 60, 60),
    RGBColor(160, 30, 90),
];
/// Warena's own.
const OWN: RGBColor = RGBColor(213, 50, 0);
/// What nobody can reach.
const LIMIT: RGBColor = RGBColor(170, 170, 170);

/// A heap's line.
struct Line<'a> {
    heap: String,
    style: ShapeStyle,
    rows: Vec<&'a Row>,
}

/// Draws a benchmark of a record into a file; `false` if the record does not have it.
pub fn draw(record: &Record, bench: &str, path: &Path) -> Result<bool> {
    let rows: Vec<&Row> = record
        .rows
        .iter()
        .filter(|row| row.bench == bench && row.allocs == ALLOCS && row.front.is_none())
        // The ablations are in tables: here they would hide the peers.
        .filter(|row| row.config.as_deref().is_none_or(|config| config == "full"))
        .collect();
    if Axis::PRODUCERS.keys(&rows).len() < 2 {
        return Ok(false);
    }
    let lines = lines(&rows);
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let size = rows.first().map_or(0, |row| row.size);
    let title = format!(
        "{bench}, {}: {size} B, {ALLOCS} objects a cycle, {} processors",
        record.origin.host, record.origin.cores
    );
    let area = area.titled(&title, ("sans-serif", 18)).map_err(failed)?;
    let (plots, legend) = area.split_horizontally(SIZE.0 - LEGEND_WIDTH);
    let (left, right) = plots.split_horizontally((SIZE.0 - LEGEND_WIDTH) / 2);
    panel(&left, "latency of a pair, ns", &lines, |row| {
        Some(row.pair_ns)
    })?;
    panel(&right, "CPU time of a pair, ns", &lines, |row| {
        row.cpu_ns_per_pair
    })?;
    names(&legend, &lines)?;
    area.present().map_err(failed)?;
    Ok(true)
}

fn lines<'a>(rows: &[&'a Row]) -> Vec<Line<'a>> {
    let mut colours = COLOURS.iter().cycle();
    let heaps = Axis::HEAP.keys(rows).into_iter();
    heaps
        .map(|heap| {
            let style = match heap.as_str() {
                "warena" => OWN.stroke_width(3),
                "limit" => LIMIT.stroke_width(2),
                _ => colours.next().unwrap_or(&BLACK).stroke_width(2),
            };
            let own = rows.iter().filter(|row| row.heap() == heap);
            let mut rows: Vec<&Row> = own.copied().collect();
            rows.sort_by_key(|row| row.producers);
            Line { heap, style, rows }
        })
        .collect()
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn panel(area: &Area<'_>, what: &str, lines: &[Line<'_>], figure: Figure) -> Result<()> {
    let points: Vec<Vec<(f64, f64)>> = lines
        .iter()
        .map(|line| {
            let rows = line.rows.iter();
            rows.filter_map(|row| Some((row.producers as f64, figure(row)?)))
                .collect()
        })
        .collect();
    let all = || points.iter().flatten();
    let least = all().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let most = all().map(|point| point.1).fold(0.0, f64::max);
    if most <= 0.0 {
        return Ok(());
    }
    let (ticks, range) = scale(least, most);
    let producers = all().map(|point| point.0).fold(1.0, f64::max);
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(what, ("sans-serif", 15))
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d(
            (0.9..producers * 1.1).log_scale().base(2.0),
            range.log_scale().with_key_points(ticks),
        )
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("producers")
        .x_labels(5)
        .x_label_formatter(&|producers| format!("{producers:.0}"))
        .y_label_formatter(&|ns| format!("{ns}"))
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.1))
        .label_style(("sans-serif", 13))
        .draw()
        .map_err(failed)?;
    for (line, points) in lines.iter().zip(points) {
        let dots = points.iter();
        let dots = dots.map(|&point| Circle::new(point, 3, line.style.filled()));
        chart.draw_series(dots).map_err(failed)?;
        chart
            .draw_series(LineSeries::new(points, line.style))
            .map_err(failed)?;
    }
    Ok(())
}

/// The ticks 1, 2, 5, 10 and so on around these figures, and the range from the first to the last.
fn scale(least: f64, most: f64) -> (Vec<f64>, std::ops::Range<f64>) {
    let decades = -3..9;
    let all = decades.flat_map(|decade| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(decade)));
    let all: Vec<f64> = all.collect();
    let first = all.iter().rposition(|&tick| tick <= least).unwrap_or(0);
    let last = all.iter().position(|&tick| tick >= most);
    let last = last.unwrap_or(all.len() - 1).max(first + 1);
    let ticks = all[first..=last].to_vec();
    let range = all[first]..all[last];
    (ticks, range)
}

/// The heaps' names, from the dearest at one producer to the cheapest.
fn names(area: &Area<'_>, lines: &[Line<'_>]) -> Result<()> {
    const HEIGHT: i32 = 24;
    let mut sorted: Vec<&Line<'_>> = lines.iter().collect();
    let first = |line: &Line<'_>| line.rows.first().map_or(0.0, |row| row.pair_ns);
    sorted.sort_by(|a, b| first(b).total_cmp(&first(a)));
    for (index, line) in sorted.into_iter().enumerate() {
        let y = 48 + HEIGHT * index as i32;
        area.draw(&PathElement::new(vec![(4, y), (28, y)], line.style))
            .map_err(failed)?;
        let text = Text::new(line.heap.clone(), (34, y - 8), ("sans-serif", 14));
        area.draw(&text).map_err(failed)?;
    }
    Ok(())
}

/// Errors of the library name its backend's type, which is not worth passing on.
fn failed(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_enclose_the_figures() {
        let (ticks, range) = scale(1.3, 60.0);
        assert_eq!(ticks, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(range, 1.0..100.0);
        assert_eq!(scale(5.0, 5.0).0.len(), 2);
    }
}
