/** Scores predicted groups against true ones. */

/**
 * GA: the share of lines whose predicted group is exactly their true group. FGA: the F1 of groups that are exactly
 * right, among the predicted and among the true ones.
 */
export function exactGroups(labels, keys) {
  const truth = positions(labels);
  const predicted = positions(keys);
  let lines = 0;
  let groups = 0;
  for (const members of truth.values()) {
    const other = predicted.get(keys[members[0]]);
    if (other.length !== members.length || other.some((at, index) => at !== members[index])) continue;
    lines += members.length;
    groups += 1;
  }
  const precision = groups / predicted.size;
  const recall = groups / truth.size;
  return {
    ga: lines / labels.length,
    fga: groups === 0 ? 0 : (2 * precision * recall) / (precision + recall),
  };
}

/** F1 over pairs: two rows of the same true group should be in the same predicted group, and others not. */
export function pairScore(labels, keys) {
  let both = 0;
  let one = 0;
  for (let a = 0; a < labels.length; a += 1) {
    for (let b = 0; b < a; b += 1) {
      const isTrue = labels[a] === labels[b];
      const isPredicted = keys[a] === keys[b];
      if (isTrue && isPredicted) both += 1;
      else if (isTrue || isPredicted) one += 1;
    }
  }
  return both === 0 ? 0 : (2 * both) / (2 * both + one);
}

function positions(names) {
  const found = new Map();
  for (const [at, name] of names.entries()) {
    if (!found.has(name)) found.set(name, []);
    found.get(name).push(at);
  }
  return found;
}
