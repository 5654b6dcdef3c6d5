/** A capsule: one file with everything needed to examine a failure elsewhere, without the store. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Capsule } from "../../src/dead-letter/capsule.ts";
import { itemsJson, ONE_TRY, openProject, type Project, plainMap } from "./project.ts";
import { type ErrorJson, openWorkshop } from "./workshop.ts";

const SECRET = "s3cr3t-of-the-house";

function contentOf(path: string): Capsule {
  return JSON.parse(gunzipSync(readFileSync(path)).toString()) as Capsule;
}

/** A workflow whose agent commits once, changes two more files, adds two, and fails. */
async function failInWorktree(): Promise<{ project: Project; jobId: string }> {
  const project = openProject({ ...itemsJson("a"), "notes.txt": "one\ntwo\n" });
  const script = [
    "echo three >> notes.txt && git commit -qam 'the first half'",
    "echo four >> notes.txt",
    "printf 'new\\n' > 'new file.txt'",
    "printf '\\000\\377binary' > blob.bin",
    'echo "halfway, with $TOKEN" >&2',
    "exit 4",
  ].join("\n");
  const { job_id } = await project.runJson({
    name: "halves",
    mode: "mapreduce",
    env: { TOKEN: SECRET, COLOUR: "green" },
    secrets: ["TOKEN"],
    map: { input: "items.json", id_field: "id", agent_template: [{ shell: script }] },
    error_policy: ONE_TRY,
  });
  return { project, jobId: job_id };
}

