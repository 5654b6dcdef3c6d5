/** Real processes for tests of holders: one that lives until it is ended, and one that is gone. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

export interface LivingProcess {
  readonly pid: number;
  end(): Promise<void>;
}

/** Lives until `end`, or until the test's own process does. */
export async function startProcess(): Promise<LivingProcess> {
  const child = spawn("cat", { stdio: ["pipe", "ignore", "ignore"] });
  await once(child, "spawn");
  return {
    pid: child.pid ?? 0,
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** The id of a process that has ended and was waited for. */
export async function deadPid(): Promise<number> {
  const child = spawn("true", { stdio: "ignore" });
  await once(child, "exit");
  return child.pid ?? 0;
}

/** In the words of Linux: clock ticks since boot. */
export function startOf(pid: number): string {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}
