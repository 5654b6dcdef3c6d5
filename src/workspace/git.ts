/** Runs git independently of the caller's environment: a hook's GIT_DIR, prompts or the language. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { RedriveError } from "../errors.ts";
import { systemClock } from "../std/clock.ts";

/** Starts git or `find`. The default uses Node; a runner that uses much memory passes its launcher instead. */
export type RunGit = (
  argv: readonly string[],
  options: {
    readonly cwd: string;
    readonly env: Readonly<Record<string, string>>;
    readonly unset: readonly string[];
    readonly stdin?: string;
    /** After this time the process is killed. Default: no limit. */
    readonly timeoutMs?: number;
  },
) => Promise<GitResult>;

export interface GitResult {
  /** Null when the process could not be started or was killed by a signal. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly startError?: string;
}

/** Variables that point git at a repository other than the folder's own. Steps of agents must not inherit them either. */
export const GIT_LOCATION_VARIABLES: readonly string[] =
  `DIR WORK_TREE INDEX_FILE COMMON_DIR OBJECT_DIRECTORY ALTERNATE_OBJECT_DIRECTORIES NAMESPACE PREFIX INTERNAL_SUPER_PREFIX
  LITERAL_PATHSPECS GLOB_PATHSPECS NOGLOB_PATHSPECS ICASE_PATHSPECS`
    .split(/\s+/)
    .map((name) => `GIT_${name}`);

/** Overrides user settings that change the behavior of plumbing commands, or that hide changes to files. */
const STEADY =
  `core.hooksPath=/dev/null core.fsmonitor=false core.untrackedCache=false core.splitIndex=false core.trustctime=true
  core.checkStat=default core.quotePath=false core.logAllRefUpdates=false submodule.recurse=false checkout.workers=0
  advice.detachedHead=false gc.auto=0 maintenance.auto=false i18n.commitEncoding=UTF-8 i18n.logOutputEncoding=UTF-8`
    .split(/\s+/)
    .flatMap((setting) => ["-c", setting]);

interface GitCall {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

export class Git {
  readonly cwd: string;
  readonly #run: RunGit;

  constructor(cwd: string, run: RunGit = runWithNode) {
    this.cwd = cwd;
    this.#run = run;
  }

