/** Loads the peers from bench/peers, and installs them when they are first needed. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { say } from "../kit.mjs";

const FOLDER = fileURLToPath(new URL("../peers", import.meta.url));
const resolveFrom = createRequire(`${FOLDER}/package.json`);

/** Imports the module of a peer. */
export async function loadPeer(name) {
  if (!existsSync(`${FOLDER}/node_modules`)) install();
  const module = await import(pathToFileURL(resolveFrom.resolve(name)).href);
  return module.default && Object.keys(module).length === 1 ? module.default : module;
}

export function versionOf(name) {
  return resolveFrom(`${name}/package.json`).version;
}

function install() {
  say("  the peers are installed");
  const { status } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: FOLDER, stdio: "inherit" });
  if (status !== 0) throw new Error("The peers could not be installed.");
}

/** How many jobs one call adds; larger calls are not slower for any peer. */
export const CALL = 10_000;

/** Cuts a list into chunks. */
export function* chunks(list, size) {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}

/** A promise and a function that resolves it after `total` calls. */
export function countdown(total) {
  let left = total;
  let finish;
  const done = new Promise((resolve) => {
    finish = resolve;
  });
  const tick = () => {
    left -= 1;
    if (left === 0) finish();
  };
  return { tick, done };
}

export const PAYLOAD = (n) => ({ n, text: "a small payload of a receipt" });
