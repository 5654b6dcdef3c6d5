/** What merges and verifies the work of items, used together: on_conflict, continue_session, verify, and a remote. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { itemsJson, lines, mapOver, ONE_TRY, openProject, type Project } from "./project.ts";
import { serveGit, urlOf } from "./shared-git.ts";
import { newPostgresStore, SOUND } from "./workshop.ts";

/** Keeps the lines of both sides. */
const KEEP_BOTH = "grep -hv '^[<=>|]\\{7\\}' list.txt > both; mv both list.txt";

/** Both items begin before one of them is merged, and change the same line. */
function openConflict(verify: string) {
  const project = openProject({ ...itemsJson("a", "b"), "list.txt": "first\n" });
  const side = project.path("side");
  mkdirSync(side);
  const write = `touch ${side}/\${item.id}; until test -e ${side}/a && test -e ${side}/b; do sleep 0.02; done;
    echo \${item.id} > list.txt; git commit -qam "\${item.id}"`;
  const workflow = {
    map: mapOver(write, { max_parallel: 2 }),
    verify: [{ shell: verify }],
    merge: { on_conflict: [{ shell: KEEP_BOTH }] },
    error_policy: ONE_TRY,
  };
  return { project, workflow };
}

describe("on_conflict and verify", () => {
  it("verify sees the work with its conflict resolved, and both items are done", async () => {
    const { project, workflow } = openConflict("! grep -q '[<=>]\\{7\\}' list.txt");
    expect(await project.runJson(workflow)).toMatchObject({ succeeded: 2, dead: 0 });
    expect(lines(project.get("list.txt")).sort()).toEqual(["a", "b"]);
    expect(await project.check()).toBe(SOUND);
  });

  it("a resolution that breaks the state fails the later item only", async () => {
    const { project, workflow } = openConflict(
      "test $(wc -l < list.txt) = 1 || { echo 'two lines' >&2; exit 4; }",
    );
    expect(await project.runJson(workflow)).toMatchObject({ succeeded: 1, dead: 1 });
    expect(lines(project.get("list.txt"))).toHaveLength(1);
    const [failure] = (await project.onlyLetter()).failure_history;
    expect(failure).toMatchObject({ error_type: "VerifyFailed", stderr_tail: "two lines\n" });
  });
});

describe("continue_session and verify", () => {
  it("the failure of verify is the next message of the session", async () => {
    const project = openProject(itemsJson("a"));
    const sessions = project.path("sessions");
    for (const folder of [sessions, project.path("bin")]) mkdirSync(folder);
    const agent = fileURLToPath(new URL("../support/session-agent.mjs", import.meta.url));
    writeFileSync(project.path("bin/claude"), `#!/bin/sh\nexec ${process.execPath} ${agent} "$@"\n`, {
      mode: 0o755,
    });
    const summary = await project.runJson({
      env: { SESSIONS: sessions },
      map: mapOver([{ claude: "Write about ${item.id}.", continue_session: true }]),
      verify: [
        { shell: "test ! -e work.txt || test $(wc -l < work.txt) = 2 || { echo 'one line' >&2; exit 4; }" },
      ],
      error_policy: { retry_config: { max_attempts: 2, initial_delay: "1ms" } },
    });
    expect(summary).toMatchObject({ succeeded: 1, dead: 0, attempts: 2 });
    const calls = project.ledger.map((line) => JSON.parse(line) as { id: string; prompt: string });
    expect(calls.map(({ id }) => id)).toEqual([calls[0]?.id, calls[0]?.id]);
    expect(calls[1]?.prompt).toContain("one line");
    expect(project.get("work.txt")).toBe("run 1\nrun 2\n");
  });
});

/** A job on two clones with a git server; the second one is a worker. */
async function openClones(workflow: (project: Project) => Record<string, unknown>) {
  const project = openProject(itemsJson("a", "b", "c", "d"));
  const gitUrl = urlOf(await serveGit(project));
  const { url } = newPostgresStore();
  project.git("remote", "add", "origin", gitUrl);
  const clone = project.path("second");
  project.git("clone", "-q", gitUrl, clone);
  for (const key of ["user.name", "user.email"])
    project.gitIn(clone, "config", key, project.git("config", key));
  const file = project.workflow(workflow(project));
  Object.assign(project, { storeUrl: url, isOnPostgres: true });
  const { env } = project.here;
  const on = (words: readonly string[], cwd: string, host: string) =>
    project.start(words, {
      cwd,
      env: { ...env, HOST: host, REDRIVE_STORE: url, REDRIVE_HOME: project.path(`${host}-home`) },
      stdin: "",
    });
  const running = on(["run", file, "--json"], project.top, "first");
  const begun = (host: string) => () => project.ledger.some((line) => line === `begin ${host}`);
  await running.until("the first works", begun("first"));
  const helper = on(["worker", "--job", "shared", "-j", "1"], clone, "second");
  await helper.until("the second works", begun("second"));
  project.write("open-work", "");
  const [ended, helped] = await Promise.all([running.ended, helper.ended]);
  return { project, clone, gitUrl, ended, helped };
}

/** Both machines have an item before one of them goes on. */
const both = (project: Project, work: string) => ({
  input: "items.json",
  ...{ id_field: "id", json_path: "$", remote: "origin", max_parallel: 1 },
  agent_template: [
    { shell: `echo "begin $HOST" >> $L; while [ ! -e ${project.path("open-work")} ]; do sleep 0.02; done` },
    { shell: work },
  ],
});

const COMMIT = 'echo "by $HOST" > ${item.id}.txt; git add -A; git commit -qm "by ${item.id}"';

describe("a remote", () => {
  it("and branch-per-item: each item has its branch on the remote, whoever worked on it", async () => {
    const { project, gitUrl, ended, helped } = await openClones((shop) => ({
      name: "shared",
      map: both(shop, COMMIT),
      merge: { strategy: "branch-per-item" },
      reduce: [{ shell: 'echo "${map.successful} ${map.results}" >> $L.results' }],
    }));
    expect([ended.code, helped.code]).toEqual([0, 0]);
    const refs = lines(project.git("ls-remote", gitUrl, "redrive-items/*"));
    expect(refs.map((line) => line.split("/").at(-1)).sort()).toEqual(["a", "b", "c", "d"]);
    for (const ref of refs) {
      const [, name = ""] = ref.split("\t");
      project.git("fetch", "-q", gitUrl, name);
      const item = name.split("/").at(-1);
      expect(project.git("show", `FETCH_HEAD:${item}.txt`)).toMatch(/^by (first|second)$/);
    }
    expect(existsSync(`${project.top}/a.txt`)).toBe(false);
    expect(project.get("../ledger.results")).toMatch(/^4 /);
  });

  it("and verify: each machine verifies what it merges, and the item that breaks the state is a letter", async () => {
    const { project, ended, helped } = await openClones((shop) => ({
      name: "shared",
      map: both(shop, COMMIT),
      verify: [{ shell: 'echo "verify $HOST" >> $L; test ! -e c.txt || { echo "c is bad" >&2; exit 4; }' }],
      error_policy: ONE_TRY,
    }));
    expect([ended.code, helped.code]).toEqual([3, 0]);
    expect(["a", "b", "c", "d"].map((id) => project.get(`${id}.txt`) !== "")).toEqual([
      ...[true, true, false, true],
    ]);
    const letter = await project.onlyLetter();
    expect([letter.item_id, letter.failure_history[0]?.error_type]).toEqual(["c", "VerifyFailed"]);
    expect(new Set(project.ledger.filter((line) => line.startsWith("verify")))).toEqual(
      new Set(["verify first", "verify second"]),
    );
  });
});
