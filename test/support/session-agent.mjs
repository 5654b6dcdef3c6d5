#!/usr/bin/env node
/**
 * A fake agent with sessions, which are files in $SESSIONS. Like Claude Code, it prints stream-json, finds a session only in
 * the folder where it began, and reports the cost of the whole session. Each run adds a line to work.txt and to the ledger.
 */
import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";

const args = process.argv.slice(2);
const prompt = readFileSync(0, "utf8");
const asked = args.find((_, index) => ["--resume", "resume", "--go-on"].includes(args[index - 1]));
const fileOf = (id) => `${process.env.SESSIONS}/${id}`;
const say = (message) => writeSync(1, `${JSON.stringify(message)}\n`);

const known =
  asked !== undefined && existsSync(fileOf(asked)) ? JSON.parse(readFileSync(fileOf(asked))) : undefined;
const note = (id) =>
  appendFileSync(process.env.L, `${JSON.stringify({ args, prompt, id, cwd: process.cwd() })}\n`);
if (asked !== undefined && known?.cwd !== process.cwd()) {
  note(null);
  writeSync(2, `No conversation found with session ID: ${asked}\n`);
  process.exit(1);
}
const id = asked ?? randomUUID();
const runs = (known?.runs ?? 0) + 1;
writeFileSync(fileOf(id), JSON.stringify({ cwd: process.cwd(), runs }));
note(id);
appendFileSync("work.txt", `run ${runs}\n`);
const reports = process.argv.includes("--report");
if (reports) say({ redrive: { session: id, cost_usd: 0.25, turns: 1 } });
else say({ type: "system", subtype: "init", session_id: id, model: "m" });
if (existsSync(`${process.env.SESSIONS}/hang`)) setInterval(() => {}, 1000);
else if (!reports) {
  const usage = { input_tokens: 10, output_tokens: 5 };
  say({ type: "assistant", session_id: id, message: { id: randomUUID(), model: "m", usage, content: [] } });
  say({
    type: "result",
    subtype: "success",
    is_error: false,
    session_id: id,
    result: "ok",
    num_turns: 1,
    total_cost_usd: 0.25 * runs,
    usage,
  });
}
