/** Agents in worktrees, each a script on the PATH: their results, costs and failures. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import {
  type AgentLetterJson,
  itemsJson,
  lines,
  mapOver,
  ONE_TRY,
  openProject,
  type Project,
} from "./project.ts";
import { isAlive, SOUND } from "./workshop.ts";

/** A `claude:` step whose agent does what the item says. */
const CLAUDE = { claude: "work on ${item.id}", env: { FAKE_AGENT: "${item.acts}" } };
const COMMITS = { ...CLAUDE, commit_required: true };

const acting = (...acts: string[]) =>
  openProject(itemsJson(...acts.map((words, index) => ({ id: `i${index + 1}`, acts: words }))));

const flow = (step: unknown = CLAUDE, more = {}) => ({ map: mapOver([step], more), error_policy: ONE_TRY });

/** The whole result of an item, from the file that reduce is given. */
function resultsOf(project: Project): Record<string, Record<string, unknown>> {
  const entries = JSON.parse(project.read("results.json")) as {
    item_id: string;
    result: Record<string, unknown>;
  }[];
  return Object.fromEntries(entries.map(({ item_id, result }) => [item_id, result]));
}

const keepResults = (project: Project) => ({
  reduce: [{ shell: `cp \${map.results_file} ${project.path("results.json")}` }],
});

/** Checks that every path in a letter exists. */
function follow(letter: AgentLetterJson) {
  const failure = letter.failure_history.at(-1);
  const place = letter.worktree_artifacts;
  if (failure?.log === undefined || place === undefined)
    throw new Error("the letter names no log or no worktree");
  return { failure, place, log: readFileSync(failure.log, "utf8") };
}

describe("claude:", () => {
  it("runs the agent in print mode, merges its commit, and records its use with the result", async () => {
    const project = acting("note-arguments commit");
    const summary = await project.runJson({
      ...flow({ ...COMMITS, capture: "answer" }),
      ...keepResults(project),
    });
    expect(summary).toMatchObject({ succeeded: 1 });
    const args = JSON.parse(project.get("arguments.json")) as string[];
    expect(args).toEqual(expect.arrayContaining(["--print", "--output-format", "stream-json"]));
    expect(args).not.toContain("work on i1");
    expect(args.join(" ")).not.toContain("dangerously");
    expect(project.get("work.txt")).toBe("work on i1\n");
    expect(project.subjects()).toContain("work on i1");
    const result = resultsOf(project).i1;
    expect(result).toMatchObject({ answer: "answer to: work on i1" });
    expect(result?.usage).toMatchObject({ model: "fake-model-1", costUsd: 0.25, outputTokens: 7 });
    expect(readFileSync(String(result?.json_log), "utf8")).toContain('"type":"result"');
    expect(project.git("merge-base", "--is-ancestor", String(result?.commit), "main")).toBe("");
  });

  it("passes on the user's own arguments, such as permissions", async () => {
    const project = acting("note-arguments");
    const workflow = { ...flow(), env: { REDRIVE_CLAUDE_ARGS: "--permission-mode 'accept Edits'" } };
    await project.runJson(workflow);
    const args = JSON.parse(project.get("arguments.json")) as string[];
    expect(args.slice(args.indexOf("--permission-mode")).slice(0, 2)).toEqual([
      "--permission-mode",
      "accept Edits",
    ]);
  });

  it("that fails a few times is retried, each time in a clean worktree", async () => {
    const project = openProject(itemsJson("i1"));
    const step = { ...CLAUDE, env: { FAKE_AGENT: "commit" } };
    const workflow = {
      map: mapOver([{ shell: "[ $REDRIVE_ATTEMPT = 3 ] || { touch rubbish; exit 7; }" }, step]),
      error_policy: { retry_config: { max_attempts: 3, backoff: "fixed", initial_delay: "1ms" } },
    };
    expect(await project.runJson(workflow)).toMatchObject({ succeeded: 1, attempts: 3 });
    expect(existsSync(join(project.top, "rubbish"))).toBe(false);
  });

  it("that reports an error leaves a letter with its JSON log, although it exits with 0", async () => {
    const project = acting("error-result");
    expect(await project.runJson(flow())).toMatchObject({ dead: 1 });
    const { failure, log } = follow(await project.onlyLetter());
    expect(failure.error_message).toContain("no turns are left");
    expect(failure.step_failed).toBe("claude: work on i1");
    const jsonLog = readFileSync(failure.json_log_location ?? "", "utf8");
    expect(JSON.parse(lines(jsonLog).at(-1) ?? "")).toMatchObject({ subtype: "error_max_turns" });
    expect(log).toContain(failure.json_log_location);
  });

  it("that hangs is ended by the timeout with its letter: no process is left", async () => {
    const project = acting("hang");
    expect(await project.runJson(flow({ ...CLAUDE, timeout: "3s" }))).toMatchObject({ dead: 1 });
    const { failure, place } = follow(await project.onlyLetter());
    expect(failure).toMatchObject({ error_type: "Timeout", step_failed: "claude: work on i1" });
    const pid = Number(readFileSync(join(place.worktree_path, "agent.pid"), "utf8"));
    await until("the agent is gone", () => !isAlive(pid));
  });

  it("that commits nothing fails with commit_required, and nothing is merged", async () => {
    const project = acting("");
    const before = project.userSide;
    expect(await project.runJson(flow(COMMITS))).toMatchObject({ dead: 1 });
    expect((await project.onlyLetter()).failure_history[0]).toMatchObject({
      error_type: "CommitValidationFailed",
      error_message: expect.stringContaining("made no commit"),
    });
    expect(project.userSide).toEqual(before);
  });

  it("that prints 50 MB has all of it in the log, and the end in the letter", async () => {
    const project = acting("print-megabytes:50");
    const shell = "claude; echo the very end; exit 3";
    expect(await project.runJson(flow({ shell, env: CLAUDE.env }))).toMatchObject({ dead: 1 });
    const { failure } = follow(await project.onlyLetter());
    expect(statSync(failure.log ?? "").size).toBeGreaterThan(50 * 1024 * 1024);
    expect(failure.stdout_tail).toMatch(/the very end\n$/);
    expect(failure.stdout_tail?.length).toBeLessThan(100_000);
    expect(await project.check()).toBe(SOUND);
  });

  it("that prints a secret into its JSON log does not reveal it", async () => {
    const project = acting("print-secret");
    const options = { ...project.here, env: { ...project.here.env, API_TOKEN: "t0ken-value" } };
    const workflow = { secrets: ["API_TOKEN"], ...flow(), ...keepResults(project) };
    expect((await project.run(["run", project.workflow(workflow)], options)).code).toBe(0);
    const jsonLog = readFileSync(String(resultsOf(project).i1?.json_log), "utf8");
    expect(jsonLog).toContain('"content":"***"');
    expect(jsonLog).not.toContain("t0ken-value");
  });

  it("that is not installed is found before the first item", async () => {
    const project = acting("commit");
    const path = project.workflow(flow());
    const { code, stderr } = await project.run(["run", path], { cwd: project.top }); // without the scripted one on PATH
    expect(code).toBe(2);
    expect(stderr).toContain("The program claude (map, step 1) was not found");
    expect(await project.letters()).toEqual([]);
  });
});

