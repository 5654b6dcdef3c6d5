/** Measures how long a command takes to start, beside an empty Node program. */
import { join } from "node:path";
import { CLI, interleave, runTimed, withFolder } from "./kit.mjs";
import { openLetterStore } from "./letter-store.mjs";
import { atMost, ms } from "./report.mjs";

const ROUNDS = 20;
const LETTERS = 20;

export function measure() {
  return withFolder(async (folder) => {
    const env = { REDRIVE_HOME: folder, REDRIVE_STORE: `sqlite:${join(folder, "redrive.db")}` };
    const store = await openLetterStore(env.REDRIVE_STORE, { jobs: 1, letters: LETTERS, groups: 3 });
    await store.engine.close();
    const start =
      (...argv) =>
      () =>
        runTimed([process.execPath, ...argv], { folder, env });
    const { node, version, list } = await interleave(
      { node: start("-e", "0"), version: start(CLI, "--version"), list: start(CLI, "dlq", "list") },
      ROUNDS,
    );
    return [{ title: "Start-up (§1)", rows: rowsOf(node, version, list), notes: [NOTE] }];
  });
}

const NOTE = `Medians of ${ROUNDS} interleaved runs; the store of \`dlq list\` has ${LETTERS} letters.`;

function rowsOf(node, version, list) {
  const row = (what, own, bound) => {
    const ratio = own.wallMs / node.wallMs;
    const beside = `node -e 0: ${ms(node.wallMs)} (CPU ${ms(node.cpuMs)})`;
    return {
      what,
      figure: `${ms(own.wallMs)} (CPU ${ms(own.cpuMs)})`,
      beside,
      ratio,
      ...atMost(ratio, bound),
    };
  };
  return [row("redrive --version", version, 1.2), row("redrive dlq list", list, 1.6)];
}
