/** What tests of two clones share: a git server for both, and how often each item was merged. */
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { onTestFinished } from "vitest";
import { until } from "../support/until.ts";
import type { Project } from "./project.ts";

/** The four items of the tests, each merged once. */
export const EACH_ONCE = { a: 1, b: 1, c: 1, d: 1 };

/** How often each item was merged: the trailers of merge commits, in the whole history of the user's branch. */
export function merges(project: Project): Record<string, number> {
  const log = project.git("log", "--merges", "--format=%(trailers:key=Redrive-Item,valueonly)", "main");
  const counts: Record<string, number> = {};
  for (const line of log.split("\n").filter(Boolean)) {
    const item = String(JSON.parse(line));
    counts[item] = (counts[item] ?? 0) + 1;
  }
  return counts;
}

/** A git server with one repository, to which both clones push. Returns its port. */
export async function serveGit(project: Project, addresses: readonly string[] = []): Promise<number> {
  project.git("clone", "-q", "--bare", project.top, project.path("served/shared.git"));
  const port = await freePort();
  const args = [
    ...["daemon", "--reuseaddr", "--export-all", "--enable=receive-pack", `--port=${port}`],
    ...["127.0.0.1", ...addresses].map((address) => `--listen=${address}`),
    `--base-path=${project.path("served")}`,
  ];
  const daemon = spawn("git", args, { stdio: "ignore", detached: true });
  onTestFinished(() => void process.kill(-(daemon.pid ?? 0), "SIGKILL"));
  await until("the git server answers", () => {
    try {
      project.git("ls-remote", urlOf(port));
      return true;
    } catch {
      return false;
    }
  });
  return port;
}

export function urlOf(port: number, host = "127.0.0.1"): string {
  return `git://${host}:${port}/shared.git`;
}

/** A free port of this machine. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}
