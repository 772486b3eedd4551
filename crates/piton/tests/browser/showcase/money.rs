//! Amounts of money, and how they are written.

/// An amount in euros.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Money(pub f64);

impl Money {
    /// From the notation of the bank: `-1.234,50`
    pub fn parse(text: &str) -> Option<Money> {
        let text = text.trim().replace('.', "");
        Some(Money(text.replace(',', ".").parse().ok()?))
    }

    pub fn sum(all: &[Money]) -> Money {
        Money(all.iter().map(|one| one.0).sum())
    }
}
