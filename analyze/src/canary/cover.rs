//! Set cover: the cheapest sets that cover a wanted weight, as near as greed comes, and how near that is.
//!
//! Finding the cheapest is NP-hard. Greed takes the set with the most new weight for its cost, again and again. With whole weights
//! it costs at most H(m) ≤ 1 + ln m times the cheapest, where m is the largest weight that one set covers (Wolsey, "An analysis of the
//! greedy algorithm for the submodular set covering problem", 1982; the weight, counted up to the target, is submodular).
//! That is the worst of all inputs. For the input at hand two lower bounds on any solution's cost say more:
//!
//! - After any choice, what a solution adds is at most the sum of what its sets add one by one. So the sets with the most new
//!   weight for their cost, the last of them in part, cost no more than the rest of any solution would, all of it being new.
//! - The prices that greed paid for the elements, scaled down until no set costs less than its elements, are a solution of the
//!   dual linear program.

/// One set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// What it costs; at least 1.
    pub cost: u64,
    /// Its elements, each once.
    pub elements: Vec<usize>,
}

/// A cover.
#[derive(Clone, Debug, PartialEq)]
pub struct Cover {
    /// The sets, in the order in which they were taken, with the weight that was covered after each.
    pub chosen: Vec<(usize, u64)>,
    /// Their cost.
    pub cost: u64,
    /// No cover costs less.
    pub lower_bound: u64,
    /// The largest weight that one set covers, up to the target.
    pub largest: u64,
}

impl Cover {
    /// How much dearer than the cheapest cover greed can be at most, on any input with sets so large: 1 + ln m.
    pub fn guarantee(&self) -> f64 {
        1.0 + (self.largest.max(1) as f64).ln()
    }
}

/// Rounds of greed after which the first bound is computed: more would not raise it much.
const LOOKS: usize = 32;

struct Problem<'a> {
    sets: &'a [Set],
    weights: &'a [u64],
    target: u64,
}

/// Covers at least `target` of the elements' weight; `None` where all sets together do not.
pub fn cover(sets: &[Set], weights: &[u64], target: u64) -> Option<Cover> {
    let problem = Problem { sets, weights, target };
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); weights.len()];
    for (at, set) in sets.iter().enumerate() {
        set.elements.iter().for_each(|&element| within[element].push(at));
    }
    // What each set would add.
    let mut new: Vec<u64> = sets.iter().map(|set| set.elements.iter().map(|&element| weights[element]).sum()).collect();
    let largest = new.iter().map(|&new| new.min(target)).max().unwrap_or(0);
    let mut chosen: Vec<usize> = Vec::new();
    let mut covered = vec![false; weights.len()];
    let mut prices = vec![0.0; weights.len()];
    let mut weight = 0;
    let mut last_price = 0.0;
    let mut looked = 0;
    let mut bound = 0.0_f64;
    while weight < target {
        let rest = target - weight;
        let gain = |at: usize| new[at].min(rest);
        if looked < LOOKS || chosen.len().is_power_of_two() {
            looked += 1;
            bound = bound.max(problem.fractional(&new, rest));
        }
        let best = (0..sets.len()).filter(|&at| new[at] > 0).max_by(|&a, &b| {
            let worth = |at: usize, other: usize| u128::from(gain(at)) * u128::from(sets[other].cost.max(1));
            // Of equals the larger, and then the first, so that the choice does not depend on anything else.
            worth(a, b).cmp(&worth(b, a)).then(gain(a).cmp(&gain(b))).then(b.cmp(&a))
        })?;
        last_price = sets[best].cost as f64 / gain(best) as f64;
        for &element in &sets[best].elements {
            if !std::mem::replace(&mut covered[element], true) {
                weight += weights[element];
                prices[element] = last_price * weights[element] as f64;
                within[element].iter().for_each(|&at| new[at] -= weights[element]);
            }
        }
        chosen.push(best);
    }
    for (element, price) in prices.iter_mut().enumerate().filter(|&(element, _)| !covered[element]) {
        *price = last_price * weights[element] as f64;
    }
    bound = bound.max(problem.dual(prices));
    let chosen = problem.without_needless(chosen);
    let cost = chosen.iter().map(|&(at, _)| sets[at].cost).sum();
    // Costs are whole, and so is the cheapest cover's; what floating point may have added is taken off.
    let lower_bound = ((bound * (1.0 - 1e-9)).ceil() as u64).min(cost);
    Some(Cover { chosen, cost, lower_bound, largest })
}

