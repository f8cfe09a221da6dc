//! How often nominal 95 % intervals of batch means hold the truth, beside the figures that the method was built on.
//!
//! `cargo run --release --example coverage -p tokometer-stats`

#![expect(clippy::print_stdout, reason = "an example that prints a table")]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/it/simulate.rs"]
mod simulate;

use simulate::{TABLE, TRIALS, coverage};

const BATCHES: [usize; 4] = [5, 6, 10, 30];

fn main() {
    println!(
        "Coverage of nominal 95 % intervals of b batch means (Student's t), AR(1) noise per second, CV 3 %,"
    );
    println!("{TRIALS} windows each, seed fixed. In brackets: the published figure.\n");
    print!("{:>8} {:>5}", "window", "ρ");
    for batches in BATCHES {
        print!("{:>18}", format!("b = {batches}"));
    }
    println!();
    for seconds in [30, 60, 180] {
        for rho in [0.0, 0.5, 0.8] {
            print!("{:>8} {rho:>5}", format!("{seconds} s"));
            for batches in BATCHES {
                let found = coverage(seconds, rho, batches);
                let published = TABLE.iter().find(|row| (row.0, row.1, row.2) == (seconds, rho, batches));
                let published = published.map_or_else(|| " ".repeat(6), |row| format!("({:.2})", row.3));
                print!("{:>18}", format!("{found:.3} {published}"));
            }
            println!();
        }
    }
}
