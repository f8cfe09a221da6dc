//! The palette of the matrix: seven steps of the logarithm of a value.
//!
//! Pages take their colours from `--heat-0` to `--heat-6` of `assets/page.css`, one set for light and one
//! for dark, each with its text colour; terminals take them from here.

/// Number of steps.
pub(crate) const STEPS: usize = 7;

/// Background and text of each step, from the 256 colours that terminals share.
pub(crate) const TERMINAL: [(u8, u8); STEPS] =
    [(17, 231), (24, 231), (60, 231), (102, 16), (144, 16), (185, 16), (227, 16)];

/// Puts values on the steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// A scale from the smallest to the largest of the positive values; none without one.
    pub(crate) fn over(values: impl Iterator<Item = f64>) -> Option<Scale> {
        values.filter(|value| value.is_finite() && *value > 0.0).fold(None, |scale, value| {
            Some(match scale {
                None => Scale { low: value, high: value },
                Some(Scale { low, high }) => Scale { low: low.min(value), high: high.max(value) },
            })
        })
    }

    /// The step of a value, 0 to 6.
    pub(crate) fn step(self, value: f64) -> usize {
        if self.low >= self.high {
            return STEPS / 2;
        }
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        ((share * STEPS as f64).max(0.0) as usize).min(STEPS - 1)
    }

    /// The value at which a step begins.
    pub(crate) fn start(self, step: usize) -> f64 {
        self.low * (self.high / self.low).powf(step as f64 / STEPS as f64)
    }

    /// The smallest and the largest value.
    pub(crate) fn ends(self) -> (f64, f64) {
        (self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_logarithmic() {
        let scale = Scale::over([1.0, 128.0, f64::NAN, -3.0].into_iter()).unwrap();
        let steps: Vec<usize> = [1.0, 1.9, 2.1, 8.1, 100.0, 128.0].map(|value| scale.step(value)).to_vec();
        assert_eq!(steps, [0, 0, 1, 3, 6, 6]);
        assert!((scale.start(3) - 8.0).abs() < 1e-9);
        assert_eq!(scale.ends(), (1.0, 128.0));
        assert_eq!(Scale::over([5.0].into_iter()).unwrap().step(5.0), 3);
        assert_eq!(Scale::over(std::iter::empty()), None);
    }

    /// Reads the palette from the style sheet: text on its step needs a contrast of 4.5 to 1.
    #[test]
    fn text_is_readable_on_every_step() {
        let css = include_str!("../assets/page.css");
        for step in 0..STEPS {
            let grounds = colours(css, &format!("--heat-{step}:"));
            let texts = colours(css, &format!("--heat-{step}-text:"));
            assert_eq!((grounds.len(), texts.len()), (2, 2), "light and dark, step {step}");
            for (ground, text) in grounds.iter().zip(&texts) {
                assert!(contrast(*ground, *text) >= 4.5, "step {step}: {ground:?} {text:?}");
            }
        }
    }

    /// Both colours of each `light-dark(#aaaaaa, #bbbbbb)` behind a name.
    fn colours(css: &str, name: &str) -> Vec<[f64; 3]> {
        let start = css.find(name).unwrap() + name.len();
        let value = css[start..].split(';').next().unwrap();
        value.split('#').skip(1).map(|hex| colour(&hex[..6])).collect()
    }

    fn colour(hex: &str) -> [f64; 3] {
        [0, 2, 4].map(|place| f64::from(u8::from_str_radix(&hex[place..place + 2], 16).unwrap()) / 255.0)
    }

    /// The contrast ratio of WCAG 2.
    fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn luminance(colour: [f64; 3]) -> f64 {
        let [red, green, blue] = colour
            .map(|part| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}
