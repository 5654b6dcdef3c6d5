/** The service that keeps the letter directory of a running job: in batches, beside the work, and never against it. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type CaughtUp, Projection } from "../../src/dead-letter/projection.ts";
import type { LeasedItem } from "../../src/item/item.ts";
import { letterMirror } from "../../src/service/letter-mirror.ts";
import type { Service } from "../../src/service/service.ts";
import { JOB, LetterKit, readJson } from "../dead-letter/letter-kit.ts";
import { buried } from "../support/settlements.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";

describe("the writer of the letter directory", () => {
  const temporary = new TemporaryDirectory();
  afterAll(() => temporary.remove());
  let kit: LetterKit;
  let home: string;
  let notices: string[];
  beforeEach(async () => {
    kit = await LetterKit.open();
    home = temporary.file("home");
    notices = [];
  });

  const open = async (dlqDir?: string): Promise<Service> => {
    const job = await kit.engine.findJob(JOB);
    if (job === null) throw new Error("no job");
    const { engine, clock } = kit;
    const surroundings = { engine, home, clock, onNotice: (notice: string) => void notices.push(notice) };
    return letterMirror(dlqDir === undefined ? {} : { dlqDir })(job, surroundings);
  };
  const folder = () => join(home, "dlq", "elsewhere", JOB, "mapreduce", "dlq", JOB);
  const indexed = () =>
    existsSync(join(folder(), "index.json")) ? readJson(folder(), "index.json").item_count : 0;

  /** Buries one, and tells the service as a runner does. */
  const fail = async (service: Service, itemId: string) => {
    await kit.bury([itemId]);
    const item = { itemId, redriveCount: 0 } as LeasedItem;
    service.settled?.(item, buried({ ref: 1, attempt: 1 }));
  };

  it("letters appear while the job runs, after a short delay, also in the stream of all letters", async () => {
    const service = await open();
    await fail(service, "a");
    expect(existsSync(folder())).toBe(false);
    kit.clock.advance(500);
    await until("the letter is there", () => indexed() === 1);
    expect(readJson(folder(), "items", "a.json").item_id).toBe("a");
    await service.stop();
    const stream = readFileSync(join(home, "dlq", "global", "all-items.jsonl"), "utf8");
    expect(JSON.parse(stream)).toEqual(readJson(folder(), "items", "a.json"));
    expect(notices).toEqual([]);
  });

  it("a run without letters leaves no folder", async () => {
    const service = await open();
    kit.clock.advance(10_000);
    await service.stop();
    expect(existsSync(join(home, "dlq"))).toBe(false);
  });

  it("the remaining letters are written at the end", async () => {
    const service = await open();
    await fail(service, "a");
    await service.stop();
    expect(indexed()).toBe(1);
    expect(kit.clock.sleeping).toBe(0);
  });

  it("an existing directory is updated even without a new letter of this run", async () => {
    const first = await open();
    await fail(first, "a");
    await first.stop();
    await kit.discard("a");
    const next = await open();
    kit.clock.advance(500);
    await until("it has left", () => indexed() === 0);
    await next.stop();
  });

  it("another folder has the folders of jobs directly", async () => {
    const dlqDir = temporary.file("dlq");
    const service = await open(dlqDir);
    await fail(service, "a");
    await service.stop();
    expect(existsSync(join(dlqDir, JOB, "items", "a.json"))).toBe(true);
    expect(existsSync(join(dlqDir, "global", "all-items.jsonl"))).toBe(true);
    expect(existsSync(home)).toBe(false);
  });

  it("2,000 letters, one after the other, need a handful of indexes: never one for each", async () => {
    const steps: Promise<CaughtUp>[] = [];
    const catchUp = Projection.prototype.catchUp;
    const spy = vi.spyOn(Projection.prototype, "catchUp").mockImplementation(function (this: Projection) {
      const step = catchUp.call(this);
      steps.push(step);
      return step;
    });
    onTestFinished(() => spy.mockRestore());
    const service = await open();
    for (let n = 1; n <= 2000; n += 1) {
      await fail(service, `item-${n}`);
      kit.clock.advance(1);
      await Promise.all(steps); // as quick as can be, so that only the rests keep it from writing
    }
    await service.stop();
    expect(indexed()).toBe(2000);
    const written = await Promise.all(steps);
    expect(written.length).toBeGreaterThan(1);
    expect(written.reduce((sum, { indexes }) => sum + indexes, 0)).toBeLessThan(10);
    expect(written.reduce((sum, { indexes, items }) => sum + indexes * items, 0)).toBeLessThan(3 * 2000);
    expect(written.reduce((sum, { files }) => sum + files, 0)).toBeLessThanOrEqual(2000); // each letter once
  });

  it("a failed write is reported once, and the run continues", async () => {
    mkdirSync(home);
    writeFileSync(join(home, "dlq"), "a file where the folder should be");
    const service = await open();
    await fail(service, "a");
    kit.clock.advance(500);
    await until("it is said", () => notices.length > 0);
    await fail(service, "b");
    await service.stop();
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatch(/letter directory .* could not be written: .*dlq mirror/);
  });
});
