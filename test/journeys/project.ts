/**
 * The fixture of a workflow's journey: a workshop with a real repository (or a plain folder), the workflow beside
 * it so that the checkout stays clean, and helpers to read branches, worktrees and letters.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { CliResult, RunningCli } from "../support/cli.ts";
import { type FailureJson, type LetterJson, newHome, type Summary, Workshop } from "./workshop.ts";

/** Formats a workflow as YAML; JSON is YAML. */
export type WorkflowYaml = Readonly<Record<string, unknown>>;

export type AgentFailureJson = FailureJson & { readonly json_log_location?: string };

export type AgentLetterJson = Omit<LetterJson, "failure_history"> & {
  readonly first_attempt: string;
  readonly last_attempt: string;
  readonly failure_history: readonly AgentFailureJson[];
  readonly worktree_artifacts?: {
    readonly worktree_path: string;
    readonly branch_name: string;
    readonly head?: string;
    readonly uncommitted_changes?: string;
    readonly error_logs?: string;
  };
};

export type WorktreeJson = {
  readonly path: string;
  readonly job_id: string;
  readonly state: string;
  readonly branch: string | null;
  readonly item_id: string | null;
};

const AGENT_PATH = fileURLToPath(new URL("../support/fake-agent.mjs", import.meta.url));

/** A project in a repository with one commit: the files, and items for the map. */
export function openProject(files: Readonly<Record<string, string>> = {}): Project {
  const project = openFolder(files);
  project.makeRepository();
  return project;
}

/** A project without git. */
export function openFolder(files: Readonly<Record<string, string>> = {}): Project {
  const project = new Project(newHome());
  mkdirSync(project.top);
  for (const [name, content] of Object.entries(files)) project.put(name, content);
  return project;
}

export class Project extends Workshop {
  /** The user's current folder. */
  get top(): string {
    return this.path("project");
  }

  makeRepository(): void {
    this.git("init", "-q", "-b", "main");
    this.git("config", "user.name", "Tess Ter");
    this.git("config", "user.email", "tess@example.org");
    this.put("README.md", "a project\n");
    this.commitAll("first");
  }

