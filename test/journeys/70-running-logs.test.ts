/** The output of running attempts: shown so far, and followed to its end, of one item and of a whole job. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { mapOver, openFolder } from "./project.ts";
import { asJsonLines, openWorkshop, type Workshop } from "./workshop.ts";

/** Prints a line, waits for the file `gate`, prints another one. */
function untilGate(shop: Workshop): string {
  return `echo begun $1; echo x >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.05; done; echo ended $1`;
}

async function startJob(shop: Workshop, ...items: string[]) {
  const job = shop.start(shop.mapArgs(untilGate(shop), ["--name", "n", "-j", "2", "--quiet"]), {
    stdin: asJsonLines(items),
  });
  await shop.untilLedger("all run", (lines) => lines.length === items.length);
  return job;
}

describe("logs of a running attempt", () => {
  it("has the output so far, and --follow prints the rest until it ends", async () => {
    const shop = openWorkshop();
    const job = await startJob(shop, "a");
    const now = await shop.run(["logs", "n", "a"]);
    expect(now).toMatchObject({ code: 0, stdout: "begun a\n" });
    expect(now.stderr).toContain("Attempt 1 is still running. Output so far:");
    expect(await shop.json("logs", "n", "a")).toMatchObject({
      attempt: 1,
      outcome: "running",
      stdout: "begun a\n",
    });
    const following = shop.start(["logs", "n", "a", "--follow"], { stdin: "" });
    await following.untilStdout("begun a");
    shop.write("gate", "");
    const { code, stdout, stderr } = await following.ended;
    expect({ code, stdout }).toEqual({ code: 0, stdout: "begun a\nended a\n" });
    expect(stderr).toContain("Attempt 1 of");
    expect((await job.ended).code).toBe(0);
    expect((await shop.run(["logs", "n", "a", "--follow"])).stdout).toContain("ended a\n");
  });

  it("follows every item of a job, with the item in front of each line", async () => {
    const shop = openWorkshop();
    const job = await startJob(shop, "a", "b");
    const following = shop.start(["logs", "n", "--follow", "--json"], { stdin: "" });
    const reading = shop.start(["logs", "n", "--follow"], { stdin: "" });
    await until("both have been seen", () =>
      [following, reading].every((one) => one.stdout.split("begun").length === 3),
    );
    shop.write("gate", "");
    const { code, stdout } = await following.ended;
    expect((await reading.ended).stdout.split("\n").sort()).toEqual([
      "",
      ...["a | begun a", "a | ended a", "b | begun b", "b | ended b"],
    ]);
    expect(code).toBe(0);
    expect((await job.ended).code).toBe(0);
    const lines = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    for (const item of ["a", "b"]) {
      const own = lines.filter(({ text }) => String(text).endsWith(` ${item}`));
      expect(own.map(({ text }) => text)).toEqual([`begun ${item}`, `ended ${item}`]);
      expect(lines).toContainEqual({ item_id: own[0]?.item_id, attempt: 1, outcome: "succeeded" });
    }
    expect((await shop.run(["logs", "n"])).code).toBe(2);
  });

  it("of a workflow has its finished steps and the running one once each", async () => {
    const project = openFolder({ "items.json": '[{"id":"a"}]' });
    const wait = `echo second; echo x >> ${project.ledgerPath}; while [ ! -e ${project.path("gate")} ]; do sleep 0.05; done; echo third`;
    const map = {
      ...mapOver("echo first"),
      isolation: "none",
      agent_template: [{ shell: "echo first" }, { shell: wait }],
    };
    const job = project.start(["run", project.workflow({ map })], { cwd: project.top, stdin: "" });
    await project.untilLedger("the second step runs", (lines) => lines.length === 1);
    const [{ job_id = "" } = {}] = (await project.json<{ jobs: { job_id: string }[] }>("jobs")).jobs;
    const following = project.start(["logs", job_id, "a", "--follow"], { stdin: "" });
    await following.untilStdout("second");
    expect((await project.run(["logs", job_id, "a"])).stdout).toMatch(
      /^== .*first.*exit 0.*==\nfirst\nsecond\n$/,
    );
    project.write("gate", "");
    const { stdout } = await following.ended;
    for (const line of ["first", "second", "third"])
      expect(stdout.split("\n").filter((one) => one === line)).toHaveLength(1);
    expect((await job.ended).code).toBe(0);
  });

  it("of a workflow with secrets waits for the end of the step, when they are masked", async () => {
    const project = openFolder({ "items.json": '[{"id":"a"}]' });
    const wait = `echo $TOKEN; echo x >> ${project.ledgerPath}; while [ ! -e ${project.path("gate")} ]; do sleep 0.05; done`;
    const map = { ...mapOver(wait), isolation: "none" };
    const env = { TOKEN: "open-sesame" };
    const workflow = project.workflow({ secrets: ["TOKEN"], map });
    const job = project.start(["run", workflow, "--json"], { cwd: project.top, stdin: "", env });
    await project.untilLedger("the step runs", (lines) => lines.length === 1);
    const [{ job_id = "" } = {}] = (await project.json<{ jobs: { job_id: string }[] }>("jobs")).jobs;
    const now = await project.run(["logs", job_id, "a"]);
    expect(now.stdout).toBe("");
    expect(now.stderr).toContain("secrets");
    project.write("gate", "");
    expect((await job.ended).code).toBe(0);
    const { stdout } = await project.run(["logs", job_id, "a"]);
    expect(stdout).toContain("***");
    expect(stdout).not.toContain("open-sesame");
  });
});
