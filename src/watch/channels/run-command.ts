/** Gives a message as JSON to a program, once. No shell is used, and it is ended with all that it started when its time is over. */
import { spawn } from "node:child_process";
import { endTree } from "../../attempt/process-tree.ts";
import { systemClock } from "../../kit/clock.ts";
import type { JsonObject } from "../../kit/json.ts";
import type { SendResult } from "./send.ts";

export interface CommandMessage {
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly body: JsonObject;
  readonly timeoutMs: number;
  readonly stop: AbortSignal;
}

const GRACE_MS = 1000;

export function runCommand({ command, cwd, body, timeoutMs, stop }: CommandMessage): Promise<SendResult> {
  const [program, ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, stdio: ["pipe", "ignore", "pipe"], detached: true });
    let tail = "";
    let why: string | undefined;
    let ending: Promise<void> | undefined;
    const end = (reason: string) => {
      why ??= reason;
      ending ??= endTree(child.pid ?? 0, GRACE_MS);
    };
    const onStop = () => end("was stopped");
    const cancel = systemClock.after(timeoutMs, () => end(`took longer than ${timeoutMs} ms`));
    stop.addEventListener("abort", onStop, { once: true });
    child.stderr.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString()).slice(-TAIL_CHARS_MAX);
    });
    child.stdin.on("error", () => undefined); // it need not read what it is given
    child.stdin.end(`${JSON.stringify(body)}\n`);
    const over = async (failure: string | undefined) => {
      cancel();
      stop.removeEventListener("abort", onStop);
      await ending;
      const reason = why ?? failure;
      resolve(reason === undefined ? { kind: "sent" } : { kind: "failed", reason: `${program} ${reason}` });
    };
    child.on("error", (error) => void over(`cannot be run: ${error.message}`));
    child.on("close", (code, signal) => void over(code === 0 ? undefined : endText(code ?? signal, tail)));
  });
}

const TAIL_CHARS_MAX = 300;

function endText(end: number | string | null, tail: string): string {
  const line = tail.trim().split("\n").at(-1) ?? "";
  return `ended with ${typeof end === "number" ? `exit code ${end}` : end}${line === "" ? "" : `: ${line}`}`;
}
