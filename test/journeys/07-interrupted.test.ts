/** Ctrl-C, TERM and several concurrent runners: children end, attempts are released, and nothing is done twice. */
import { describe, expect, it } from "vitest";
import { until } from "../support/until.ts";
import { asJsonLines, isAlive, openWorkshop, SOUND, type Summary, upTo, type Workshop } from "./workshop.ts";

/** Writes its pid and that of a child, then hangs until the gate is open. */
const hanging = (shop: Workshop) =>
  `echo "$$ $1" >> $L; sleep 300 & echo "$! child" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done; kill $!`;

const pids = (shop: Workshop) => shop.ledger.map((line) => Number(line.split(" ")[0]));

describe.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s", (signal, exitCode) => {
  it(`ends the children, releases the attempts, exits with ${exitCode}, and resume continues`, async () => {
    const shop = openWorkshop();
    const flags = ["--name", "n", "-j", "2", "--retries", "0"];
    const running = shop.start(shop.mapArgs(hanging(shop), flags), { stdin: asJsonLines(upTo(5)) });
    await shop.untilLedger("two run with their children", (lines) => lines.length === 4);
    running.signal(signal);
    const { code, stderr } = await running.ended;
    expect(code).toBe(exitCode);
    expect(stderr).toContain("Stopping:");
    expect(stderr).toContain("Interrupted");
    expect(stderr).toContain("redrive resume");
    expect(pids(shop).filter(isAlive)).toEqual([]);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({
      status: "interrupted",
      dead: 0,
      remaining: 5,
    });
    expect(await shop.events("--type", "attempt_released")).toHaveLength(2);

    shop.write("gate", "");
    const resumed = await shop.run(["resume", "--json"]);
    expect(resumed.code).toBe(0);
    expect(resumed.json<Summary>()).toMatchObject({ name: "n", status: "completed", succeeded: 5, dead: 0 });
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a second Ctrl-C", () => {
  it("forces the end at once; the children die, and the next runner takes the items back", async () => {
    const shop = openWorkshop();
    const stubborn = `trap '' TERM INT; echo "$$ $1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.05; done`;
    const flags = ["--name", "n", "-j", "2", "--grace", "1h"];
    const running = shop.start(shop.mapArgs(stubborn, flags), { stdin: asJsonLines(upTo(2)) });
    await shop.untilLedger("both run", (lines) => lines.length === 2);
    running.signal("SIGINT");
    await running.untilStderr("again to force");
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    await until("the children are gone", () => pids(shop).every((pid) => !isAlive(pid)));

    expect(await shop.json<Summary>("status", "n")).toMatchObject({ status: "interrupted", remaining: 2 });
    shop.write("gate", "");
    expect((await shop.run(["resume", "n", "--json"])).json<Summary>()).toMatchObject({
      succeeded: 2,
      dead: 0,
    });
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a terminal that closes", () => {
  it("sends two signals, from the kernel and the shell, which does not force the end", async () => {
    const shop = openWorkshop();
    const slow = `trap '' TERM HUP; echo "$$ $1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.05; done`;
    const flags = ["--name", "n", "-j", "2", "--grace", "1h"];
    const running = shop.start(shop.mapArgs(slow, flags), { stdin: asJsonLines(upTo(4)) });
    await shop.untilLedger("two run", (lines) => lines.length === 2);
    running.signal("SIGHUP");
    await running.untilStderr("again to force");
    running.signal("SIGHUP");
    shop.write("gate", "");
    expect((await running.ended).code).toBe(129);
    expect(await shop.events("--type", "job_interrupted")).toHaveLength(1);
  });
});

describe("while stdin is still open", () => {
  it("Ctrl-C ends it all the same, and the same map again adds the rest", async () => {
    const shop = openWorkshop();
    const args = shop.mapArgs('echo "$1" >> $L', ["--name", "n"]);
    const running = shop.start(args);
    running.stdin.write("1\n2\n");
    await until("what came is done before the input ends", async () => {
      const { code, stdout } = await shop.run(["status", "n", "--json"]);
      return code === 0 && JSON.parse(stdout).succeeded === 2;
    });
    running.signal("SIGINT");
    const { code } = await running.ended;
    expect(code).toBe(130);

    const resumed = await shop.run(["resume", "n"]);
    expect(resumed.stderr).toContain(
      "Standard input was not read completely. Run the map again with --name n",
    );
    const again = await shop.run([...args.slice(0, 1), "--json", ...args.slice(1)], { stdin: "1\n2\n3\n" });
    expect(again.json<Summary>()).toMatchObject({ total: 3, succeeded: 3, attempts: 3 });
    expect([...shop.ledger].sort()).toEqual(["1", "2", "3"]);
  });
});

describe("two runners of one job", () => {
  it("share it without doing anything twice", async () => {
    const shop = openWorkshop();
    const items = asJsonLines(upTo(60));
    const args = shop.mapArgs('echo "$1 $PPID" >> $L; sleep 0.01', ["--name", "n", "-j", "2", "--json"]);
    const [one, other] = await Promise.all([
      shop.run(args, { stdin: items }),
      shop.run(args, { stdin: items }),
    ]);
    expect([one.code, other.code]).toEqual([0, 0]);
    const done = shop.ledger.map((line) => Number(line.split(" ")[0]));
    expect(done.sort((a, b) => a - b)).toEqual(upTo(60));
    expect(await shop.json<Summary>("status", "n")).toMatchObject({
      status: "completed",
      succeeded: 60,
      attempts: 60,
    });
    expect(await shop.check()).toBe(SOUND);
  });

  it("one that joins later helps, and one that is interrupted leaves the job to the other", async () => {
    const shop = openWorkshop();
    const args = shop.mapArgs(hanging(shop), ["--name", "n", "-j", "1"]);
    const first = shop.start(args, { stdin: asJsonLines(upTo(6)) });
    await shop.untilLedger("the first works", (lines) => lines.length === 2);
    const second = shop.start(["resume", "n", "--jobs", "1"], { stdin: "" });
    await shop.untilLedger("both work", (lines) => lines.length === 4);
    first.signal("SIGINT");
    expect((await first.ended).code).toBe(130);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ status: "running", dead: 0 });
    shop.write("gate", "");
    expect((await second.ended).code).toBe(0);
    expect(await shop.json<Summary>("status", "n")).toMatchObject({ status: "completed", succeeded: 6 });
    expect(await shop.check()).toBe(SOUND);
  });

  it("attempts of a killed runner are lost with its children, and the next runner takes them over", async () => {
    const shop = openWorkshop();
    const args = shop.mapArgs(hanging(shop), ["--name", "n", "-j", "1", "--backoff", "none"]);
    const first = shop.start(args, { stdin: asJsonLines(upTo(3)) });
    await shop.untilLedger("it works", (lines) => lines.length === 2);
    first.signal("SIGKILL");
    await first.ended;
    await until("its children are gone with it", () => pids(shop).every((pid) => !isAlive(pid)));
    shop.write("gate", "");
    const resumed = (await shop.run(["resume", "--json"])).json<Summary>();
    expect(resumed).toMatchObject({ succeeded: 3, dead: 0, attempts: 4 });
    expect(await shop.events("--type", "attempt_lost")).toHaveLength(1);
    expect(await shop.check()).toBe(SOUND);
  });
});

describe("a store that several processes open at the same time", () => {
  it("is created once, and all of them can use it", async () => {
    const shop = openWorkshop();
    const results = await Promise.all([
      ...upTo(4).map(() => shop.run(["events", "--json"])),
      ...upTo(3).map((n) => shop.map([n], "true")),
    ]);
    expect(results.map((result) => [result.code, result.stderr.includes("locked")])).toEqual(
      results.map(() => [0, false]),
    );
    expect((await shop.json<{ jobs: Summary[] }>("jobs")).jobs).toHaveLength(3);
    expect(await shop.check()).toBe(SOUND);
  });
});
