/**
 * The work of retried letters is merged into the user's branch, however often and by whichever command they are
 * retried.
 */
import { describe, expect, it } from "vitest";
import { asPerson } from "../support/person.ts";
import {
  itemsJson,
  mapOver,
  ONE_TRY,
  openProject,
  type Project,
  plainMap,
  type WorkflowYaml,
} from "./project.ts";
import type { OperationJson, Summary } from "./workshop.ts";

type Merged = { readonly merge?: { readonly merged: boolean; readonly branch?: string } };

/** Each item fails until it is mended, and leaves a file; reduce notes how many files there were. */
function mendable(project: Project, more: WorkflowYaml = {}): WorkflowYaml {
  return {
    map: mapOver(`test -e ${project.home}/mended-\${item.id} && echo \${item.id} > \${item.id}.txt`),
    reduce: [{ shell: "echo reduced ${map.successful} >> $L; echo ${map.successful} > count.txt" }],
    error_policy: ONE_TRY,
    ...more,
  };
}

const mend = (project: Project, ...names: string[]) => {
  for (const name of names) project.write(`mended-${name}`, "");
};

/** Three letters of an ended job. */
async function threeLetters(more: WorkflowYaml = {}, flags: readonly string[] = []) {
  const project = openProject(itemsJson("a", "b", "c", "d"));
  mend(project, "d");
  const { job_id: job, dead } = await project.runJson(mendable(project, more), flags);
  expect(dead).toBe(3);
  return { project, job };
}

describe("letters that are retried one after another", () => {
  it("are all merged, in any order and by any command", async () => {
    const { project, job } = await threeLetters();
    const group = (await project.letters())[0]?.error_signature ?? "";
    mend(project, "c");
    expect((await project.do("dlq", "retry", job, "c")).code).toBe(0);
    expect(project.get("c.txt")).toBe("c\n");
    mend(project, "a");
    const retried = await project.do("dlq", "retry", job, "--group", group, "--filter", 'item.id == "a"');
    expect([retried.code, project.get("a.txt")]).toEqual([0, "a\n"]);
    mend(project, "b");
    expect((await project.do("dlq", "retry", job, "b", "--detach")).code).toBe(0);
    const resumed = await project.do("ops", "resume", "--json");
    expect([resumed.code, project.get("b.txt")]).toEqual([0, "b\n"]);
    expect(resumed.json<OperationJson & Merged>()).toMatchObject({ succeeded: 1, merge: { merged: true } });
    expect(project.jobBranches).toEqual([]);
    expect(project.ledger).toEqual(["reduced 1"]);
    expect((await project.do("resume", job)).code).toBe(0);
    expect(project.ledger).toEqual(["reduced 1", "reduced 4"]);
    expect(project.get("count.txt")).toBe("4\n");
  });

  it("are merged too if resume and dlq retry take turns, and reduce runs only for new successes", async () => {
    const { project, job } = await threeLetters();
    mend(project, "a");
    expect((await project.do("resume", job)).code).toBe(3);
    expect([project.get("a.txt"), project.get("count.txt")]).toEqual(["a\n", "2\n"]);
    mend(project, "b");
    expect((await project.do("dlq", "retry", job, "b")).code).toBe(0);
    expect(project.get("b.txt")).toBe("b\n");
    const commits = project.git("rev-list", "--count", "HEAD");
    expect((await project.do("resume", job, "--no-dlq")).code).toBe(3);
    expect(project.ledger).toEqual(["reduced 1", "reduced 2", "reduced 3"]);
    expect(project.git("rev-list", "--count", "HEAD")).not.toBe(commits);
  });
});

describe("work that cannot be merged", () => {
  it("is named with its branch and how to merge it, and the retry does not exit with 0", async () => {
    const { project, job } = await threeLetters();
    mend(project, "a");
    project.put("a.txt", "mine\n");
    const retried = await project.do("dlq", "retry", job, "a");
    expect(retried.code).toBe(5);
    const command = /To merge it: (.+)/.exec(retried.stderr)?.[1] ?? "";
    expect(command).toContain(`redrive/${job}`);
    mend(project, "b");
    const again = await project.do("dlq", "retry", job, "b", "--json");
    expect(again.code).toBe(5);
    expect(again.json<Merged>().merge).toMatchObject({ merged: false, branch: `redrive/${job}` });
    project.sh("rm a.txt");
    const { operation_id: operation } = again.json<OperationJson>();
    expect((await project.do("ops", "resume", operation ?? "")).code).toBe(0);
    expect(["a", "b"].map((name) => project.get(`${name}.txt`))).toEqual(["a\n", "b\n"]);
    mend(project, "c");
    expect((await project.do("dlq", "retry", job)).code).toBe(0);
    expect(project.get("c.txt")).toBe("c\n");
  });

  it("of an unfinished job waits for resume, which the message says", async () => {
    const project = openProject(itemsJson("a", "b"));
    const stopping = { ...ONE_TRY, max_failures: 1 };
    const workflow = mendable(project, { error_policy: stopping });
    const map = workflow.map as WorkflowYaml;
    const { job_id: job, status } = await project.runJson({ ...workflow, map: { ...map, max_parallel: 1 } });
    expect(status).toBe("stopped");
    mend(project, "a", "b");
    const retried = await project.do("dlq", "retry", job);
    expect(retried.code).toBe(5);
    expect(retried.stderr).toContain(`redrive resume ${job}`);
    expect(project.get("a.txt")).toBe("");
    expect((await project.do("resume", job)).code).toBe(0);
    expect([project.get("a.txt"), project.get("b.txt"), project.ledger]).toEqual([
      "a\n",
      "b\n",
      ["reduced 2"],
    ]);
  });

  it("is no failure if the job was started with --merge never", async () => {
    const { project, job } = await threeLetters({}, ["--merge", "never"]);
    mend(project, "a");
    const retried = await project.do("dlq", "retry", job, "a");
    expect(retried.code).toBe(0);
    expect(retried.stderr).toContain(`git merge --no-ff redrive/${job}`);
  });
});

