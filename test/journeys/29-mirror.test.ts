/**
 * Letters as plain files: they appear while a job runs, equal the output of commands, and are removed with their
 * letters.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importLetters } from "./killed-bulk.ts";
import { itemsJson, mapOver, ONE_TRY, openProject } from "./project.ts";
import { type LetterJson, openWorkshop, upTo, type Workshop } from "./workshop.ts";

type Mirrored = { readonly jobs: readonly { job_id: string; folder: string; items: number }[] };

/** The folder of a job whose work runs in `cwd`, which has the given name. */
function folderOf(workshop: Workshop, repo: string, jobId: string): string {
  return workshop.path(`redrive/dlq/${repo}/${jobId}/mapreduce/dlq/${jobId}`);
}

function readJson<T>(...path: string[]): T {
  return JSON.parse(readFileSync(join(...path), "utf8")) as T;
}

function itemFiles(folder: string): string[] {
  return existsSync(join(folder, "items")) ? readdirSync(join(folder, "items")).sort() : [];
}

/** The files are, byte by byte, what `dlq list --json` prints of each letter. */
async function expectAgreement(
  workshop: Workshop,
  folder: string,
  jobId: string,
  { inOrder = true }: { readonly inOrder?: boolean } = {},
): Promise<void> {
  const letters = await workshop.letters(jobId, "--sort", "oldest");
  expect(itemFiles(folder)).toEqual(letters.map(({ item_id }) => `${item_id}.json`).sort());
  for (const letter of letters) {
    const file = readFileSync(join(folder, "items", `${letter.item_id}.json`), "utf8");
    expect(file).toBe(`${JSON.stringify(letter, null, 2)}\n`);
  }
  const index = readJson<Record<string, unknown> & { item_ids: string[] }>(folder, "index.json");
  expect(index).toMatchObject({ job_id: jobId, item_count: letters.length });
  const ids = letters.map(({ item_id }) => item_id);
  if (inOrder) expect(index.item_ids).toEqual(ids);
  else expect(index.item_ids.toSorted()).toEqual(ids.toSorted());
  expect(index.updated_at).toMatch(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/);
}

/** A letter that left and came back is at the end of the index, until the folder is written anew. */
const BACK_AGAIN = { inOrder: false };

