/**
 * `redrive serve` as a process: a bulk operation survives `kill -9` of the server, and one store is changed through the command
 * line, HTTP and the library, which the audit tells apart.
 */
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/engines/open.ts";
import { open } from "../../src/library/open.ts";
import { RedriveClient } from "../../src/server/client.ts";
import { QUEUE } from "../redrive/sample-letters.ts";
import type { RunningCli } from "../support/cli.ts";
import { until } from "../support/until.ts";
import { importLetters } from "./killed-bulk.ts";
import { slowStepsAfter } from "./slow-steps.ts";
import { openWorkshop, SOUND, type Workshop } from "./workshop.ts";

interface Served {
  readonly process: RunningCli;
  readonly client: RedriveClient;
}

async function serve(shop: Workshop, token: string, more: readonly string[] = []): Promise<Served> {
  const process = shop.start(["serve", "--port", "0", "--json", ...more]);
  await process.until("it listens", () => process.stdout.includes("login_url"));
  const { url } = JSON.parse(process.stdout) as { readonly url: string };
  return { process, client: new RedriveClient({ url: `${url}/api/v1`, token }) };
}

async function newToken(shop: Workshop, name: string): Promise<string> {
  const { stdout } = await shop.run(["token", "create", "--name", name, "--role", "operator"]);
  return stdout.trim();
}

describe("redrive serve", () => {
  it("killed in the middle of a bulk operation, continues it after the restart; the same key finds it", async () => {
    const shop = openWorkshop();
    const LETTERS = 3000;
    await importLetters(shop, LETTERS);
    const token = await newToken(shop, "olga");
    const quickAgain = await slowStepsAfter(shop, 1);
    const first = await serve(shop, token);
    const held = await first.client.call("POST /selections", {
      body: { action: "discard", filter: { queue: QUEUE }, all_of_queue: true, reason: "obsolete" },
    });
    expect(held.count).toBe(LETTERS);
    const start = { body: { selection_id: held.selection_id, count: LETTERS }, idempotencyKey: "start-1" };
    const started = await first.client.call("POST /operations", start);
    const params = { operation_id: started.operation_id };
    const doneOf = async (client: RedriveClient) =>
      (await client.call("GET /operations/{operation_id}", { params })).done;
    await until("some letters are discarded", async () => (await doneOf(first.client)) > 0);
    first.process.signal("SIGKILL");
    await first.process.ended;
    await quickAgain();
    const left = await shop.run(["ops", "show", started.operation_id, "--json"]);
    expect(left.json<{ readonly done: number }>().done).toBeLessThan(LETTERS);
    expect((await shop.run(["store", "check"])).stdout).toBe(SOUND);

    const second = await serve(shop, token);
    const again = await second.client.call("POST /operations", start);
    expect(again.operation_id).toBe(started.operation_id);
    const other = second.client.call("POST /operations", { ...start, idempotencyKey: "start-2" });
    await expect(other).rejects.toMatchObject({ status: 409, code: "selection_used" });
    await until("all are discarded", async () => (await doneOf(second.client)) === LETTERS);
    const ended = await second.client.call("GET /operations/{operation_id}", { params });
    expect(ended).toMatchObject({ status: "ended", selected: LETTERS, done: LETTERS, refused: 0 });
    second.process.signal("SIGTERM");
    expect((await second.process.ended).code).toBe(0);
    expect((await shop.run(["store", "check"])).stdout).toBe(SOUND);
  });

  it("of two servers one drives an operation, and the other takes over when it is killed", async () => {
    const shop = openWorkshop();
    const LETTERS = 1500;
    await importLetters(shop, LETTERS);
    const token = await newToken(shop, "olga");
    const quickAgain = await slowStepsAfter(shop, 1);
    const first = await serve(shop, token);
    const second = await serve(shop, token);
    const { selection_id, count } = await first.client.call("POST /selections", {
      body: { action: "discard", filter: { queue: QUEUE }, all_of_queue: true, reason: "obsolete" },
    });
    await first.client.call("POST /operations", { body: { selection_id, count } });
    const params = { operation_id: selection_id };
    const doneOf = async () => (await second.client.call("GET /operations/{operation_id}", { params })).done;
    const store = await openStore(shop.storeUrl);
    onTestFinished(() => store.close());
    const driver = async () => {
      const document = await store.readDocument("server/operations");
      const { leases } = (document?.body ?? { leases: {} }) as {
        readonly leases: Record<string, { by: string }>;
      };
      return leases[selection_id]?.by;
    };
    await until("some letters are discarded", async () => (await doneOf()) > 0);
    const by = await driver();
    expect(by).toBeDefined();
    first.process.signal("SIGKILL");
    await first.process.ended;
    await quickAgain();
    const left = await doneOf();
    expect(left).toBeLessThan(LETTERS);
    await until("the other server has taken over", async () => {
      const now = await driver();
      return (now !== undefined && now !== by) || (await doneOf()) === LETTERS;
    });
    await until("all are discarded", async () => (await doneOf()) === LETTERS);
    second.process.signal("SIGTERM");
    expect((await second.process.ended).code).toBe(0);
    expect((await shop.run(["store", "check"])).stdout).toBe(SOUND);
  });

  it("one store is changed by command, HTTP and library, and the audit has author and interface", async () => {
    const shop = openWorkshop();
    await importLetters(shop, 4);
    const { process, client } = await serve(shop, await newToken(shop, "olga"));
    const params = { queue: QUEUE, item_id: "o1" };
    await client.call("POST /letters/{queue}/{item_id}/discard", {
      params,
      body: { reason: "seen over HTTP" },
    });
    const env = { REDRIVE_AUTHOR: "carl" };
    await shop.run(["dlq", "discard", "o2", "--job", QUEUE, "--reason", "by command", "--yes"], { env });
    const redrive = await open(shop.storeUrl, { author: "lib" });
    await redrive.letters({ queue: QUEUE, ids: ["o3"] }).discard({ reason: "by a program" });
    await redrive.close();
    const { entries } = await client.call("GET /audit");
    expect(entries.slice(0, 3).map(({ author, via, action }) => [author, via, action])).toEqual([
      ["lib", "library", "dlq_items_discarded"],
      ["carl", "cli", "dlq_items_discarded"],
      ["olga", "api", "dlq_items_discarded"],
    ]);
    const printed = await shop.run(["audit", "--json"]);
    expect(JSON.parse(printed.stdout).entries.slice(0, 3)).toEqual(entries.slice(0, 3));
    process.signal("SIGTERM");
    expect((await process.ended).code).toBe(0);
  });

  it("refuses the requests of a token that sends too many", async () => {
    const shop = openWorkshop();
    const { process, client } = await serve(shop, await newToken(shop, "olga"), ["--rate-limit", "1"]);
    const answers = await Promise.allSettled(Array.from({ length: 40 }, () => client.call("GET /overview")));
    expect(answers[0]?.status).toBe("fulfilled");
    expect(answers.filter(({ status }) => status === "rejected")).toContainEqual({
      status: "rejected",
      reason: expect.objectContaining({ code: "rate_limited", status: 429 }),
    });
    process.signal("SIGTERM");
    expect((await process.ended).code).toBe(0);
  });

  it("refuses other machines without TLS, and without a token", async () => {
    const shop = openWorkshop();
    const open = await shop.run(["serve", "--host", "0.0.0.0", "--port", "0"]);
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining("TLS")]);
    const nobody = await shop.run(["serve", "--host", "0.0.0.0", "--port", "0", "--behind-proxy"]);
    expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining("token")]);
  });
});