  in(cwd: string): Git {
    return new Git(cwd, this.#run);
  }

  /** Runs a plumbing command without hooks, in English. Returns any exit code; throws when git cannot be started. */
  async ask(args: readonly string[], { stdin, env, timeoutMs }: GitCall = {}): Promise<GitResult> {
    for (let tries = 1; ; tries += 1) {
      const environment = { GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C", ...env };
      const result = await this.#start([...STEADY, ...args], environment, stdin, timeoutMs);
      if (!isTorn(result) || tries === TORN_TRIES_MAX) return result;
      await systemClock.sleep(TORN_WAIT_MS * tries);
    }
  }

  /** Runs a plumbing command that must succeed. Returns stdout without the last line end. */
  async must(args: readonly string[], call: GitCall = {}): Promise<string> {
    const result = await this.ask(args, call);
    if (result.exitCode !== 0) throw refused(args, result);
    return result.stdout.replace(/\n$/, "");
  }

  /** Runs git as the user would, with the user's hooks, settings and language. */
  asUser(args: readonly string[], { stdin, env = {} }: GitCall = {}): Promise<GitResult> {
    return this.#start(args, { GIT_EDITOR: ":", GIT_MERGE_AUTOEDIT: "no", ...env }, stdin);
  }

  find(args: readonly string[]): Promise<GitResult> {
    return this.#run(["find", ...args], { cwd: this.cwd, env: { LC_ALL: "C" }, unset: [] });
  }

  async #start(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    stdin: string | undefined,
    timeoutMs?: number,
  ): Promise<GitResult> {
    const result = await this.#run(["git", ...args], {
      cwd: this.cwd,
      env: { GIT_TERMINAL_PROMPT: "0", ...env },
      unset: GIT_LOCATION_VARIABLES,
      ...(stdin !== undefined && { stdin }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
    if (result.startError !== undefined) throw notStarted(result.startError, this.cwd);
    return result;
  }
}

const TORN_TRIES_MAX = 6;
const TORN_WAIT_MS = 10;

/** Git read the metadata of a worktree that another git process was creating or removing, and failed before any change. */
function isTorn({ exitCode, stderr }: GitResult): boolean {
  return exitCode === 128 && /failed to read .*worktrees\/[^/]+\/(commondir|gitdir|HEAD)/.test(stderr);
}

export function refused(args: readonly string[], { stdout, stderr, exitCode }: GitResult): RedriveError {
  const command = args.find((arg, index) => !arg.startsWith("-") && args[index - 1] !== "-c") ?? "git";
  const said = stderr.trim() || stdout.trim() || `it ended with exit code ${exitCode}`;
  return new RedriveError("git_refused", `git ${command}: ${said}`);
}

function notStarted(startError: string, cwd: string): RedriveError {
  if (!existsSync(cwd)) return new RedriveError("git_refused", `The folder ${cwd} does not exist.`);
  return new RedriveError("git_unusable", `git could not be started in ${cwd} (${startError}).`, {
    hint: "Install git 2.38 or newer and add it to PATH; `isolation: none` works without git.",
  });
}

const OUTPUT_BYTES_MAX = 512 * 1024 * 1024;

export const runWithNode: RunGit = ([file = "git", ...args], { cwd, env, unset, stdin, timeoutMs = 0 }) =>
  new Promise((resolve) => {
    const environment: NodeJS.ProcessEnv = { ...process.env, ...env };
    for (const name of unset) delete environment[name];
    const options = {
      cwd,
      env: environment,
      maxBuffer: OUTPUT_BYTES_MAX,
      encoding: "utf8",
      timeout: timeoutMs,
    } as const;
    const child = execFile(file, args, options, (error, stdout, stderr) => {
      const code = error === null ? 0 : (error.code ?? null);
      if (typeof code === "string") resolve({ exitCode: null, stdout, stderr, startError: code });
      else resolve({ exitCode: code, stdout, stderr });
    });
    child.stdin?.on("error", () => undefined); // the process may end before it has read everything
    child.stdin?.end(stdin ?? "");
  });

const NAME = "Redrive";
const EMAIL = "redrive@localhost";

/** Returns an environment in which git can commit. It is empty when the user has configured a name and an address. */
export async function identityEnvironment(git: Git): Promise<Readonly<Record<string, string>>> {
  const isMissing = async (role: string) => {
    // A name that git derives from the machine's name does not count.
    const asked = await git.ask(["-c", "user.useConfigOnly=true", "var", `GIT_${role}_IDENT`]);
    return asked.exitCode !== 0;
  };
  const [noAuthor, noCommitter] = await Promise.all([isMissing("AUTHOR"), isMissing("COMMITTER")]);
  return {
    ...(noAuthor && { GIT_AUTHOR_NAME: NAME, GIT_AUTHOR_EMAIL: EMAIL }),
    ...(noCommitter && { GIT_COMMITTER_NAME: NAME, GIT_COMMITTER_EMAIL: EMAIL }),
  };
}

/**
 * Lists git's worktrees. A null head or branch is not reported by git: `branch` is a full ref, and null if
 * HEAD is detached.
 */

export async function listGitWorktrees(git: Git) {
  const text = await git.must(["worktree", "list", "--porcelain", "-z"]);
  const blocks = text.split("\0\0").filter(Boolean);
  return blocks.map((block) => {
    const fields = new Map(block.split("\0").map((line) => splitOnce(line)));
    return { path: fields.get("worktree") ?? "", branch: fields.get("branch") ?? null };
  });
}

function splitOnce(line: string): [string, string] {
  const space = line.indexOf(" ");
  return space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
}

const AGENT_SETTINGS = ["gc.auto=0", "maintenance.auto=false"];

/** Appends to the git settings that the environment already has. */
export function agentEnvironment(outside: NodeJS.ProcessEnv): Record<string, string> {
  const before = Number(outside.GIT_CONFIG_COUNT) || 0;
  const entries = AGENT_SETTINGS.flatMap((setting, index): [string, string][] => {
    const [key = "", value = ""] = setting.split("=");
    return [
      [`GIT_CONFIG_KEY_${before + index}`, key],
      [`GIT_CONFIG_VALUE_${before + index}`, value],
    ];
  });
  return Object.fromEntries([["GIT_CONFIG_COUNT", String(before + AGENT_SETTINGS.length)], ...entries]);
}
