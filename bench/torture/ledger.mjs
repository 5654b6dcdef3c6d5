/** Reads the ledger that the commands wrote, against which the store is checked. */
import { existsSync, readFileSync } from "node:fs";

/** All lines in order: `{ what: "start" | "done" | "failed", item, attempt, pid, at }`, times in milliseconds. */
export function readLedger(path) {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n");
  if (lines.pop() !== "")
    throw new Error("the ledger's last line is not whole: its writes are not single ones");
  return lines.map(readLine);
}

function readLine(line) {
  const match = /^(start|done|failed) (\S+) (\d+) (\d+) (\d+(?:\.\d+)?)$/.exec(line);
  if (match === null) throw new Error(`the ledger has a line that no worker writes: ${line}`);
  const [, what, item, attempt, pid, seconds] = match;
  return { what, item, attempt: Number(attempt), pid: Number(pid), at: Number(seconds) * 1000 };
}
