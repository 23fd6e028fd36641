//! How the core's times grow with the checkpoints of a project, and with the projects of a store.

use crate::plan::{Shape, Step};
use crate::tool::{Program, Running};
use crate::{CommandArguments, median};
use std::error::Error;
use std::fs;

/// What a time is measured against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Against {
    /// The checkpoints of the project.
    Checkpoints,
    /// The other projects of the store, each with one checkpoint.
    Projects,
}

/// How the time of an operation grows.
pub struct Curve {
    /// With what.
    pub against: Against,
    /// The operation.
    pub step: Step,
    /// How many there are, and the seconds.
    pub points: Vec<(usize, f64)>,
}

/// How many there are of what grows.
const COUNTS: [usize; 3] = [10, 100, 1_000];
/// The files of the project.
const FILES: usize = 100;
/// How often each operation is timed.
const REPEATS: usize = 5;

/// Measures the core.
pub fn measure(arguments: &CommandArguments) -> Result<Vec<Curve>, Box<dyn Error>> {
    let mut growth = Vec::new();
    for against in [Against::Checkpoints, Against::Projects] {
        eprintln!("growth with {against:?}");
        let mut running = arguments.start(Program::Herma, Shape::Source(FILES))?;
        running.keep_all_checkpoints()?;
        running.run(Step::First)?;
        let mut there = 1;
        let mut curves =
            [Step::One, Step::List].map(|step| Curve { against, step, points: Vec::new() });
        for count in COUNTS {
            while there < count {
                there += 1;
                match against {
                    Against::Checkpoints => {
                        running.project.change(1, there)?;
                        running.run(Step::One)?;
                    }
                    Against::Projects => running.checkpoint_elsewhere(there)?,
                }
            }
            for curve in &mut curves {
                let mut times = Vec::new();
                for repeat in 0..REPEATS {
                    running.project.change(1, count + repeat + 1)?;
                    rustix::fs::sync();
                    times.extend(running.run(curve.step)?.map(|took| took.as_secs_f64()));
                }
                curve.points.extend(median(&times).map(|time| (count, time)));
            }
        }
        growth.extend(curves);
    }
    Ok(growth)
}

/// The exponent `e` of the best fit of `time = c * count^e`: 0 does not grow, 1 grows as the count does.
pub fn exponent(curve: &[(usize, f64)]) -> Option<f64> {
    let points: Vec<[f64; 2]> =
        curve.iter().map(|(count, time)| [(*count as f64).ln(), time.ln()]).collect();
    let mean = |of: usize| points.iter().map(|point| point[of]).sum::<f64>() / points.len() as f64;
    let middle = [mean(0), mean(1)];
    let sum = |of: usize| -> f64 {
        points.iter().map(|point| (point[0] - middle[0]) * (point[of] - middle[of])).sum()
    };
    (points.len() > 1).then(|| sum(1) / sum(0))
}

impl Running {
    /// Lets a store keep as many checkpoints as are measured.
    fn keep_all_checkpoints(&self) -> std::io::Result<()> {
        let home = self.project.sandbox.home().join(".hermes");
        fs::create_dir_all(&home)?;
        fs::write(home.join("config.yaml"), "checkpoints:\n  max_snapshots: 10000\n")
    }

    /// A checkpoint of another project in the same store.
    fn checkpoint_elsewhere(&self, number: usize) -> Result<(), Box<dyn Error>> {
        let directory = self.project.sandbox.root().join(format!("work/other{number}"));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join("file"), format!("{number}\n"))?;
        self.checkpoint_of(&directory)
    }
}
