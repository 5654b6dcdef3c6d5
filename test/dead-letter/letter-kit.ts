/** Letters in a store, made in the way that they are made in earnest, for tests of what looks after them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../src/engine.ts";
import { openStore } from "../../src/engines/open.ts";
import type { Letter } from "../../src/item/letter.ts";
import { assert } from "../../src/std/assert.ts";
import type { Json, JsonObject } from "../../src/std/json.ts";
import { newHolder } from "../conformance/workbench.ts";
import { buried, type succeeded } from "../support/settlements.ts";
import { TestClock } from "../support/test-clock.ts";

export const JOB = "job-1";

export class LetterKit {
  readonly engine: Engine;
  readonly clock: TestClock;

  private constructor(engine: Engine, clock: TestClock) {
    this.engine = engine;
    this.clock = clock;
  }

  static async open(): Promise<LetterKit> {
    const clock = new TestClock();
    const engine = await openStore("memory:", { clock });
    const kit = new LetterKit(engine, clock);
    await kit.job(JOB);
    await engine.registerHolder(newHolder("holder-1"));
    return kit;
  }

  async job(id: string, spec: JsonObject = {}): Promise<void> {
    await this.engine.createJob({ id, name: `name of ${id}`, kind: "map", spec });
  }

  /** Adds items and buries each. */
  async bury(itemIds: readonly string[], queue = JOB): Promise<void> {
    await this.engine.add(
      queue,
      itemIds.map((itemId) => ({ itemId, data: { name: itemId } as Json })),
    );
    await this.end(itemIds.length, buried, queue);
  }

  /** Sends all that match back, and lets each end in the given way. */
  async redrive(end: typeof buried | typeof succeeded, itemIds?: readonly string[]): Promise<void> {
    const id = await this.begin("redrive", itemIds);
    const { done } = await this.engine.advance(id, { max: 10_000 });
    await this.end(done, end);
    await this.engine.closeOperation(id);
  }

  async discard(...itemIds: readonly string[]): Promise<void> {
    const id = await this.begin("discard", itemIds);
    await this.engine.advance(id, { max: 1000 });
    await this.engine.closeOperation(id);
  }

  async begin(kind: "redrive" | "discard" | "purge", itemIds?: readonly string[]): Promise<string> {
    const id = `op-${(await this.engine.newestEvent()) + 1}`;
    await this.engine.beginOperation({
      id,
      kind,
      queue: JOB,
      filter: itemIds === undefined ? {} : { itemIds },
      force: false,
      author: "tess",
      reason: "not wanted",
      plan: {},
    });
    return id;
  }

  async end(count: number, end: typeof buried | typeof succeeded, queue = JOB): Promise<void> {
    const { leased } = await this.engine.settleAndLease("holder-1", {
      settle: [],
      lease: { queue, max: count },
    });
    assert(leased.length === count, `${leased.length} of ${count} were leased`);
    await this.engine.settleAndLease(null, { settle: leased.map((lease) => end(lease)) });
  }

  /** Of the job, oldest first. */
  async letters(): Promise<readonly Letter[]> {
    return (await this.engine.listLetters({ queue: JOB, order: "oldest", limit: 10_000 })).letters;
  }
}

export function readJson(...path: string[]): JsonObject {
  return JSON.parse(readFileSync(join(...path), "utf8")) as JsonObject;
}

/** Every name in a folder, hidden ones too. */
export function namesIn(...path: string[]): string[] {
  return readdirSync(join(...path)).sort();
}
