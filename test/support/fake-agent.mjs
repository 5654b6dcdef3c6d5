#!/usr/bin/env node
/**
 * A scripted agent that performs the actions listed in FAKE_AGENT in order. It reads its prompt from standard input or from
 * its last argument after `--`. With `--output-format stream-json` it prints the same format as the `claude` command.
 */
import { execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";

const args = process.argv.slice(2);
const prompt = args.includes("--") ? (args.at(-1) ?? "") : readFileSync(0, "utf8");
const speaksJson = args.includes("stream-json");

const say = (message) => writeSync(1, `${JSON.stringify(message)}\n`);

const ACTS = {
  "note-arguments": () => writeFileSync("arguments.json", JSON.stringify(args)),
  "note-prompt": () => writeFileSync("prompt.txt", prompt),
  "note-environment": () => writeFileSync("environment.json", JSON.stringify(process.env)),
  commit: () => {
    appendFileSync("work.txt", `${prompt}\n`);
    execFileSync("git", ["add", "-A"]);
    execFileSync("git", ["commit", "-q", "-m", prompt || "work"]);
  },
  /** `fail-times:3` fails three times; a file stores the count. */
  "fail-times": (times) => {
    const failed = existsSync("failed-times") ? Number(readFileSync("failed-times", "utf8")) : 0;
    if (failed >= Number(times)) return;
    writeFileSync("failed-times", String(failed + 1));
    writeSync(2, `the agent failed for the ${failed + 1}. time\n`);
    process.exit(7);
  },
  /** `overloaded-times:2` reports an overload twice; the file `$OVERLOADS` stores the count. */
  "overloaded-times": (times) => {
    const path = process.env.OVERLOADS;
    const count = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
    if (count >= Number(times)) return;
    writeFileSync(path, String(count + 1));
    say({ type: "result", subtype: "success", is_error: true, result: "Overloaded: try again later" });
    process.exit(1);
  },
  hang: () => {
    writeFileSync("agent.pid", String(process.pid));
    setInterval(() => {}, 1000);
    return "hangs";
  },
  /** `print-megabytes:50` prints 50 MB. */
  "print-megabytes": (count) => {
    const chunk = Buffer.alloc(1024 * 1024, "0123456789abcde\n");
    for (let done = 0; done < Number(count); done++)
      for (let at = 0; at < chunk.length; ) at += writeSync(1, chunk, at);
  },
  "print-secret": () => {
    say({ type: "user", message: { content: process.env.API_TOKEN } });
  },
  /** Ends with 0 without a final message, like an agent that was interrupted. */
  "end-early": () => {
    say({ type: "system", subtype: "init", session_id: "early", model: "fake-model-1" });
    return "ended";
  },
  /** Reports a result, then keeps running. */
  "outlive-result": () => {
    tellResult();
    return ACTS.hang();
  },
  /** `stream:codex` prints the lines of the file codex.jsonl in the working directory. */
  stream: (name) => {
    writeSync(1, readFileSync(`${name}.jsonl`));
    return "printed";
  },
  "rate-limit": () => {
    say({
      type: "rate_limit_event",
      rate_limit_info: { status: "rejected", resetsAt: Number(process.env.RESETS_AT) },
    });
    say({ type: "result", subtype: "success", is_error: true, result: "You've hit your limit" });
    process.exit(1);
  },
  /** Prints a result that reports an error although the exit code is 0. */
  "error-result": () => {
    say({
      type: "result",
      subtype: "error_max_turns",
      is_error: true,
      errors: ["no turns are left"],
      total_cost_usd: 0.5,
    });
    return "told";
  },
};

function tellResult() {
  const usage = { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 7 };
  say({ type: "system", subtype: "init", model: "fake-model-1" });
  say({
    type: "assistant",
    message: { id: "m1", model: "fake-model-1", usage, content: [{ type: "text", text: "working" }] },
  });
  say({
    type: "result",
    subtype: "success",
    is_error: false,
    result: process.env.FAKE_REPLY ?? `answer to: ${prompt}`,
    total_cost_usd: 0.25,
    usage,
  });
}

let last;
for (const word of (process.env.FAKE_AGENT ?? "").split(" ").filter(Boolean)) {
  const [name, argument] = word.split(":");
  last = ACTS[name](argument);
  if (last) break;
}
if (last === undefined && speaksJson) tellResult();