impl Problem<'_> {
    /// The cost of the sets with the most gain for their cost that gain the rest, the last one in part.
    fn fractional(&self, new: &[u64], rest: u64) -> f64 {
        let gain = |at: usize| new[at].min(rest) as f64;
        let mut order: Vec<usize> = (0..new.len()).filter(|&at| new[at] > 0).collect();
        let worth = |at: usize| gain(at) / self.sets[at].cost.max(1) as f64;
        order.sort_by(|&a, &b| worth(b).total_cmp(&worth(a)));
        let (mut rest, mut cost) = (rest as f64, 0.0);
        for at in order {
            let part = (rest / gain(at)).min(1.0);
            cost += part * self.sets[at].cost as f64;
            rest -= part * gain(at);
            if rest <= 0.0 {
                break;
            }
        }
        cost
    }

    /// The value of the dual that these prices give: those of the cheapest elements that together have the wanted weight.
    fn dual(&self, prices: Vec<f64>) -> f64 {
        let over = self
            .sets
            .iter()
            .map(|set| set.elements.iter().map(|&element| prices[element]).sum::<f64>() / set.cost.max(1) as f64);
        let over = over.fold(0.0, f64::max);
        if over <= 0.0 {
            return 0.0;
        }
        let mut elements: Vec<(f64, f64)> = prices
            .iter()
            .zip(self.weights)
            .filter(|&(_, &weight)| weight > 0)
            .map(|(price, &weight)| (price / over, weight as f64))
            .collect();
        elements.sort_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
        let (mut rest, mut value) = (self.target as f64, 0.0);
        for (price, weight) in elements {
            let part = (rest / weight).min(1.0);
            value += part * price;
            rest -= part * weight;
            if rest <= 0.0 {
                break;
            }
        }
        value
    }

    /// The chosen sets without those that later ones made needless, with the weight that is covered after each.
    fn without_needless(&self, mut chosen: Vec<usize>) -> Vec<(usize, u64)> {
        let mut times = vec![0_u32; self.weights.len()];
        for &at in &chosen {
            self.sets[at].elements.iter().for_each(|&element| times[element] += 1);
        }
        let mut weight: u64 =
            times.iter().zip(self.weights).filter(|&(&times, _)| times > 0).map(|(_, &weight)| weight).sum();
        for index in (0..chosen.len()).rev() {
            let set = &self.sets[chosen[index]];
            let lost: u64 = set.elements.iter().filter(|&&e| times[e] == 1).map(|&e| self.weights[e]).sum();
            if weight - lost >= self.target {
                weight -= lost;
                set.elements.iter().for_each(|&element| times[element] -= 1);
                chosen.remove(index);
            }
        }
        let mut covered = vec![false; self.weights.len()];
        weight = 0;
        chosen
            .into_iter()
            .map(|at| {
                for &element in &self.sets[at].elements {
                    if !std::mem::replace(&mut covered[element], true) {
                        weight += self.weights[element];
                    }
                }
                (at, weight)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(sets: &[(u64, &[usize])]) -> Vec<Set> {
        sets.iter().map(|&(cost, elements)| Set { cost, elements: elements.to_vec() }).collect()
    }

    fn chosen(cover: &Cover) -> Vec<usize> {
        cover.chosen.iter().map(|&(at, _)| at).collect()
    }

    /// The textbook's bad case: two sets would do, and greed takes the large one first.
    #[test]
    fn greed_is_not_the_best_and_says_how_far_it_is() {
        let sets = sets(&[(1, &[0, 1, 2, 3]), (1, &[0, 1, 4]), (1, &[2, 3, 5])]);
        let found = cover(&sets, &[1; 6], 6).unwrap();
        // 4 and 5 stand in one set each, so that both are needed, and make the first needless.
        assert_eq!(chosen(&found), [1, 2]);
        assert_eq!((found.cost, found.lower_bound, found.largest), (2, 2, 4));
        assert_eq!(found.chosen.iter().map(|&(_, weight)| weight).collect::<Vec<_>>(), [3, 6]);
    }

    #[test]
    fn the_cheaper_set_for_its_new_weight_is_taken() {
        // 10 for 5 elements, or 3 + 3 for the same: 3 a piece.
        let sets = sets(&[(10, &[0, 1, 2, 3, 4]), (3, &[0, 1, 2]), (3, &[3, 4])]);
        let found = cover(&sets, &[1; 5], 5).unwrap();
        assert_eq!((chosen(&found), found.cost), (vec![1, 2], 6));
        // Four of five are wanted: 3 elements cost 3, and the fourth another 3.
        assert_eq!(cover(&sets, &[1; 5], 4).unwrap().cost, 6);
        assert_eq!(cover(&sets, &[1; 5], 3).unwrap().cost, 3);
    }

    #[test]
    fn weights_count_and_what_no_set_holds_cannot_be_covered() {
        let sets = sets(&[(1, &[0]), (1, &[1, 2])]);
        assert_eq!(chosen(&cover(&sets, &[10, 1, 1, 5], 10).unwrap()), [0]);
        assert_eq!(cover(&sets, &[10, 1, 1, 5], 13), None);
        assert_eq!(cover(&[], &[], 0).unwrap().cost, 0);
    }

    /// Every small problem, against trying all choices.
    #[test]
    fn the_bounds_hold_against_all_choices() {
        let mut random = 1_u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        let mut tight = 0;
        for _ in 0..400 {
            let weights: Vec<u64> = (0..8).map(|_| 1 + next(9)).collect();
            let sets: Vec<Set> = (0..7)
                .map(|_| Set { cost: 1 + next(9), elements: (0..8).filter(|_| next(3) == 0).collect() })
                .collect();
            let of = |choice: u32| {
                let taken = |at: &usize| choice >> at & 1 == 1;
                let mut elements: Vec<usize> =
                    (0..7).filter(taken).flat_map(|at| sets[at].elements.iter().copied()).collect();
                elements.sort_unstable();
                elements.dedup();
                let weight: u64 = elements.iter().map(|&element| weights[element]).sum();
                (weight, (0..7).filter(taken).map(|at| sets[at].cost).sum::<u64>())
            };
            let all = of(127).0;
            let target = (all * (1 + next(4))).div_ceil(4);
            let best = (0..128).map(of).filter(|&(weight, _)| weight >= target).map(|(_, cost)| cost).min().unwrap();
            let found = cover(&sets, &weights, target).unwrap();
            assert!(found.lower_bound <= best, "{found:?}, the best costs {best}");
            assert!(found.cost >= best && found.cost as f64 <= best as f64 * found.guarantee(), "{found:?} {best}");
            assert!(found.chosen.last().map_or(0, |&(_, weight)| weight) >= target);
            tight += u32::from(found.lower_bound == best);
        }
        assert!(tight > 100, "the bound is worth something: it was the best in {tight} of 400");
    }
}
