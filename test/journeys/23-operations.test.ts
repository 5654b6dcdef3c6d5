/** Operations on many letters: their records, and how other processes pause, continue and cancel them. */
import { describe, expect, it } from "vitest";
import type { RunningCli } from "../support/cli.ts";
import { until } from "../support/until.ts";
import {
  type ErrorJson,
  openWorkshop,
  SOUND,
  type OperationJson as Totals,
  upTo,
  type Workshop,
} from "./workshop.ts";

type OperationJson = Totals & {
  readonly operation_id: string;
  readonly kind: string;
  readonly job_id: string;
  readonly status: string;
  readonly author: string;
};
type Shown = OperationJson & {
  readonly plan: Readonly<Record<string, unknown>>;
  readonly refusals: readonly { reason: string; count: number }[];
  readonly letters: readonly { item_id: string; status: string; reason?: string }[];
};

const ONE = ["-j", "1", "--retries", "0", "--name", "n"];

/** Each item waits for the gate once it is mended. */
const gated = (shop: Workshop) =>
  `[ -e ${shop.path("mended")} ] || exit 1; echo "$1" >> $L; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;

async function deadJob(shop: Workshop, count: number): Promise<void> {
  await shop.map(upTo(count), gated(shop), ONE);
  shop.write("mended", "");
}

async function operations(shop: Workshop, ...flags: string[]): Promise<readonly OperationJson[]> {
  const { operations: listed } = await shop.json<{ operations: OperationJson[] }>("ops", "list", ...flags);
  return listed;
}

async function onlyOperation(shop: Workshop): Promise<OperationJson> {
  const [operation, ...more] = await operations(shop);
  if (operation === undefined || more.length > 0) throw new Error(`${more.length + 1} operations, not one`);
  return operation;
}

/** A retry whose first letter is running. */
async function startRetry(shop: Workshop, ...flags: string[]): Promise<RunningCli> {
  const running = shop.start(["dlq", "retry", "n", ...flags], { stdin: "" });
  await shop.untilLedger("the first has begun", (lines) => lines.length === 1);
  return running;
}

describe("ops list and ops show", () => {
  it("show what was selected, its outcome, the author, and the plan", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 3);
    shop.write("gate", "");
    const args = ["dlq", "retry", "n", "--rate", "100/s", "--max-retries", "0", "--parallel", "2"];
    await shop.run(args, { env: { REDRIVE_AUTHOR: "ann" } });
    const operation = await onlyOperation(shop);
    const books = { selected: 3, succeeded: 3, failed: 0, refused: 0, remaining: 0 };
    expect(operation).toMatchObject({ kind: "redrive", status: "ended", author: "ann", ...books });
    const shown = await shop.json<Shown>("ops", "show", operation.operation_id);
    expect(shown).toMatchObject({ ...operation, refusals: [] });
    expect(shown.plan).toEqual({ rate: "100/s", max_retries: 0, parallel: 2 });
    expect(shown.letters.map(({ status }) => status)).toEqual(["done", "done", "done"]);
    const { stdout } = await shop.run(["ops", "show", operation.operation_id]);
    expect(stdout).toContain("at most 100/s; 2 at a time; no retries");
    expect(stdout).toContain("3 letters: 3 succeeded, 0 failed again, 0 refused, 0 left");
    const list = await shop.run(["ops"]);
    expect(list.stdout).toMatch(
      new RegExp(`${operation.operation_id} +redrive +ended +3 +3 +0 +0 +0 .* ann\\n`),
    );
  });

  it("count what was refused by its reason", async () => {
    const shop = openWorkshop();
    await shop.map(["a", "b"], 'echo "permission denied" >&2; exit 77', ONE);
    await shop.run(["dlq", "retry", "n"]);
    const { operation_id } = await onlyOperation(shop);
    const shown = await shop.json<Shown>("ops", "show", operation_id);
    expect(shown).toMatchObject({
      selected: 2,
      refused: 2,
      refusals: [
        {
          reason: "not eligible: it needs manual review, cannot succeed unchanged, or failed too often",
          count: 2,
        },
      ],
    });
    expect(shown.letters).toMatchObject([
      {
        status: "refused",
        reason: "not eligible: it needs manual review, cannot succeed unchanged, or failed too often",
      },
      {
        status: "refused",
        reason: "not eligible: it needs manual review, cannot succeed unchanged, or failed too often",
      },
    ]);
    expect((await shop.run(["ops", "show", operation_id])).stdout).toContain(
      "Refused\n  2  not eligible: it needs manual review, cannot succeed unchanged, or failed too often\n",
    );
  });

  it("--open and --job select; the newest is first", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 2);
    await shop.map(["x"], "false", ["--retries", "0", "--name", "other"]);
    shop.write("gate", "");
    await shop.run(["dlq", "retry", "other"]);
    await shop.run(["dlq", "retry", "n", "--detach"]);
    const all = await operations(shop);
    expect(all.map(({ status }) => status)).toEqual(["open", "ended"]);
    expect((await operations(shop, "--open")).map(({ job_id }) => job_id)).toEqual([all[0]?.job_id]);
    expect((await operations(shop, "--job", "other")).map(({ job_id }) => job_id)).toEqual([all[1]?.job_id]);
    expect((await shop.run(["ops", "list", "--job", "nobody"])).code).toBe(4);
  });

  it("are empty at first", async () => {
    const shop = openWorkshop();
    expect((await shop.run(["ops"])).stdout).toBe("No operations.\n");
    expect((await shop.run(["ops", "list", "--open"])).stdout).toBe("No open operations.\n");
    expect(await operations(shop)).toEqual([]);
    expect((await shop.run(["ops", "resume"])).code).toBe(4);
  });
});

describe("naming an operation", () => {
  it("by a prefix works, with or without op-; several are listed", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 2);
    for (const item of await shop.letters()) await shop.run(["dlq", "retry", "n", item.item_id, "--detach"]);
    const [first] = await operations(shop);
    const id = first?.operation_id ?? "";
    for (const name of [id.slice(0, 9), id.slice(3)])
      expect((await shop.json<Shown>("ops", "show", name)).operation_id).toBe(id);
    const several = await shop.run(["ops", "show", "op-", "--json"]);
    expect([several.code, several.json<ErrorJson>().error.code]).toEqual([2, "ambiguous"]);
    const open = await shop.run(["ops", "resume", "--json"]);
    expect(open.json<ErrorJson>().error.message).toMatch(
      /2 operations have not ended: op-\w+ \(redrive of n-\w+\), op-/,
    );
  });
});

describe("ops pause", () => {
  it("stops a retry of another process, which reports that and waits; ops resume continues, and both end well", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 3);
    const running = await startRetry(shop, "--parallel", "1");
    const { operation_id: id } = await onlyOperation(shop);
    const paused = await shop.run(["ops", "pause", id]);
    expect(paused.stdout).toMatch(new RegExp(`${id}.*3 letters.*redrive ops resume ${id}\n`));
    await running.untilStderr(`${id} is paused`);
    shop.write("gate", "");
    await until("the one that ran has come to its end", async () => (await shop.letters()).length === 2);
    expect(shop.ledger).toHaveLength(1);
    expect(await onlyOperation(shop)).toMatchObject({ status: "paused", succeeded: 1 });
    const resumed = await shop.run(["ops", "resume", id, "--json"]);
    expect(resumed.json<OperationJson>()).toMatchObject({ status: "ended", succeeded: 3, remaining: 0 });
    expect((await running.ended).code).toBe(0);
    expect([...shop.ledger].sort()).toEqual(["1", "2", "3"]);
    expect(await shop.check()).toBe(SOUND);
  });

  it("paused and left with Ctrl-C, it stays paused, and resume of the job leaves it so", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 3);
    shop.write("gate", "");
    const running = shop.start(["dlq", "retry", "n", "--delay", "1h"], { stdin: "" });
    await running.untilStderr("Starting in ");
    const { operation_id: id } = await onlyOperation(shop);
    await shop.run(["ops", "pause", id]);
    await running.untilStderr(`${id} is paused`);
    running.signal("SIGINT");
    expect((await running.ended).code).toBe(130);
    await shop.run(["resume", "n", "--no-dlq"]);
    expect(await onlyOperation(shop)).toMatchObject({ status: "paused", redriven: 0 });
    expect(shop.ledger).toEqual([]);
  });
});

describe("ops cancel", () => {
  it("ends a retry of another process: running items finish, and letters that were not started stay", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 4);
    const running = await startRetry(shop, "--parallel", "1", "--json");
    const { operation_id: id } = await onlyOperation(shop);
    const cancelled = await shop.run(["ops", "cancel", id, "--json"]);
    expect(cancelled.json<OperationJson>()).toMatchObject({ status: "cancelled", refused: 3 });
    shop.write("gate", "");
    const { code, json } = await running.ended;
    expect(code).toBe(3);
    expect(json<OperationJson>()).toMatchObject({
      status: "cancelled",
      succeeded: 1,
      refused: 3,
      remaining: 0,
    });
    expect(shop.ledger).toHaveLength(1);
    expect((await shop.letters()).map(({ state }) => state)).toEqual(["dead", "dead", "dead"]);
    const shown = await shop.json<Shown>("ops", "show", id);
    expect(shown.refusals).toEqual([{ reason: "the operation was cancelled", count: 3 }]);
    expect((await shop.run(["dlq", "retry", "n", "--json"])).json<OperationJson>()).toMatchObject({
      succeeded: 3,
    });
    expect(await shop.check()).toBe(SOUND);
  });

  it("an ended operation can be neither cancelled nor paused", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 1);
    shop.write("gate", "");
    await shop.run(["dlq", "retry", "n"]);
    const { operation_id: id } = await onlyOperation(shop);
    for (const verb of ["pause", "cancel"]) {
      const { code, stderr } = await shop.run(["ops", verb, id]);
      expect([code, stderr]).toEqual([5, expect.stringContaining(`${id} has already ended.`)]);
    }
    const resumed = await shop.run(["ops", "resume", id, "--json"]);
    expect(resumed.json<OperationJson>()).toMatchObject({ status: "ended", succeeded: 1 });
    expect(shop.ledger).toHaveLength(1);
  });
});

describe("ops resume", () => {
  it("continues a retry that Ctrl-C ended, with its plan", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 3);
    const running = await startRetry(shop, "--parallel", "1");
    running.signal("SIGINT");
    const { code, stdout } = await running.ended;
    expect(code).toBe(130);
    const { operation_id: id } = await onlyOperation(shop);
    expect(stdout).toContain(`redrive ops resume ${id}`);
    const again = shop.start(["ops", "resume", "--json"], { stdin: "" });
    await shop.untilLedger("one has begun", (lines) => lines.length === 2);
    expect((await shop.letters()).filter(({ state }) => state === "leased")).toHaveLength(1);
    shop.write("gate", "");
    expect((await again.ended).json<OperationJson>()).toMatchObject({ operation_id: id, succeeded: 3 });
    expect(await operations(shop)).toHaveLength(1);
    expect(await shop.json("status", "n")).toMatchObject({ status: "completed", succeeded: 3, remaining: 0 });
  });

  it("twice at once shares the work, and nothing is done twice", async () => {
    const shop = openWorkshop();
    await deadJob(shop, 12);
    await shop.run(["dlq", "retry", "n", "--detach"]);
    const both = [1, 2].map(() => shop.start(["ops", "resume", "--json"], { stdin: "" }));
    await shop.untilLedger("both have begun", (lines) => lines.length >= 2);
    shop.write("gate", "");
    for (const { ended } of both)
      expect((await ended).json<OperationJson>()).toMatchObject({ succeeded: 12, remaining: 0 });
    expect([...shop.ledger].sort()).toEqual(upTo(12).map(String).sort());
    expect(await shop.check()).toBe(SOUND);
  });
});