describe("a capsule", () => {
  it("has the letter, the job, every attempt, the logs and the events of a map's item", async () => {
    const workshop = openWorkshop();
    const { job_id } = await workshop.mapJson(["a"], 'echo "no $1" >&2; exit 3', [
      ...["--retries", "1", "--backoff", "none"],
    ]);
    const [letter] = await workshop.letters();
    const made = await workshop.run(["dlq", "capsule", "a", "-o", "a.capsule.json.gz", "--json"], {
      cwd: workshop.home,
      env: { LANG: "C.UTF-8", PASSWORD: "not for others", BUILD: "17" },
    });
    expect(made.code, made.stderr).toBe(0);
    const path = workshop.path("a.capsule.json.gz");
    expect(made.json()).toMatchObject({ path, job_id, item_id: letter?.item_id, attempts: 2, files: 2 });
    const capsule = contentOf(path);
    expect(capsule).toMatchObject({
      capsule: 1,
      redrive_version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      machine: { platform: process.platform, node: process.version },
      job: { job_id, kind: "map", command: expect.arrayContaining(["sh", "-c"]), cwd: expect.any(String) },
      attempts: [
        { attempt_number: 1, outcome: "failed" },
        { attempt_number: 2, outcome: "failed" },
      ],
      changes: null,
      missing: [],
    });
    expect(capsule.letter).toEqual(letter);
    expect(capsule.files.map(({ kind, content }) => [kind, content.includes("no a")])).toEqual([
      ["log", true],
      ["log", true],
    ]);
    expect(capsule.events.map(({ type }) => type)).toContain("dlq_item_added");
    expect(capsule.environment).toMatchObject({ LANG: "C.UTF-8", PATH: expect.any(String) });
    expect(Object.keys(capsule.environment)).not.toContain("PASSWORD");
    expect(Object.keys(capsule.environment)).not.toContain("BUILD");
  });

  it("--env includes more variables; usually only those of the item are", async () => {
    const workshop = openWorkshop();
    await workshop.mapJson([{ id: "x/y" }], "exit 3", ["--retries", "0", "--id-field", "id"]);
    const made = await workshop.run(["dlq", "capsule", "x/y", "--env", "BUILD,NOT_SET", "--env", "RACK"], {
      cwd: workshop.home,
      env: { BUILD: "17", RACK: "b", PASSWORD: "not for others" },
    });
    expect(made.stdout).toBe(`${workshop.path("x%2Fy.capsule.json.gz")}\n`);
    const { environment } = contentOf(workshop.path("x%2Fy.capsule.json.gz"));
    expect(environment).toMatchObject({ BUILD: "17", RACK: "b" });
    expect(environment).not.toHaveProperty("NOT_SET");
    expect(environment).not.toHaveProperty("PASSWORD");
  });

  it("includes released attempts, and a large log without its middle, which is reported", async () => {
    const workshop = openWorkshop();
    const script = `if [ -e ${workshop.path("again")} ]; then head -c 6000000 /dev/zero | tr '\\0' x; echo END >&2; exit 3; fi; echo started > ${workshop.path("started")}; sleep 60`;
    const running = workshop.start(workshop.mapArgs(script, ["--retries", "0", "--json"]), {
      stdin: '"a"\n',
    });
    await running.until("it is at work", () => existsSync(workshop.path("started")));
    running.signal("SIGTERM");
    await running.ended;
    workshop.write("again", "");
    await workshop.run(["resume", "--json"]);
    const path = workshop.path("a.gz");
    const made = await workshop.run(["dlq", "capsule", "a", "-o", path, "--json"]);
    expect(made.code, made.stderr).toBe(0);
    const { attempts, files } = contentOf(path);
    expect(attempts.map(({ outcome }) => outcome)).toEqual(["released", "failed"]);
    const large = files.find(({ bytes }) => bytes > 6_000_000);
    expect(large?.dropped_bytes).toBe(Number(large?.bytes) - 2 * 1024 * 1024);
    expect(large?.content).toContain(`${large?.dropped_bytes} bytes are not in this capsule`);
    expect(large?.content).toContain("END");
    expect(Number(large?.content.length)).toBeLessThan(2.1 * 1024 * 1024);
  });

  it("has what an agent left in its worktree as patches that apply, and no secret of the workflow", async () => {
    const { project } = await failInWorktree();
    const path = project.path("a.capsule.json.gz");
    const made = await project.run(["dlq", "capsule", "a", "-o", path, "--env", "TOKEN"], {
      cwd: project.top,
      env: { TOKEN: SECRET },
    });
    expect(made.code, made.stderr).toBe(0);
    const text = gunzipSync(readFileSync(path)).toString();
    expect(text).not.toContain(SECRET);
    const capsule = JSON.parse(text) as Capsule;
    expect(capsule.environment.TOKEN).toBe("***");
    expect(capsule.job).toMatchObject({
      workflow: { is_unchanged: true, text: expect.stringContaining("***") },
    });
    expect(capsule.job).toMatchObject({ workflow: { text: expect.stringContaining("green") } });
    expect(capsule.git?.head).toBe(project.git("rev-parse", "HEAD"));
    expect(capsule.changes).toMatchObject({ base: project.git("rev-parse", "HEAD") });

    const folder = project.path("looked-at");
    const opened = await project.run(["dlq", "capsule", "open", path, "-o", folder]);
    expect(opened.code, opened.stderr).toBe(0);
    expect(readdirSync(folder)).toEqual(
      expect.arrayContaining([
        "attempt-1.log",
        "commits.patch",
        "job.json",
        "letter.json",
        "uncommitted.patch",
      ]),
    );
    const clone = project.path("elsewhere");
    execFileSync("git", ["clone", "-q", project.top, clone]);
    project.gitIn(
      clone,
      "-c",
      "user.name=T",
      "-c",
      "user.email=t@x",
      "am",
      "-q",
      join(folder, "commits.patch"),
    );
    project.gitIn(clone, "apply", join(folder, "uncommitted.patch"));
    expect(readFileSync(join(clone, "notes.txt"), "utf8")).toBe("one\ntwo\nthree\nfour\n");
    expect(readFileSync(join(clone, "new file.txt"), "utf8")).toBe("new\n");
    expect(readFileSync(join(clone, "blob.bin"))).toEqual(Buffer.from("\0\xffbinary", "latin1"));
    expect(project.gitIn(clone, "log", "-1", "--format=%s")).toBe("the first half");
  });

  it("changes nothing in the worktree", async () => {
    const { project } = await failInWorktree();
    const { worktree_artifacts } = await project.onlyLetter();
    const worktree = worktree_artifacts?.worktree_path ?? "";
    const state = () => project.gitIn(worktree, "status", "--porcelain=v2", "--branch");
    const before = state();
    await project.run(["dlq", "capsule", "a", "-o", project.path("a.gz")]);
    expect(state()).toBe(before);
  });

  it("reports what is missing: a removed worktree, a secret that is not known here", async () => {
    const project = openProject(itemsJson("a"));
    const workflow = {
      name: "asks",
      mode: "mapreduce",
      secrets: ["KEY"],
      map: plainMap('echo "$KEY" > found.txt; exit 4'),
      error_policy: ONE_TRY,
    };
    const here = { ...project.here, env: { ...project.here.env, KEY: SECRET } };
    await project.run(["run", project.workflow(workflow)], here);
    const path = project.path("a.gz");
    const made = await project.run(["dlq", "capsule", "a", "-o", path], { cwd: project.top });
    expect(made.code).toBe(0);
    expect(made.stderr).toMatch(/secret KEY is not available/);
    expect(contentOf(path).missing).toEqual([expect.stringContaining("KEY")]);

    const other = (await failInWorktree()).project;
    const { worktree_artifacts } = await other.onlyLetter();
    rmSync(worktree_artifacts?.worktree_path ?? "", { recursive: true });
    const second = await other.run(["dlq", "capsule", "a", "-o", path]);
    expect(second.code, second.stderr).toBe(0);
    expect(second.stderr).toMatch(/The worktree .* no longer exists/);
  });

  it("can be opened on a machine that has neither the store nor the files", async () => {
    const { project, jobId } = await failInWorktree();
    const path = project.path("a.capsule.json.gz");
    await project.run(["dlq", "capsule", "a", "-o", path]);
    const elsewhere = openWorkshop();
    elsewhere.write("a.gz", readFileSync(path));
    rmSync(project.path("redrive"), { recursive: true });
    const shown = await elsewhere.run(["dlq", "capsule", "open", "a.gz"], { cwd: elsewhere.home });
    expect(shown.code, shown.stderr).toBe(0);
    for (const part of [
      jobId,
      "CommandFailed",
      "halfway, with ***",
      "+four",
      "new file.txt",
      "dlq_item_added",
    ]) {
      expect(shown.stdout).toContain(part);
    }
    expect(existsSync(elsewhere.path("redrive"))).toBe(false);
    const document = await elsewhere.run(["dlq", "capsule", "open", "a.gz", "--json"], {
      cwd: elsewhere.home,
    });
    expect(document.json()).toEqual(contentOf(path));
  });

  it("that is invalid, foreign or newer, and an output folder that is not empty, are refused with a message", async () => {
    const workshop = openWorkshop();
    const refusal = async (...args: string[]) => {
      const result = await workshop.run(["dlq", "capsule", "open", ...args, "--json"], {
        cwd: workshop.home,
      });
      expect(result.code).toBe(2);
      return result.json<ErrorJson>().error;
    };
    workshop.write("text", "hello");
    workshop.write("half", gzipSync('{"capsule": 1}').subarray(0, 12));
    workshop.write("other", gzipSync('{"letters": []}'));
    workshop.write("empty", gzipSync('{"capsule": 1}'));
    workshop.write("newer", gzipSync('{"capsule": 99, "redrive_version": "9.0.0"}'));
    expect((await refusal("text")).message).toMatch(/text is not a capsule: .*gzip/);
    expect((await refusal("half")).message).toMatch(/half is not a capsule/);
    expect((await refusal("other")).message).toMatch(/other is not a capsule/);
    expect((await refusal("empty")).message).toMatch(/empty is not a capsule: .*letter/);
    expect(await refusal("newer")).toMatchObject({ hint: expect.stringContaining("9.0.0") });
    expect((await refusal("nowhere")).message).toMatch(/there is no such file/);

    await workshop.mapJson(["a"], "exit 3", ["--retries", "0"]);
    await workshop.run(["dlq", "capsule", "a", "-o", workshop.path("a.gz")]);
    mkdirSync(workshop.path("full"));
    writeFileSync(workshop.path("full/mine"), "");
    expect((await refusal("a.gz", "-o", "full")).message).toMatch(/is not empty/);
  });

  it("is not created for an item that is not a letter", async () => {
    const workshop = openWorkshop();
    await workshop.mapJson(["a"], "true");
    const result = await workshop.run(["dlq", "capsule", "a", "--json"], { cwd: workshop.home });
    expect(result.code).toBe(4);
    expect(readdirSync(workshop.home).filter((name) => name.includes("capsule"))).toEqual([]);
  });
});
