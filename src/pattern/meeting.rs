//! Two sequences with gaps, and what both can be: the letters of a name, and the names of a path, in one way.
//!
//! A symbol is *wild* if it stands for any number of others, none included: `*` among letters, `**` among
//! names. All three questions walk the grid of places in both, so their cost is bounded by its size, and a
//! [`Budget`] bounds it harder: patterns are other people's.

/// Steps that may still be taken.
#[derive(Debug)]
pub struct Budget(u32);

/// The budget is used up: nobody knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spent;

impl Budget {
    /// So many steps of a few nanoseconds.
    pub fn of(steps: u32) -> Self {
        Self(steps)
    }

    /// What is left of it.
    pub fn left(&self) -> u32 {
        self.0
    }

    /// Takes up to `most` steps out, for a question of its own.
    #[must_use]
    pub fn share(&mut self, most: u32) -> Self {
        let share = self.0.min(most);
        self.0 -= share;
        Self(share)
    }

    /// Gives back what a share has not used.
    pub fn give_back(&mut self, share: &Self) {
        self.0 += share.0;
    }

    fn step(&mut self) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(1).ok_or(Spent)?;
        Ok(())
    }
}

/// One place of a sequence.
pub trait Symbol: Clone + PartialEq {
    /// Whether it stands for any number of others.
    fn wild(&self) -> bool;
    /// Whether one thing can be both; neither is wild.
    fn meets(&self, other: &Self, budget: &mut Budget) -> Result<bool, Spent>;
    /// Whether all that `other` can be is ours too; neither is wild. `false` where it isn't sure.
    fn covers(&self, other: &Self, budget: &mut Budget) -> Result<bool, Spent>;
    /// What both can be; neither is wild.
    fn common(&self, other: &Self, budget: &mut Budget) -> Result<Option<Self>, Spent>;
}

/// Whether one sequence of things can be both.
pub fn meets<S: Symbol>(a: &[S], b: &[S], budget: &mut Budget) -> Result<bool, Spent> {
    // What both begin with without a gap needs no grid.
    let mut at = 0;
    while let (Some(x), Some(y)) = (a.get(at), b.get(at)) {
        if x.wild() || y.wild() {
            break;
        }
        budget.step()?;
        if !x.meets(y, budget)? {
            return Ok(false);
        }
        at += 1;
    }
    let (a, b) = (&a[at..], &b[at..]);
    if a.is_empty() || b.is_empty() {
        return Ok(a.iter().chain(b).all(Symbol::wild));
    }
    let mut here = vec![false; b.len() + 1];
    let mut next = vec![false; b.len() + 1];
    here[0] = true;
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if !here[j] {
                continue;
            }
            budget.step()?;
            let (x, y) = (a.get(i), b.get(j));
            match (x, y) {
                (None, None) => return Ok(true),
                (Some(x), Some(y)) if !x.wild() && !y.wild() => {
                    next[j + 1] |= x.meets(y, budget)?;
                }
                _ => {
                    // A gap ends here, or takes in what the other has here.
                    if x.is_some_and(Symbol::wild) || y.is_some_and(Symbol::wild) {
                        next[j] |= x.is_some();
                        if y.is_some() {
                            here[j + 1] = true;
                        }
                    }
                }
            }
        }
        if !next.contains(&true) {
            return Ok(false);
        }
        std::mem::swap(&mut here, &mut next);
        next.fill(false);
    }
    Ok(false)
}

/// Whether everything that `b` can be is also `a`, as far as their signs show it.
pub fn covers<S: Symbol>(a: &[S], b: &[S], budget: &mut Budget) -> Result<bool, Spent> {
    let mut here = vec![false; b.len() + 1];
    let mut next = vec![false; b.len() + 1];
    here[0] = true;
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if !here[j] {
                continue;
            }
            budget.step()?;
            match (a.get(i), b.get(j)) {
                (None, None) => return Ok(true),
                (Some(x), y) if x.wild() => {
                    next[j] = true;
                    if y.is_some() {
                        here[j + 1] = true;
                    }
                }
                (Some(x), Some(y)) if !y.wild() => next[j + 1] |= x.covers(y, budget)?,
                _ => {}
            }
        }
        std::mem::swap(&mut here, &mut next);
        next.fill(false);
    }
    Ok(false)
}

/// What both can be, as one sequence: all of it where one covers the other, else the widest that one sequence
/// says without going beyond either.
pub fn common<S: Symbol>(mut a: &[S], mut b: &[S], budget: &mut Budget) -> Result<Option<Vec<S>>, Spent> {
    if !meets(a, b, budget)? {
        return Ok(None);
    }
    let mut said = Vec::new();
    loop {
        if covers(a, b, budget)? {
            said.extend_from_slice(b);
            return Ok(Some(said));
        }
        if covers(b, a, budget)? {
            said.extend_from_slice(a);
            return Ok(Some(said));
        }
        // Neither is at its end: the end is covered by gaps, and nothing else is met by it.
        let ([x, rest_a @ ..], [y, rest_b @ ..]) = (a, b) else { return Ok(None) };
        match (x.wild(), y.wild()) {
            (true, true) => {
                said.push(x.clone());
                if meets(rest_a, rest_b, budget)? {
                    (a, b) = (rest_a, rest_b);
                } else if meets(rest_a, b, budget)? {
                    a = rest_a;
                } else {
                    b = rest_b;
                }
            }
            (true, false) if meets(a, rest_b, budget)? => {
                said.push(y.clone());
                b = rest_b;
            }
            (true, false) => a = rest_a,
            (false, true) if meets(rest_a, b, budget)? => {
                said.push(x.clone());
                a = rest_a;
            }
            (false, true) => b = rest_b,
            (false, false) => {
                let Some(both) = x.common(y, budget)? else { return Ok(None) };
                said.push(both);
                (a, b) = (rest_a, rest_b);
            }
        }
    }
}