describe("agent:", () => {
  it("runs any other command in the same way, with the prompt on stdin, without a shell", async () => {
    const project = openProject(itemsJson({ id: "i1", text: "it's; $HOME" }));
    const agent = { command: ["tee", "heard.txt"], prompt: "say ${item.text}" };
    await project.runJson({ map: mapOver([{ agent, output_file: "said.txt" }]) });
    expect(project.get("said.txt")).toBe("say it's; $HOME");
    const byArgument = {
      command: ["printf", "%s|%s|%s\\n", "first"],
      prompt: "${item.text}",
      prompt_by: "argument",
    };
    await project.runJson({ map: mapOver([{ agent: byArgument, output_file: "said.txt" }]) });
    expect(project.get("said.txt")).toBe("first|--|it's; $HOME\n");
  });
});

describe("a merge conflict", () => {
  /** Both change the same line; the one that ends last conflicts. */
  const clash = (project: Project) => ({
    map: mapOver(
      [
        {
          shell: `echo \${item.id} > same.txt; git add -A; git commit -qm "by \${item.id}"; echo in >> $L; while [ "$(wc -l < $L)" -lt 2 ]; do sleep 0.02; done; echo rest > rest-\${item.id}.txt`,
        },
      ],
      { max_parallel: 2 },
    ),
    error_policy: ONE_TRY,
    ...keepResults(project),
  });

  it("pitfall 7: is a letter whose branch and worktree are kept with the work, and the other agent's is merged", async () => {
    const project = openProject({ ...itemsJson("i1", "i2"), "same.txt": "before\n" });
    expect(await project.runJson(clash(project))).toMatchObject({ succeeded: 1, dead: 1, attempts: 2 });
    const letter = await project.onlyLetter();
    const loser = letter.item_id;
    const winner = loser === "i1" ? "i2" : "i1";
    expect(project.get("same.txt")).toBe(`${winner}\n`);
    const [failure] = letter.failure_history;
    expect(failure).toMatchObject({
      error_type: "MergeConflict",
      error_context: expect.arrayContaining(["files: same.txt"]),
      step_failed: "merge",
    });
    const place = letter.worktree_artifacts;
    expect(project.git("show", `${place?.branch_name}:same.txt`)).toBe(loser);
    expect(project.git("show", `${place?.branch_name}:rest-${loser}.txt`)).toBe("rest");
    expect(readFileSync(join(place?.worktree_path ?? "", "same.txt"), "utf8")).toBe(`${loser}\n`);
    expect(project.gitIn(place?.worktree_path ?? "", "symbolic-ref", "--short", "HEAD")).toBe(
      place?.branch_name,
    );
    expect(project.git("status", "--porcelain")).toBe("");
  });

  it("is not cleaned up, and succeeds when it runs again on top of the other", async () => {
    const project = openProject({ ...itemsJson("i1", "i2"), "same.txt": "before\n" });
    const { job_id } = await project.runJson(clash(project));
    const { worktree_artifacts: place, item_id: loser } = await project.onlyLetter();
    const cleaned = await project.do("worktrees", "clean", "--yes");
    expect(cleaned.stdout).toContain(`Left ${place?.worktree_path}: a letter needs it.`);
    expect(existsSync(place?.worktree_path ?? "")).toBe(true);
    const retried = await project.do("dlq", "retry", job_id, "--yes", "--force", "--json");
    expect(retried.json()).toMatchObject({ selected: 1, succeeded: 1, failed: 0 });
    expect(project.get("same.txt")).toBe(`${loser}\n`);
    await project.do("worktrees", "clean", "--yes");
    expect(await project.worktrees()).toEqual([]);
    expect(project.jobBranches).toEqual([]);
  });
});