describe("a job whose letters all need manual review", () => {
  const NEEDS_PERSON = `echo '{"type":"BusinessException","message":"no such account"}' > "$REDRIVE_FAILURE_FILE"; exit 1`;

  it.each(["workflow", "map"])("%s: nothing is offered or run that would not help", async (kind) => {
    const project = openProject(itemsJson("a", "b"));
    const script = `echo ran \${item.id} >> $L; test \${item.id} = a || { ${NEEDS_PERSON}; }`;
    const ran =
      kind === "workflow"
        ? await project.runWorkflow({
            map: mapOver(script),
            reduce: [{ shell: "echo reduced >> $L; date +%N > at.txt" }],
            error_policy: ONE_TRY,
          })
        : await project.run(
            [
              "map",
              "--input",
              `${project.top}/items.json`,
              "--id-field",
              "id",
              "--retries",
              "0",
              "--",
              "sh",
              "-c",
              script.replaceAll("${item.id}", "$1"),
              "sh",
              "${item.id}",
            ],
            project.here,
          );
    expect(ran.code).toBe(3);
    const [{ job_id: job = "" } = {}] = (await project.json<{ jobs: Summary[] }>("jobs")).jobs;
    expect(ran.stderr).not.toMatch(new RegExp(`redrive (resume|dlq retry) ${job}( {2,}|$)`, "m"));
    expect(ran.stderr).toContain(`redrive dlq retry ${job} --force`);
    expect(ran.stderr).toMatch(/redrive dlq edit /);
    const [ledger, commits] = [project.ledger, project.git("rev-list", "--count", "HEAD")];
    const resumed = await project.do("resume", job);
    expect(resumed.code).toBe(3);
    expect(resumed.stderr).toContain("1 letter needs manual review");
    expect(resumed.stderr).toContain(`redrive dlq retry ${job} --force`);
    expect(resumed.stderr).not.toMatch(new RegExp(`redrive resume ${job}`));
    expect([project.ledger, project.git("rev-list", "--count", "HEAD")]).toEqual([ledger, commits]);
  });

  it("does not run reduce again if the retried ones failed again", async () => {
    const project = openProject(itemsJson("a", "b"));
    const { job_id: job } = await project.runJson({
      map: plainMap("test ${item.id} = a"),
      reduce: [{ shell: "echo reduced >> $L" }],
      error_policy: ONE_TRY,
    });
    expect((await project.do("resume", job)).code).toBe(3);
    expect(project.ledger).toEqual(["reduced"]);
  });
});

describe("--merge ask at a terminal", () => {
  async function asked(answer: string) {
    const project = openProject(itemsJson("a", "b"));
    mend(project, "a");
    const file = project.workflow(mendable(project));
    const where = { home: project.home, cwd: project.top, env: { L: project.ledgerPath } };
    const ran = await asPerson(["run", file, "--merge", "ask"], { ...where, answers: [answer] });
    const [{ job_id: job = "", status } = {}] = (await project.json<{ jobs: Summary[] }>("jobs")).jobs;
    return { project, where, ran, job, status };
  }

  it("asks after the summary, and merges after a yes; a retry asks too", async () => {
    const { project, where, ran, job } = await asked("y\n");
    expect(ran.stderr.split("1 of 2 succeeded")).toHaveLength(2);
    expect(ran.stderr).toMatch(
      /1 of 2 succeeded.*Next:.*Merge redrive\/\S+ into main\? \[y\/N\].*Merged into main/s,
    );
    expect([ran.code, project.get("a.txt")]).toEqual([3, "a\n"]);
    mend(project, "b");
    const retried = await asPerson(["dlq", "retry", job], { ...where, answers: ["y\n"] });
    expect([retried.code, project.get("b.txt")]).toEqual([0, "b\n"]);
  });

  it("leaves the branch after a no, and the job has completed whatever the answer", async () => {
    const { project, ran, job, status } = await asked("n\n");
    expect(ran.stderr).toMatch(new RegExp(`\\[y/N\\].*To merge it: .*redrive/${job}`, "s"));
    expect([ran.code, status, project.get("a.txt")]).toEqual([3, "completed", ""]);
  });
});
