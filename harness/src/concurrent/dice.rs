//! Choices that depend on a seed, a number and what they are for alone, on every machine.

use crate::sandbox::manifest::digest;

/// Dice that fall the same way each time.
pub struct Dice {
    named: String,
    thrown: u64,
}

impl Dice {
    /// Dice of their own for one purpose, so that more throws for one do not change another.
    pub fn new(seed: u64, number: u64, purpose: &str) -> Self {
        Dice { named: format!("{purpose} {seed} {number}"), thrown: 0 }
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.thrown += 1;
        digest(format!("{} {}", self.named, self.thrown).as_bytes())
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.any() % bound.max(1) as u64) as usize
    }

    /// True once in so many throws.
    pub fn once_in(&mut self, throws: usize) -> bool {
        self.below(throws) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dice_fall_the_same_way_for_the_same_purpose_and_reach_everything() {
        let throw = |purpose| {
            let mut dice = Dice::new(7, 3, purpose);
            (0..200).map(|_| dice.below(5)).collect::<Vec<_>>()
        };
        assert_eq!(throw("plan"), throw("plan"));
        assert_ne!(throw("plan"), throw("other"));
        assert!((0..5).all(|one| throw("plan").contains(&one)));
    }
}
