/** Limits of the dead letter queue: every removal is reported, and the work does not wait. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type LetterJson, openWorkshop, SOUND, type Summary, upTo, type Workshop } from "./workshop.ts";

type MaintainJson = {
  readonly jobs: readonly {
    readonly job_id: string;
    readonly evicted: number;
    readonly purged: number;
    readonly waiting: number;
    readonly archives: readonly string[];
  }[];
  readonly evicted: number;
  readonly purged: number;
  readonly dry_run?: boolean;
};

/** One at a time, so that the first item dies first. */
const FLAGS = ["--retries", "0", "--jobs", "1"];
const FAILING = 'echo "no $1" >&2; exit 1';

/** All letters in the archives of the job. */
function archived(workshop: Workshop, jobId: string): LetterJson[] {
  const folder = workshop.path(`redrive/dlq/archive/${jobId}`);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".jsonl.gz"))
    .flatMap((name) =>
      gunzipSync(readFileSync(`${folder}/${name}`))
        .toString()
        .trim()
        .split("\n"),
    )
    .map((line) => JSON.parse(line));
}

const numbers = (letters: readonly LetterJson[]) =>
  letters.map(({ item_data }) => Number(item_data)).sort((a, b) => a - b);

const maintain = (workshop: Workshop, ...flags: readonly string[]) =>
  workshop.json<MaintainJson>("dlq", "maintain", ...flags);

describe("more letters than max_items", () => {
  test("pitfall 3: a map archives the oldest, and waiting letters plus archived ones are all that died", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq: { max_items: 20 }");
    const { code, stderr, stdout } = await workshop.map(upTo(50), FAILING, FLAGS);
    expect([code, stdout]).toEqual([3, ""]);
    const [job] = (await workshop.json<{ jobs: readonly Summary[] }>("jobs")).jobs;
    const jobId = job?.job_id ?? "";
    expect(job).toMatchObject({ status: "completed", total: 50, dead: 20 });
    const waiting = await workshop.letters();
    const gone = archived(workshop, jobId);
    expect(numbers(waiting)).toEqual(upTo(50).slice(30));
    expect(numbers(gone)).toEqual(upTo(30));
    expect(gone[0]).toMatchObject({
      job_id: jobId,
      state: "dead",
      failure_history: [{ error_type: expect.anything() }],
    });

    const evictions = await workshop.events("--type", "dlq_items_evicted");
    expect(evictions.reduce((sum, { data }) => sum + Number(data?.count), 0)).toBe(30);
    expect(await workshop.events("--type", "dlq_nearly_full")).toHaveLength(1);
    expect(await workshop.json("dlq", "stats", jobId)).toMatchObject({
      jobs: [{ evicted: 30, capacity_used_percent: 100 }],
    });
    expect(stderr).toMatch(/(nearly full|over its limit): \d+ letters, .*\b20\b/);
    expect(stderr).toMatch(/oldest letters, because \S+ keeps at most 20: 30\./);
    expect(await workshop.check()).toBe(SOUND);
  });

  test("archived letters come back with ops undo", async () => {
    const workshop = openWorkshop();
    const { job_id } = await workshop.mapJson(upTo(6), FAILING, FLAGS);
    expect(await maintain(workshop, job_id, "--max-items", "4")).toMatchObject({ evicted: 2, purged: 0 });
    const { operations } = await workshop.json<{ operations: { operation_id: string }[] }>("ops", "list");
    const { code } = await workshop.run(["ops", "undo", operations[0]?.operation_id ?? "", "--yes"]);
    expect(code).toBe(0);
    expect(numbers(await workshop.letters())).toEqual(upTo(6));
    expect(await workshop.check()).toBe(SOUND);
  });

  test("an archived item is not added again, because it did not succeed and is not new", async () => {
    const workshop = openWorkshop();
    const input = workshop.write("items", `${upTo(6).join("\n")}\n`);
    const args = [
      "map",
      "--input",
      input,
      "--name",
      "nightly",
      ...FLAGS,
      "--",
      "sh",
      "-c",
      FAILING,
      "sh",
      "{}",
    ];
    workshop.write("redrive.yml", "dlq: { max_items: 2 }");
    await workshop.run(args);
    const { json } = await workshop.run([...args.slice(0, 1), "--json", ...args.slice(1)]);
    expect(json()).toMatchObject({ total: 6, dead: 2 });
  });

  test("letters in retry are not touched", async () => {
    const workshop = openWorkshop();
    const { job_id } = await workshop.mapJson(upTo(5), FAILING, FLAGS);
    await workshop.run(["dlq", "retry", job_id, "--detach", "--yes"]);
    expect(await maintain(workshop, "--max-items", "1")).toEqual({ jobs: [], evicted: 0, purged: 0 });
    expect(archived(workshop, job_id)).toEqual([]);
  });

  test("the warning is printed at 80 %, once", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq: { max_items: 10 }");
    const seven = await workshop.map(upTo(7), FAILING, ["--name", "j", ...FLAGS]);
    expect(seven.stderr).not.toContain("nearly full");
    const nine = await workshop.map(upTo(9), FAILING, ["--name", "j", ...FLAGS]);
    expect(nine.stderr).toMatch(/nearly full: 9 letters, .*\b10\b/);
    const ten = await workshop.map(upTo(10), FAILING, ["--name", "j", ...FLAGS]);
    expect(ten.stderr).not.toContain("nearly full");
    expect(await workshop.events("--type", "dlq_nearly_full")).toMatchObject([
      { data: { letters: 9, max_items: 10 } },
    ]);
  });
});