describe("the letter directory", () => {
  it("has the letters as files while the job runs, without any command", async () => {
    const workshop = openWorkshop();
    const cwd = workshop.path("texts");
    mkdirSync(cwd);
    const script = `case $1 in wait) until [ -e ${workshop.path("go")} ]; do sleep 0.05; done;; *) echo "no $1" >&2; exit 3;; esac`;
    const running = workshop.start(
      workshop.mapArgs(script, ["--name", "texts", "--retries", "0", "--json"]),
      {
        cwd,
        stdin: '"bad"\n"wait"\n',
      },
    );
    const repo = workshop.path("redrive/dlq/texts");
    await running.until("the letter's file is there", () => {
      const [job] = existsSync(repo) ? readdirSync(repo) : [];
      return job !== undefined && existsSync(join(folderOf(workshop, "texts", job), "index.json"));
    });
    const [jobId = ""] = readdirSync(repo);
    const folder = folderOf(workshop, "texts", jobId);
    await expectAgreement(workshop, folder, jobId); // the job is still at work
    writeFileSync(workshop.path("go"), "");
    expect((await running.ended).code).toBe(3);
    await expectAgreement(workshop, folder, jobId);
    expect(readdirSync(folder).sort()).toEqual(["index.json", "items", "metrics.json", "patterns.json"]);
  });

  it("has the output of analyze and stats as patterns and metrics", async () => {
    const workshop = openWorkshop();
    const { job_id } = await workshop.mapJson(upTo(5), 'echo "no $1" >&2; exit $(($1 % 2 + 3))', [
      "--retries",
      "0",
    ]);
    const [job] = (await workshop.json<Mirrored>("dlq", "mirror", job_id)).jobs;
    const folder = job?.folder ?? "";
    expect(readJson(folder, "patterns.json")).toEqual(await workshop.json("dlq", "analyze", job_id));
    const metrics = readJson<Record<string, unknown>>(folder, "metrics.json");
    const { jobs } = await workshop.json<{ jobs: Record<string, unknown>[] }>("dlq", "stats", job_id);
    expect({ ...jobs[0], oldest_age_seconds: 0 }).toEqual({ ...metrics, oldest_age_seconds: 0 });
    expect(metrics.size).toBe(5);
  });

  it("loses the file of a letter that succeeds or is discarded, and the stream has its last state", async () => {
    const workshop = openWorkshop();
    const script = `test -e ${workshop.path("fixed")} || { echo "no $1" >&2; exit 3; }; [ $1 != 3 ]`;
    const { job_id } = await workshop.mapJson(upTo(4), script, ["--retries", "0"]);
    const [job] = (await workshop.json<Mirrored>("dlq", "mirror")).jobs;
    const folder = job?.folder ?? "";
    expect(itemFiles(folder)).toHaveLength(4);
    const letters = await workshop.letters(job_id);
    const idOf = (data: unknown) => letters.find(({ item_data }) => item_data === data)?.item_id ?? "";
    workshop.write("fixed", "");
    await workshop.run(["dlq", "discard", idOf(4), "--reason", "not wanted", "--yes"]);
    const retried = await workshop.run(["dlq", "retry", job_id, "--yes"]);
    expect(retried.code, retried.stderr).toBe(3);
    await expectAgreement(workshop, folder, job_id);
    expect(itemFiles(folder)).toEqual([`${idOf(3)}.json`]);
    const stream = workshop
      .lines("redrive/dlq/global/all-items.jsonl")
      .map((line) => JSON.parse(line) as LetterJson);
    const last = new Map(stream.map(({ item_id, state }) => [item_id, state]));
    expect([1, 2, 3, 4].map((data) => last.get(idOf(data)))).toEqual(["done", "done", "dead", "discarded"]);
  });

  it("follows the store after every command that changes letters, without a run", async () => {
    const workshop = openWorkshop();
    const items = ["a", "b", "c"].map((id) => ({ id }));
    const { job_id } = await workshop.mapJson(items, "exit 3", ["--retries", "0", "--id-field", "id"]);
    const folder = folderOf(workshop, workshop.home.split("/").at(-1) ?? "", job_id);
    const lastOperation = async () =>
      (await workshop.json<{ operations: { operation_id: string }[] }>("ops")).operations[0]?.operation_id ??
      "";
    const does = async (...args: string[]) => {
      const { code, stderr } = await workshop.run(["dlq", ...args]);
      expect([args, code, stderr]).toEqual([args, 0, expect.not.stringContaining("directory")]);
      await expectAgreement(workshop, folder, job_id, BACK_AGAIN);
      return itemFiles(folder).map((name) => name.replace(".json", ""));
    };
    const undo = async () => {
      await workshop.run(["ops", "undo", await lastOperation(), "--yes"]);
      await expectAgreement(workshop, folder, job_id, BACK_AGAIN);
      return itemFiles(folder).length;
    };
    expect(await does("edit", "a", "--set", "v=1")).toEqual(["a", "b", "c"]);
    expect(await undo()).toBe(3);
    await does("note", "a", "seen before");
    expect(await does("discard", "a", "--reason", "x")).toEqual(["b", "c"]);
    expect(await does("restore", "a")).toEqual(["a", "b", "c"]);
    expect(await does("export", "copy.json")).toEqual(["a", "b", "c"]);
    expect(await does("purge", "--filter", 'item.id == "b"', "--yes")).toEqual(["a", "c"]);
    expect(await undo()).toBe(3);
    expect(await does("maintain", "--max-items", "1")).toHaveLength(1);
    expect(await does("import", "copy.json")).toEqual(["a", "b", "c"]);
    await does("retry", job_id, "a", "--detach");
    await workshop.run(["ops", "cancel", await lastOperation()]);
    await expectAgreement(workshop, folder, job_id, BACK_AGAIN);
  });

  it("follows a change of very many with the next run or with mirror, and that is reported", async () => {
    const workshop = openWorkshop();
    await importLetters(workshop, 1001);
    await workshop.run(["dlq", "mirror"]);
    const folder = folderOf(workshop, "elsewhere", "orders");
    const { code, stderr } = await workshop.run(["dlq", "discard", "--reason", "x", "--yes"]);
    expect([code, stderr]).toEqual([0, expect.stringContaining("redrive dlq mirror")]);
    expect(itemFiles(folder)).toHaveLength(1001);
    await workshop.run(["dlq", "mirror"]);
    expect(itemFiles(folder)).toEqual([]);
  });

  it("is not written with mirror: false, and a failed write is no failure of the command", async () => {
    const workshop = openWorkshop();
    const { job_id } = await workshop.mapJson([{ id: "a" }, { id: "b" }], "exit 3", [
      ...["--retries", "0", "--id-field", "id"],
    ]);
    const folder = folderOf(workshop, workshop.home.split("/").at(-1) ?? "", job_id);
    workshop.write("redrive.yml", "dlq: { mirror: false }");
    expect((await workshop.run(["dlq", "discard", "a", "--reason", "x"])).code).toBe(0);
    expect(itemFiles(folder)).toEqual(["a.json", "b.json"]);
    workshop.write("redrive.yml", "dlq: { mirror: [oops");
    const { code, stderr, stdout } = await workshop.run(["dlq", "restore", "a", "--json"]);
    expect([code, (JSON.parse(stdout) as { done: number }).done]).toEqual([0, 1]);
    expect(stderr).toMatch(/letter directory was not written: [\s\S]*redrive dlq mirror/);
  });

  it("is written again by mirror, which removes unrelated files, and may be elsewhere", async () => {
    const workshop = openWorkshop();
    const { job_id } = await workshop.mapJson(upTo(3), "exit 3", ["--retries", "0"]);
    const folder = workshop.path(".mmm/mapreduce/dlq");
    const mirrored = await workshop.run(["dlq", "mirror", "--dlq-dir", ".mmm/mapreduce/dlq", "--json"], {
      cwd: workshop.home,
    });
    expect(mirrored.code, mirrored.stderr).toBe(0);
    expect(mirrored.json<Mirrored>()).toEqual({ jobs: [{ job_id, folder: join(folder, job_id), items: 3 }] });
    await expectAgreement(workshop, join(folder, job_id), job_id);
    const items = join(folder, job_id, "items");
    const [first = ""] = itemFiles(join(folder, job_id));
    writeFileSync(join(items, first), "{ half of it");
    writeFileSync(join(items, "stranger.json"), "{}");
    rmSync(join(folder, job_id, "index.json"));
    const again = await workshop.run(["dlq", "mirror", job_id, "--dlq-dir", folder]);
    expect(again.stdout).toBe(`${join(folder, job_id)}  3 letters\n`);
    await expectAgreement(workshop, join(folder, job_id), job_id);
    expect(existsSync(join(folder, "global", "all-items.jsonl"))).toBe(true);
  });

  it("can be imported elsewhere, and is equal there", async () => {
    const [here, there] = [openWorkshop(), openWorkshop()];
    const { job_id } = await here.mapJson(["a/b", "../../c", "ö", "x".repeat(300)], 'echo "no" >&2; exit 3', [
      ...["--retries", "1", "--backoff", "none"],
    ]);
    const root = here.path("letters");
    await here.run(["dlq", "mirror", "--dlq-dir", root]);
    const imported = await there.run(["dlq", "import", root, "--json"]);
    expect(imported.code, imported.stderr).toBe(0);
    expect(await there.letters(job_id, "--sort", "oldest")).toEqual(
      await here.letters(job_id, "--sort", "oldest"),
    );
  });

  it("has letters of agents in the folder of their repository", async () => {
    const project = openProject(itemsJson("a", "b"));
    const map = mapOver('[ "$X" = b ] || { echo half > half.txt; exit 4; }', { isolation: "worktree" });
    const steps = (map.agent_template as { shell: string }[]).map(({ shell }) => ({
      shell,
      env: { X: "${item.id}" },
    }));
    const { job_id } = await project.runJson({
      name: "halves",
      mode: "mapreduce",
      map: { ...map, agent_template: steps },
      error_policy: ONE_TRY,
    });
    const folder = folderOf(project, "project", job_id);
    expect(itemFiles(folder)).toEqual(["a.json"]);
    await expectAgreement(project, folder, job_id);
    expect(readJson<LetterJson>(folder, "items", "a.json")).toHaveProperty("worktree_artifacts.branch_name");
  });

  it("does not exist for a job without letters", async () => {
    const workshop = openWorkshop();
    await workshop.mapJson(upTo(3), "true");
    expect(existsSync(workshop.path("redrive/dlq"))).toBe(false);
    const { jobs } = await workshop.json<Mirrored>("dlq", "mirror");
    expect(jobs).toEqual([]);
    expect(existsSync(workshop.path("redrive/dlq"))).toBe(false);
  });

  it("that cannot be written is reported, and the job is not affected", async () => {
    const workshop = openWorkshop();
    mkdirSync(workshop.path("redrive"));
    workshop.write("redrive/dlq", "a file is in the way");
    const result = await workshop.map(upTo(2), "exit 3", ["--retries", "0"]);
    expect(result.code).toBe(3);
    expect(result.stderr).toMatch(/letter directory .* could not be written/);
    expect(await workshop.letters()).toHaveLength(2);
  });
});
