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

/** Scores against `label` and, where all rows have it, `label2`; returns the labelling that fits better. */
export function betterLabels(rows, keys) {
  const fields = rows.every(({ label2 }) => label2 !== undefined) ? ["label", "label2"] : ["label"];
  const tried = fields.map((field) => {
    const labels = rows.map((row) => row[field]);
    return { labels, score: exactGroups(labels, keys) };
  });
  return tried.reduce((best, one) =>
    one.score.ga + one.score.fga > best.score.ga + best.score.fga ? one : best,
  );
}

/** The true groups with several predicted groups (split), and the predicted ones with several true groups (joined). */
export function mistakes(labels, keys) {
  const found = [];
  for (const [kind, names, others] of [
    ["split:", labels, keys],
    ["joined:", keys, labels],
  ]) {
    for (const [label, members] of positions(names)) {
      const parts = positions(members.map((at) => others[at]));
      if (parts.size === 1) continue;
      const sorted = [...parts.values()].sort((a, b) => b.length - a.length);
      found.push({
        kind,
        label: kind === "split:" ? label : "",
        lines: members.length,
        members: sorted.map((part) => ({ at: members[part[0]], count: part.length })).slice(0, PARTS_MAX),
      });
    }
  }
  return found.sort((a, b) => b.lines - a.lines);
}

const PARTS_MAX = 12;

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