describe("dlq maintain", () => {
  test("a dry run counts and changes nothing; then it is done, for all jobs", async () => {
    const workshop = openWorkshop();
    const one = await workshop.mapJson(upTo(5), FAILING, FLAGS);
    const two = await workshop.mapJson(upTo(3), FAILING, FLAGS);
    const dry = await maintain(workshop, "--max-items", "2", "--dry-run");
    expect(dry).toMatchObject({ dry_run: true, evicted: 4, purged: 0 });
    expect(await workshop.letters()).toHaveLength(8);
    const policy = () => JSON.parse(workshop.read("redrive/dlq/global/retention-policy.json"));
    expect(policy()).toMatchObject({ max_items: 10_000, retention_days: 30 }); // written by the map

    const { evicted, jobs } = await maintain(workshop, "--max-items", "2");
    expect(evicted).toBe(4);
    expect(Object.fromEntries(jobs.map((job) => [job.job_id, [job.evicted, job.waiting]]))).toEqual({
      [one.job_id]: [3, 2],
      [two.job_id]: [1, 2],
    });
    for (const { archives } of jobs) for (const path of archives) expect(existsSync(path)).toBe(true);
    expect(policy()).toMatchObject({
      max_items: 2,
      retention_days: 30,
      updated_at: expect.stringMatching(/Z$/),
    });
    expect(await maintain(workshop, "--max-items", "2")).toEqual({ jobs: [], evicted: 0, purged: 0 });
  });

  test("--retention-days 0 archives everything that is not in retry; none turns a limit off", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq: { max_items: 2, retention_days: 7 }");
    const none = await workshop.run(
      [
        "map",
        ...FLAGS,
        "--config",
        workshop.write("off.yml", "dlq: { max_items: none }"),
        "--",
        "sh",
        "-c",
        FAILING,
        "sh",
        "{}",
      ],
      { stdin: "1\n2\n3\n4\n" },
    );
    expect(none.code).toBe(3);
    const [first] = await workshop.letters();
    await workshop.run(["dlq", "discard", first?.item_id ?? "", "--reason", "no", "--yes"]);
    expect(await maintain(workshop, "--max-items", "none")).toMatchObject({ evicted: 0, purged: 0 });
    const text = await workshop.run(["dlq", "maintain", "--retention-days", "0", "--max-items", "none"]);
    expect([text.code, text.stdout]).toEqual([
      0,
      expect.stringMatching(/^\S+: archived 4 letters too old; 0 letters left\.\n {2}\/.*\.jsonl\.gz\n$/),
    ]);
    expect(numbers(archived(workshop, first?.job_id ?? ""))).toEqual(upTo(4));
    expect(await workshop.events("--type", "dlq_items_purged")).toMatchObject([{ data: { count: 4 } }]);
    expect(await workshop.check()).toBe(SOUND);
  });

  test.each([
    ["--max-items", "0"],
    ["--max-items", "many"],
    ["--retention-days", "-1"],
    ["--retention-days", "soon"],
  ])("%s %s is refused", async (flag, value) => {
    const { code, stderr } = await openWorkshop().run(["dlq", "maintain", `${flag}=${value}`]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${flag}: "${value}" is not`)]);
  });
});

test("failing maintenance is reported, and the work is done all the same", async () => {
  const workshop = openWorkshop();
  workshop.write("redrive.yml", "dlq: { max_items: 2, mirror: false }");
  await workshop.run(["store", "info"]);
  workshop.write("redrive/dlq", "a file where the folder should be");
  const { code, stderr } = await workshop.map(upTo(6), FAILING, FLAGS);
  expect(code).toBe(3);
  expect(stderr).toMatch(/limits of the dead letter queue could not be enforced: .*Nothing is lost/);
  expect(await workshop.letters()).toHaveLength(6);
});

describe("every other key of dlq in redrive.yml has an effect", () => {
  test("retention_days is used by maintain", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq: { retention_days: 7 }");
    await maintain(workshop);
    expect(JSON.parse(workshop.read("redrive/dlq/global/retention-policy.json"))).toMatchObject({
      max_items: 10_000,
      retention_days: 7,
    });
  });

  test("poison_after: a letter that failed again so often needs --force", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq: { poison_after: 1 }");
    const { job_id } = await workshop.mapJson([1], FAILING, FLAGS);
    await workshop.run(["dlq", "retry", job_id, "--yes", "--quiet"]);
    expect(await workshop.letters()).toMatchObject([{ poison: true, redrive_count: 1 }]);
    workshop.write("redrive.yml", "dlq: { poison_after: none }");
    await workshop.run(["dlq", "retry", job_id, "--yes", "--quiet", "--force"]);
    const [letter] = await workshop.letters();
    expect(letter).toMatchObject({ redrive_count: 2 });
    expect(letter).not.toHaveProperty("poison", true);
  });

  test("mirror and dir: where the letters are written as files, if at all", async () => {
    const workshop = openWorkshop();
    workshop.write("redrive.yml", "dlq: { mirror: false, dir: letters }");
    const quiet = await workshop.mapJson([1], FAILING, FLAGS);
    expect(existsSync(workshop.path(`letters/${quiet.job_id}`))).toBe(false);
    workshop.write("redrive.yml", "dlq: { mirror: true, dir: letters }");
    const written = await workshop.mapJson([1], FAILING, FLAGS);
    expect(JSON.parse(workshop.read(`letters/${written.job_id}/index.json`))).toMatchObject({
      job_id: written.job_id,
      item_count: 1,
    });
  });
});
