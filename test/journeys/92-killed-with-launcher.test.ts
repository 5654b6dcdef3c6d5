/**
 * The runner and its launcher are killed with -9 at the same moment. On Linux the other process of the launcher ends what
 * the commands left running; where none is left to do so, the next runner on the machine does it before it starts anything.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { until } from "../support/until.ts";
import { asJsonLines, isAlive, openWorkshop, SOUND, type Summary, upTo, type Workshop } from "./workshop.ts";

const ITEMS = 3;
const PER_ITEM = 3;

/** Writes its pid, that of a child and that of a daemon in a session of its own, then hangs until the gate is open. */
const hanging = (shop: Workshop) =>
  `export L; echo "$$ $1" >> $L; sleep 300 & echo "$! child" >> $L; setsid sh -c 'echo "$$ daemon" >> $L; exec sleep 300' & ` +
  `while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done; kill %1 2>/dev/null; exit 0`;

const pids = (shop: Workshop) => shop.ledger.map((line) => Number(line.split(" ")[0]));

/** Starts a map and returns its processes as soon as all items hang with everything that they started. */
async function startHanging(shop: Workshop, launcher: "native" | "spawn") {
  const flags = ["--name", "n", "-j", String(ITEMS), "--retries", "0"];
  const running = shop.start(shop.mapArgs(hanging(shop), flags), {
    stdin: asJsonLines(upTo(ITEMS)),
    env: { REDRIVE_LAUNCHER: launcher },
  });
  await shop.untilLedger("all hang with their children", (lines) => lines.length === ITEMS * PER_ITEM);
  onTestFinished(() => {
    for (const pid of pids(shop)) kill(pid);
  });
  const [guard = 0] = launcher === "native" ? childrenOf(running.pid) : [];
  const [server = 0] = guard === 0 ? [] : childrenOf(guard);
  return { running, guard, server };
}

/** The next runner does the items again and finds nothing beside it. */
async function expectResumed(shop: Workshop) {
  const killed = pids(shop);
  shop.write("gate", "");
  const resumed = await shop.run(["resume", "n", "--json"]);
  expect(killed.filter(isAlive)).toEqual([]);
  expect(resumed.json<Summary>()).toMatchObject({ status: "completed", succeeded: ITEMS, dead: 0 });
  expect(await shop.check()).toBe(SOUND);
}

describe.runIf(process.platform === "linux")("a runner that is killed with -9 together with", () => {
  it.each(["guard", "server"] as const)("the %s of its launcher leaves no process behind", async (one) => {
    const shop = openWorkshop();
    const { running, guard, server } = await startHanging(shop, "native");
    kill({ guard, server }[one]);
    kill(running.pid);
    await running.ended;
    await until("nothing is left", () => ![guard, server, ...pids(shop)].some(isAlive));
    await expectResumed(shop);
  });

  it("its whole launcher leaves nothing that outlives the start of the next runner", async () => {
    const shop = openWorkshop();
    const { running, guard, server } = await startHanging(shop, "native");
    for (const pid of [guard, server]) process.kill(pid, "SIGSTOP"); // neither can act before it dies
    for (const pid of [guard, server, running.pid]) kill(pid);
    await running.ended;
    // Whether they still live cannot be asserted here: every runner on the machine ends them, also one of another test.
    await expectResumed(shop);
  });

  it("no launcher of its own leaves nothing that outlives the start of the next runner", async () => {
    const shop = openWorkshop();
    const { running } = await startHanging(shop, "spawn");
    kill(running.pid);
    await running.ended;
    await expectResumed(shop);
  });

  it("its launcher leaves nothing beside a runner that works in another store", async () => {
    const [shop, other] = [openWorkshop(), openWorkshop()];
    const { running, guard, server } = await startHanging(shop, "native");
    const { running: living } = await startHanging(other, "native");
    for (const pid of [guard, server]) process.kill(pid, "SIGSTOP");
    for (const pid of [guard, server, running.pid]) kill(pid);
    await running.ended;
    await shop.run(["map", "--name", "m", "--", "true"], { stdin: "1\n" });
    expect(pids(shop).filter(isAlive)).toEqual([]);
    expect(pids(other).every(isAlive)).toBe(true); // its runner lives
    other.write("gate", "");
    expect((await living.ended).code).toBe(0);
  });
});

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