  /** Writes a file of the project, and its folders. */
  put(name: string, content: string): string {
    const path = join(this.top, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  /** Reads a file of the project; empty if it does not exist. */
  get(name: string): string {
    const path = join(this.top, name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  /** Runs git in the checkout, or in another one; throws with its message if it fails. */
  git(...args: string[]): string {
    return this.gitIn(this.top, ...args);
  }

  gitIn(cwd: string, ...args: string[]): string {
    const env = { PATH: process.env.PATH, HOME: this.home, GIT_CONFIG_NOSYSTEM: "1", LC_ALL: "C" };
    return execFileSync("git", args, { cwd, env, encoding: "utf8", stdio: "pipe" }).trimEnd();
  }

  /** Runs a command line in the checkout. */
  sh(command: string): string {
    const env = { PATH: process.env.PATH, HOME: this.home };
    return execFileSync("sh", ["-c", command], { cwd: this.top, env, encoding: "utf8", stdio: "pipe" });
  }

  commitAll(message: string): string {
    this.git("add", "-A");
    this.git("commit", "-q", "-m", message);
    return this.git("rev-parse", "HEAD");
  }

  /** Installs a hook of the repository, for all its worktrees. */
  hook(name: string, script: string): void {
    const path = this.put(`.git/hooks/${name}`, `#!/bin/sh\n${script}\n`);
    chmodSync(path, 0o755);
  }

  /** Writes the workflow beside the project and returns its path. */
  workflow(workflow: WorkflowYaml | string): string {
    const text = typeof workflow === "string" ? workflow : JSON.stringify(workflow, null, 2);
    return this.write("workflow.yml", text);
  }

  /** `redrive run` in the project. `$L` is the ledger. */
  runWorkflow(workflow: WorkflowYaml | string, flags: readonly string[] = []): Promise<CliResult> {
    return this.run(["run", this.workflow(workflow), ...flags], this.here);
  }

  async runJson(workflow: WorkflowYaml | string, flags: readonly string[] = []): Promise<Summary> {
    return (await this.runWorkflow(workflow, ["--json", ...flags])).json<Summary>();
  }

  startWorkflow(workflow: WorkflowYaml | string, flags: readonly string[] = []): RunningCli {
    return this.start(["run", this.workflow(workflow), ...flags], { ...this.here, stdin: "" });
  }

  /** Runs a command in the project. */
  do(...args: string[]): Promise<CliResult> {
    return this.run(args, this.here);
  }

  /** A PATH with only these programs. */
  onlyPrograms(...names: string[]): string {
    const folder = this.path("only");
    mkdirSync(folder);
    for (const name of names) {
      const place = (process.env.PATH ?? "").split(":").find((one) => existsSync(join(one, name)));
      if (place !== undefined) symlinkSync(join(place, name), join(folder, name));
    }
    return folder;
  }

  /** Runs in the project, with the scripted agent as `claude` and the ledger as `$L`. */
  get here(): { cwd: string; env: Record<string, string> } {
    const bin = this.path("bin");
    if (!existsSync(bin)) {
      mkdirSync(bin);
      writeFileSync(join(bin, "claude"), `#!/bin/sh\nexec ${process.execPath} ${AGENT_PATH} "$@"\n`, {
        mode: 0o755,
      });
    }
    return { cwd: this.top, env: { PATH: `${bin}:${process.env.PATH}`, L: this.ledgerPath } };
  }

  /** The letters of the last page, as agents leave them. */
  async agentLetters(...flags: string[]): Promise<readonly AgentLetterJson[]> {
    return (await this.letters(...flags)) as readonly AgentLetterJson[];
  }

  async onlyLetter(): Promise<AgentLetterJson> {
    const [letter, ...more] = await this.agentLetters();
    if (letter === undefined || more.length > 0) throw new Error(`${more.length + 1} letters, not one`);
    return letter;
  }

  async worktrees(): Promise<readonly WorktreeJson[]> {
    return (await this.json<{ worktrees: readonly WorktreeJson[] }>("worktrees", "list")).worktrees;
  }

  /** Branches other than the user's. */
  get jobBranches(): string[] {
    const all = lines(this.git("for-each-ref", "--format=%(refname:short)", "refs/heads"));
    return all.filter((name) => name.startsWith("redrive"));
  }

  /** The state that must not change before the merge: HEAD, the user's branches, the index and the files. */
  get userSide(): unknown {
    return {
      head: this.git("rev-parse", "HEAD"),
      branch: this.git("symbolic-ref", "-q", "HEAD"),
      status: this.git("status", "--porcelain=v2"),
      main: this.git("rev-parse", "main"),
      files: lines(this.git("ls-files", "-co")).map((file) => [file, this.get(file)]),
    };
  }

  /** The subjects of a branch, newest first, without merges. */
  subjects(branch = "HEAD"): string[] {
    return lines(this.git("log", "--topo-order", "--no-merges", "--format=%s", branch));
  }
}

export function lines(text: string): string[] {
  return text.split("\n").filter(Boolean);
}

/** Items with an id and other fields. */
export function itemsJson(...items: unknown[]): Record<string, string> {
  return {
    "items.json": JSON.stringify(items.map((item) => (typeof item === "string" ? { id: item } : item))),
  };
}

/** A map over `items.json` whose items are known by `id`. */
export function mapOver(steps: readonly unknown[] | string, more: WorkflowYaml = {}): WorkflowYaml {
  const agent_template = typeof steps === "string" ? [{ shell: steps }] : steps;
  return { input: "items.json", id_field: "id", agent_template, ...more };
}

/** Like `mapOver`, in the folder itself. */
export function plainMap(steps: readonly unknown[] | string, more: WorkflowYaml = {}): WorkflowYaml {
  return mapOver(steps, { isolation: "none", ...more });
}

/** One attempt for each item. */
export const ONE_TRY = { retry_config: { max_attempts: 1 } };
