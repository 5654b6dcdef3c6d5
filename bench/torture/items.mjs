/** The items of a torture run and their worker: quick ones, slow ones, and those that fail, linger, or leave processes. */
import { appendFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const KINDS = [
  [32, "quick"],
  [20, "flaky"], // fails in its first attempts
  [30, "slow"],
  [6, "lingering"], // reports success, then takes a while to end
  [4, "parent"], // leaves a grandchild behind
  [3, "daemon"], // leaves a grandchild in another session
  [2, "stubborn"], // ignores TERM
  [3, "bad"], // always fails
];

/** Most of these take a while, so that frequent strikes hit running commands rather than starting ones. */
const LONG_KINDS = [
  [72, "slow"],
  [4, "quick"],
  [6, "flaky"],
  [8, "lingering"],
  [3, "parent"],
  [3, "daemon"],
  [2, "stubborn"],
  [2, "bad"],
];

/** `count` new items; `isLong`: most of them take one to three seconds. */
export function newItems(chance, { from, count, isLong = false }) {
  const [kinds, least, most] = isLong ? [LONG_KINDS, 50, 300] : [KINDS, 1, 40];
  return Array.from({ length: count }, (_, index) => ({
    id: `item-${String(from + index).padStart(6, "0")}`,
    kind: chance.pick(kinds),
    failures: chance.between(1, 3),
    seconds: (chance.between(least, most) / 100).toFixed(2),
  }));
}

/** Appends `count` new items to the input, as JSON Lines; returns their ids. */
export function appendItems(path, chance, { from, count, isLong = false }) {
  const items = newItems(chance, { from, count, isLong });
  appendFileSync(path, items.map((item) => `${JSON.stringify(item)}\n`).join(""));
  return items.map(({ id }) => id);
}

/** The command of the map. Bash reads the time without starting a process; any sh works. */
export function workerCommand(shell) {
  const script = fileURLToPath(new URL("worker.sh", import.meta.url));
  const fields = ["id", "kind", "failures", "seconds"].map((field) => `\${item.${field}}`);
  return [shell, ...(shell === "bash" ? ["--norc"] : []), script, ...fields];
}
