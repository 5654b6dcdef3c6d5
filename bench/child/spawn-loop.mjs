/** The simplest peer: `spawn` in a loop, with exit codes checked and nothing stored. */
import { spawn } from "node:child_process";

const { items, atATime } = JSON.parse(process.argv[2]);
let next = 0;

async function work() {
  while (next < items) {
    next += 1;
    const child = spawn("true", [`item ${next}`], { stdio: "ignore" });
    await new Promise((resolve) => child.once("exit", resolve));
  }
}

await Promise.all(Array.from({ length: atATime }, work));
