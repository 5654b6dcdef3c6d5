/**
 * Compares two texts line by line. Long texts with many differences are compared in parts, so that the page
 * stays responsive.
 */
export interface DiffLine {
  readonly kind: "same" | "removed" | "added";
  readonly text: string;
}

/** If the product of the line counts is larger, all changed lines are shown as one replaced block. */
const CELLS_MAX = 1_000_000;

export function diffLines(before: readonly string[], after: readonly string[]): readonly DiffLine[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head++;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail++;
  const old = before.slice(head, before.length - tail);
  const next = after.slice(head, after.length - tail);
  return [
    ...as("same", before.slice(0, head)),
    ...(old.length * next.length > CELLS_MAX
      ? [...as("removed", old), ...as("added", next)]
      : longestCommon(old, next)),
    ...as("same", tail === 0 ? [] : before.slice(-tail)),
  ];
}

function as(kind: DiffLine["kind"], lines: readonly string[]): DiffLine[] {
  return lines.map((text) => ({ kind, text }));
}

/** Finds the longest common subsequence of lines by dynamic programming. */
function longestCommon(old: readonly string[], next: readonly string[]): readonly DiffLine[] {
  const width = next.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        old[i] === next[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < next.length) {
    const [was, is] = [old[i], next[j]];
    if (was !== undefined && was === is) {
      lines.push({ kind: "same", text: was });
      i++;
      j++;
    } else if (was !== undefined && (is === undefined || at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ kind: "removed", text: was });
      i++;
    } else if (is !== undefined) {
      lines.push({ kind: "added", text: is });
      j++;
    }
  }
  return lines;
}
