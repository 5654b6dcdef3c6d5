/** Environment, captured values, results of the map, and secrets. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { itemsJson, mapOver, ONE_TRY, openFolder, openProject, type Project, plainMap } from "./project.ts";
import type { Summary } from "./workshop.ts";

const ITEM = itemsJson("a");

async function run(project: Project, workflow: Record<string, unknown>): Promise<readonly string[]> {
  const { code, stderr } = await project.runWorkflow(workflow);
  if (code !== 0) throw new Error(`exit code ${code}: ${stderr}`);
  return project.ledger;
}

describe("the environment of a workflow", () => {
  it("is set in every phase and in each handler, with its variables filled in", async () => {
    const project = openFolder(ITEM);
    const say = (where: string) => ({ shell: `echo ${where} $GREETING \${env.GREETING} >> $L` });
    const ledger = await run(project, {
      env: { NAME: "world", GREETING: "hello-${env.NAME}-${who}", NUMBER: 7 },
      setup: [{ shell: "echo $NUMBER >> $L" }, say("setup")],
      map: plainMap([say("map"), { shell: "false" }]),
      reduce: [say("reduce")],
      merge: [say("merge")],
      error_policy: { ...ONE_TRY, on_item_failure: { custom: [say("handler")] } },
    }).catch((error: Error) => error);
    expect(ledger).toBeInstanceOf(Error); // ${who} comes from --var
    const path = project.path("workflow.yml");
    expect((await project.do("run", path, "--var", "who=all")).code).toBe(0);
    expect(project.ledger).toEqual([
      "7",
      ...["setup", "map", "handler", "reduce", "merge"].map(
        (place) => `${place} hello-world-all hello-world-all`,
      ),
    ]);
  });

  it("comes from env_files too, and the workflow's own values take precedence", async () => {
    const project = openFolder({ ...ITEM, "one.env": "A=1\nB='two words'\nC=file\n", "two.env": "A=2\n" });
    const say = { shell: 'echo "$A $B $C" >> $L' };
    const ledger = await run(project, {
      env_files: ["one.env", "two.env"],
      env: { C: "flow" },
      setup: [say],
      map: plainMap([say]),
      reduce: [say],
    });
    expect(ledger).toEqual(["2 two words flow", "2 two words flow", "2 two words flow"]);
  });

  it("from a missing file is an error, and nothing runs", async () => {
    const project = openFolder(ITEM);
    const { code, stderr } = await project.runWorkflow({
      env_files: "no.env",
      map: plainMap("echo x >> $L"),
    });
    expect(code).toBe(2);
    expect(stderr).toContain("no.env");
    expect(project.ledger).toEqual([]);
    expect(await project.json("jobs")).toEqual({ jobs: [] });
  });
});

describe("captured values", () => {
  it("of setup are ${setup.x} and ${x} in map, reduce and merge; those of an agent are its own", async () => {
    const project = openFolder(itemsJson("a", "b"));
    const say = (where: string) => ({ shell: `echo ${where} \${setup.v.n} \${v.n} >> $L` });
    const ledger = await run(project, {
      setup: [{ shell: `echo '{"n":5}'`, capture: "v", capture_format: "json" }],
      map: plainMap(
        [{ shell: "echo ${item.id}", capture: "mine" }, { shell: "echo map ${setup.v.n} ${mine} >> $L" }],
        { max_parallel: 1 },
      ),
      reduce: [say("reduce"), { shell: "echo of reduce", capture: "r" }],
      merge: [say("merge"), { shell: "echo ${r} >> $L" }],
    });
    expect(ledger).toEqual(["map 5 a", "map 5 b", "reduce 5 5", "merge 5 5", "of reduce"]);
  });
});

describe("the results of the map", () => {
  it("are ${map.*} and a file with an entry for each item, even dead ones", async () => {
    const project = openFolder(itemsJson("a", "b", "c"));
    const map = plainMap([
      { shell: "echo out of ${item.id}; [ ${item.id} != b ] || { echo why >&2; exit 3; }", capture: "said" },
    ]);
    const reduce = [
      {
        shell: "echo ${map.total} ${map.successful} ${map.failed} >> $L; cp ${map.results_file} results.json",
      },
      { write_file: { path: "inline.json", content: "${map.results}" } },
    ];
    const result = await project.runWorkflow({ map, reduce, error_policy: ONE_TRY });
    expect(result.code).toBe(3);
    expect(project.ledger).toEqual(["3 2 1"]);
    const entries = JSON.parse(project.get("results.json")) as Record<string, unknown>[];
    expect(entries).toHaveLength(3);
    expect(entries).toContainEqual({
      item_id: "a",
      item: expect.objectContaining({ id: "a" }) as object,
      status: "success",
      success: true,
      output: "out of a",
      result: { said: "out of a", output: "out of a" },
    });
    expect(entries.find(({ item_id }) => item_id === "b")).toMatchObject({
      item: { id: "b" },
      status: "failed",
      output: "out of b\n",
      signature: expect.any(String),
    });
    expect(JSON.parse(project.get("inline.json"))).toEqual(entries);
  });
});

/** Every file below a folder that has the text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => {
    const path = join(folder, name);
    return statSync(path, { throwIfNoEntry: false })?.isFile() && readFileSync(path).includes(text);
  });
}

describe("a secret", () => {
  const SECRET = "s3cr3t-V4lue!";
  const leak = "echo out $API_TOKEN; echo err $API_TOKEN >&2; exit 1";

  it.each(["none", "worktree"])(
    "that a command prints is nowhere to be read (isolation %s)",
    async (isolation) => {
      const project = openProject(ITEM);
      const options = { ...project.here, env: { ...project.here.env, API_TOKEN: SECRET } };
      const path = project.workflow({
        secrets: ["API_TOKEN"],
        setup: [{ shell: "echo of setup $API_TOKEN; echo ${env.API_TOKEN} | wc -c >> $L" }],
        map: mapOver([{ shell: `echo \${env.API_TOKEN} | wc -c >> $L; ${leak}` }], { isolation }),
        reduce: [{ shell: "echo of reduce $API_TOKEN" }],
        error_policy: ONE_TRY,
      });
      const result = await project.run(["run", path], options);
      expect(result.code).toBe(3);
      expect(project.ledger.map(Number)).toEqual([SECRET.length + 1, SECRET.length + 1]); // steps have the real one
      const seen = [
        result.stdout + result.stderr,
        (await project.do("dlq", "inspect", "a")).stdout,
        JSON.stringify(await project.onlyLetter()),
        JSON.stringify(await project.events()),
        JSON.stringify(await project.json("jobs")),
        (await project.do("logs", (await project.onlyLetter()).job_id, "a")).stdout,
      ];
      for (const text of seen) expect(text).not.toContain(SECRET);
      expect(seen[2]).toContain("***");
      expect(seen[5]).toContain("out ***");
      expect(filesWith(project.path("redrive"), SECRET)).toEqual([]);
    },
  );

  it("in the failure of a phase is masked on the screen, in JSON and in the log", async () => {
    const project = openFolder({ ...ITEM, ".env": `API_TOKEN=${SECRET}\n` });
    const workflow = {
      secrets: ["API_TOKEN"],
      env_files: ".env",
      setup: [{ shell: leak }],
      map: plainMap("true"),
    };
    const text = await project.runWorkflow(workflow);
    const json = await project.runWorkflow(workflow, ["--json"]);
    expect([text.code, json.code]).toEqual([1, 1]);
    expect(text.stdout + text.stderr + json.stdout + json.stderr).not.toContain(SECRET);
    expect(text.stderr).toContain("***");
    expect(filesWith(project.path("redrive"), SECRET)).toEqual([]);
  });

  it("that an agent captures is masked in the results, and in those that reduce gets", async () => {
    const project = openFolder({ ...ITEM, ".env": `API_TOKEN=${SECRET}\n` });
    const result = await project.runWorkflow(
      {
        secrets: ["API_TOKEN"],
        env_files: ".env",
        map: plainMap([{ shell: "echo got $API_TOKEN", capture: "said" }]),
        reduce: [{ shell: "cat ${map.results_file} >> $L" }],
      },
      ["--json"],
    );
    expect(result.json<Summary>()).toMatchObject({ succeeded: 1 });
    expect(project.read("ledger")).toContain('"said":"got ***"');
    expect(filesWith(project.path("redrive"), SECRET)).toEqual([]);
  });

  it("that setup captures is stored masked, and complete again for the steps, even after a resume", async () => {
    const project = openFolder({ ...ITEM, ".env": `API_TOKEN=${SECRET}\n` });
    const say = (where: string) => ({ shell: `echo ${where} \${setup.t.inner[0]} >> $L` });
    const result = await project.runWorkflow({
      secrets: ["API_TOKEN"],
      env_files: ".env",
      setup: [{ shell: `echo '{"inner":["t='$API_TOKEN'"]}'`, capture: "t", capture_format: "json" }],
      map: plainMap([say("map")]),
      reduce: [{ shell: "test -e mended" }, say("reduce")],
    });
    expect(result.code).toBe(1);
    project.put("mended", "");
    expect((await project.do("resume")).code).toBe(0);
    expect(project.ledger).toEqual([`map t=${SECRET}`, `reduce t=${SECRET}`]);
    expect(filesWith(project.path("redrive"), SECRET)).toEqual([]);
  });

  it("in a dry run is masked", async () => {
    const project = openFolder({ ...ITEM, ".env": `API_TOKEN=${SECRET}\n` });
    const workflow = {
      secrets: ["API_TOKEN"],
      env_files: ".env",
      map: plainMap("curl -H ${env.API_TOKEN} ${item.id}"),
    };
    const { stdout } = await project.runWorkflow(workflow, ["--dry-run"]);
    expect(stdout).toContain("curl -H ");
    expect(stdout).not.toContain(SECRET);
  });

  it("without a value is an error, and nothing runs", async () => {
    const project = openFolder(ITEM);
    const { code, stderr } = await project.runWorkflow({
      secrets: ["NO_SUCH"],
      map: plainMap("echo x >> $L"),
    });
    expect(code).toBe(2);
    expect(stderr).toContain("The secret NO_SUCH has no value.");
    expect(project.ledger).toEqual([]);
    expect(await project.json("jobs")).toEqual({ jobs: [] });
  });
});
