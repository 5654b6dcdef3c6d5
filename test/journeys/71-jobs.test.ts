/** Jobs that are resumed, dismissed, deleted and removed by the retention. */
import { existsSync, mkdirSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { asPerson } from "../support/person.ts";
import { itemsJson, mapOver, ONE_TRY, openProject } from "./project.ts";
import { type ErrorJson, openWorkshop, SOUND, type Summary, type Workshop } from "./workshop.ts";

type JobJson = Summary & { readonly dismissed: boolean; readonly command: string; readonly cwd: string };

const jobsOf = async (shop: Workshop) => (await shop.json<{ jobs: JobJson[] }>("jobs")).jobs;

/** A job of the folder that is stopped after its first item, because that item dies. */
async function stoppedIn(shop: Workshop, folder: string, name: string): Promise<void> {
  mkdirSync(shop.path(folder), { recursive: true });
  const script = `[ -e ${shop.path("mended")} ] || exit 1`;
  const args = shop.mapArgs(script, ["--name", name, "--retries", "0", "--fail-fast", "-j", "1"]);
  const { code } = await shop.run(args, { cwd: shop.path(folder), stdin: "1\n2\n" });
  expect(code).toBe(1);
}

describe("a bare resume", () => {
  it("takes only a job of this folder that was not dismissed, and names it", async () => {
    const shop = openWorkshop();
    await stoppedIn(shop, "here", "older");
    await stoppedIn(shop, "here", "mine");
    await stoppedIn(shop, "there", "other");
    const [other, mine, older] = await jobsOf(shop);
    const bare = (folder: string) => shop.run(["resume"], { cwd: shop.path(folder) });
    shop.write("mended", "");
    mkdirSync(shop.path("empty"));
    const nowhere = await bare("empty");
    expect(nowhere.code).toBe(4);
    expect(nowhere.stderr).toContain(`redrive resume ${other?.job_id}`);
    expect((await shop.run(["jobs", "dismiss", "mine"])).code).toBe(0);
    const { code, stderr } = await bare("here");
    expect(code).toBe(0);
    expect(stderr).toContain(`Resuming ${older?.job_id}: sh -c`);
    expect(stderr).toContain(shop.path("here"));
    expect((await bare("here")).code).toBe(4);
    expect((await jobsOf(shop)).map((job) => job.dismissed)).toEqual([false, true, false]);
    expect((await shop.run(["resume", mine?.job_id ?? ""])).code).toBe(0);
    expect((await jobsOf(shop)).map((job) => job.dismissed)).toEqual([false, false, false]);
  });
});

describe("jobs", () => {
  it("shows command and folder of each, within the width of the screen", async () => {
    const shop = openWorkshop();
    await shop.map([1], "true # a long command that does not fit into one line of a narrow screen", [
      "--name",
      "a-rather-long-name-of-a-job",
    ]);
    const [job] = await jobsOf(shop);
    expect(job).toMatchObject({ cwd: shop.home, command: expect.stringContaining("sh -c") });
    const { stdout } = await asPerson(["jobs"], { home: shop.home, env: shop.env, answers: [] });
    expect(stdout).toContain("sh -c");
    expect(stdout).toContain("~");
    for (const line of stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });

  it("delete removes a job with its logs, but not waiting letters, unless it is forced and they are archived", async () => {
    const shop = openWorkshop();
    const { job_id } = await shop.mapJson([1, 2], "echo $1; [ $1 = 1 ]", ["--name", "n", "--retries", "0"]);
    await shop.map([1], "echo fine", ["--name", "m"]);
    const refused = await shop.run(["jobs", "delete", "m", "n", "--yes", "--json"]);
    expect(refused.code).toBe(5);
    expect(refused.json<ErrorJson>().error.message).toContain("1 letter");
    expect(await jobsOf(shop)).toHaveLength(2);
    expect((await shop.run(["jobs", "delete", "m", "--yes"])).code).toBe(0);
    const { jobs } = (await shop.run(["jobs", "delete", "n", "--force", "--yes", "--json"])).json<{
      jobs: { archive: string; letters: number }[];
    }>();
    expect(jobs).toMatchObject([{ letters: 1, items: 2 }]);
    expect(existsSync(jobs[0]?.archive ?? "")).toBe(true);
    expect(await jobsOf(shop)).toEqual([]);
    expect(existsSync(join(shop.home, "redrive/logs", job_id))).toBe(false);
    expect(await shop.letters()).toEqual([]);
    expect((await shop.run(["jobs", "delete", "n"])).code).toBe(4);
    expect((await shop.events()).map(({ type }) => type)).toEqual(["job_deleted", "job_deleted"]);
    expect(await shop.check()).toBe(SOUND);
    expect((await shop.run(["dlq", "import", jobs[0]?.archive ?? ""])).code).toBe(0);
    expect(await shop.letters()).toHaveLength(1);
  });

  it("delete refuses a running job, and a worktree whose work is nowhere else", async () => {
    const project = openProject(itemsJson("a"));
    const work = "echo x > x; git add -A; git commit -qm x; exit 3";
    const { job_id } = await project.runJson({ map: mapOver(work), error_policy: ONE_TRY });
    await project.do("dlq", "discard", "a", "--reason", "none", "--yes");
    const refused = await project.run(["jobs", "delete", job_id, "--yes"]);
    expect(refused.code).toBe(5);
    expect(refused.stderr).toContain("worktree");
    expect((await project.run(["jobs", "delete", job_id, "--force", "--yes"])).code).toBe(0);
    expect(await project.worktrees()).toEqual([]);

    const script = `echo x >> $L; while [ ! -e ${project.path("gate")} ]; do sleep 0.05; done`;
    const job = project.start(project.mapArgs(script, ["--name", "n"]), { stdin: "1\n" });
    await project.untilLedger("it runs", (lines) => lines.length === 1);
    expect((await project.run(["jobs", "delete", "n", "--force", "--yes"])).code).toBe(5);
    expect((await project.run(["jobs", "dismiss", "n"])).code).toBe(5);
    project.write("gate", "");
    expect((await job.ended).code).toBe(0);
    expect((await project.run(["jobs", "delete", "n", "--yes"])).code).toBe(0);
  });
});

describe("retention", () => {
  it("of logs deletes old ones, except those of letters; a run and `dlq maintain` apply it", async () => {
    const shop = openWorkshop();
    shop.write("redrive.yml", "jobs: {log_retention_days: 7}\n");
    const first = await shop.mapJson(["good", "bad"], "echo $1; [ $1 = good ]", ["--retries", "0"]);
    const items = await shop.letters();
    const logs = join(shop.home, "redrive/logs", first.job_id);
    const old = new Date(Date.now() - 8 * 86_400_000);
    const files = () => readdirSync(logs, { recursive: true, encoding: "utf8" }).filter(isLog);
    for (const file of files()) utimesSync(join(logs, file), old, old);
    expect(files()).toHaveLength(2);
    const dry = await shop.json<{ logs_deleted: number }>("dlq", "maintain", "--dry-run");
    expect(dry.logs_deleted).toBe(1);
    await shop.map([1], "echo later");
    expect(files()).toEqual([join(items[0]?.item_id ?? "", "1.log")]);
  });
});

function isLog(file: string): boolean {
  return file.endsWith(".log");
}

describe("an input that cannot be read to its end", () => {
  it("names the job, what was done, and the command that resumes it", async () => {
    const shop = openWorkshop();
    const input = shop.write("in.jsonl", "1\n2\n{broken\n");
    const args = ["map", "--json", "-i", input, "--", "sh", "-c", "echo $1", "sh", "{}"];
    const { code, ...result } = await shop.run(args);
    const { message, hint } = result.json<ErrorJson>().error;
    const [job] = await jobsOf(shop);
    expect(code).toBe(2);
    expect(message).toContain(`in.jsonl:3`);
    expect(message).toContain(`The job ${job?.job_id} has the 2 items before the error: 2 done.`);
    expect(hint).toContain(`redrive resume ${job?.job_id}`);
    shop.write("in.jsonl", "1\n2\n3\n");
    expect((await shop.run(["resume", job?.job_id ?? "", "--json"])).json<Summary>()).toMatchObject({
      succeeded: 3,
      attempts: 3,
    });
    const piped = await shop.run(["map", "--format", "jsonl", "--", "true"], { stdin: "1\n{" });
    expect(piped.stderr).toMatch(/the same command with --name true-\w+/);
  });
});
