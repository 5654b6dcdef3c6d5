/**
 * `npm run bench`: compares Redrive with its goals and its peers, prints the tables and writes RESULTS.md. Usage: node
 * bench/run.mjs [--only map,store,start,worktree,functions,queues,receipts] [--quick] [--out FILE]
 */
import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { say } from "./kit.mjs";
import { resultsText, terminalText } from "./report.mjs";

const THEMES = {
  start: () => import("./startup.mjs"),
  map: () => import("./map.mjs"),
  scale: () => import("./scale.mjs"),
  store: () => import("./store.mjs"),
  letters: () => import("./letters.mjs"),
  exchange: () => import("./exchange.mjs"),
  worktree: () => import("./worktree.mjs"),
  functions: () => import("./functions.mjs"),
  queues: () => import("./queues.mjs"),
  onebyone: () => import("./one-by-one.mjs"),
  receipts: () => import("./receipts.mjs"),
};
/** The benchmarks behind the short names of `--only`. */
const PARTS = {
  start: ["start"],
  map: ["map", "scale"],
  store: ["store", "letters", "exchange"],
  queues: ["queues", "onebyone"],
};

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    quick: { type: "boolean", default: false },
    out: { type: "string", default: fileURLToPath(new URL("RESULTS.md", import.meta.url)) },
  },
});
const only = values.only.split(",").filter(Boolean);
const names = Object.keys(THEMES).filter(
  (name) => only.length === 0 || only.some((part) => part === name || PARTS[part]?.includes(name)),
);

const startedAt = new Date();
const loadBefore = loadavg();
const tables = [];
for (const name of names) {
  say(`— ${name}`);
  const { measure } = await THEMES[name]();
  tables.push(...(await measureOrExplain(name, measure)));
}
console.log(terminalText(tables));
const options = { only, quick: values.quick };
writeFileSync(values.out, resultsText(tables, { startedAt, loadBefore, options }));
say(`\nWritten to ${values.out}`);

/** Reports an error as a note, so that one failing benchmark does not lose the results of the others. */
async function measureOrExplain(name, measure) {
  try {
    return await measure({ quick: values.quick });
  } catch (error) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return [{ title: name, rows: [], notes: [`Not measured: ${String(error)}`] }];
  }
}
