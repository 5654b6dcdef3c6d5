/** A store with many letters and `redrive serve` on it, for the benchmarks of the server and of the console. */
import { spawn } from "node:child_process";
import { CLI, LIBRARY } from "./kit.mjs";
import { openLetterStore } from "./letter-store.mjs";

const { openStore } = await import(LIBRARY);

/** A store of an earlier run, named by REDRIVE_BENCH_STORE, is used again. */
export async function openOrFill(url, letters) {
  const kept = process.env.REDRIVE_BENCH_STORE === undefined ? null : await openStore(url);
  const isFilled = (await kept?.findJob("bench-1")) != null;
  if (isFilled) return { engine: kept, jobs: ["bench-1"] };
  await kept?.close();
  return openLetterStore(url, { jobs: 10, letters, groups: 200 });
}

/** What a command prints. */
export async function printed(env, args) {
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  for await (const chunk of child.stdout) text += chunk;
  return text.trim();
}

/** Starts `redrive serve`. */
export async function start(env) {
  const began = performance.now();
  const args = [CLI, "serve", "--port", "0", "--json", "--rate-limit", "100000"];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  let text = "";
  for await (const chunk of child.stdout) {
    text += chunk;
    if (text.includes("}")) break;
  }
  return { child, startMs: Math.round(performance.now() - began), origin: JSON.parse(text).url };
}
