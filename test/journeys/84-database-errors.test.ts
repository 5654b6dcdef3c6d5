/**
 * Errors of a PostgreSQL server under running processes: temporary ones are waited for, others end them with a
 * message.
 */
import { expect, it, onTestFinished } from "vitest";
import { randomName } from "../../src/std/random.ts";
import { askPostgres, postgresUrl } from "../support/postgres-stores.ts";
import { until } from "../support/until.ts";
import { openWorkshop, SOUND, type Workshop } from "./workshop.ts";

const STACK = /\n +at /;

function schemaOf(shop: Workshop): string {
  return new URL(shop.storeUrl).searchParams.get("schema") ?? "";
}

/** The arguments of a worker whose items run until the file `gate` is there. */
function gatedWorker(shop: Workshop): string[] {
  const script = `echo "$1" >> ${shop.ledgerPath}; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
  return ["worker", "--queue", "q", "-j", "1", "--drain", "--", "sh", "-c", script, "sh", "{}"];
}

async function openWithItems(): Promise<Workshop> {
  const shop = openWorkshop({ onPostgres: true });
  await shop.run(["queue", "create", "q"]);
  for (const data of ["1", "2"]) await shop.run(["queue", "add", "q", "--data", data]);
  return shop;
}

it("a worker and the metrics server continue after the schema was renamed for a while", async () => {
  const shop = await openWithItems();
  const schema = schemaOf(shop);
  const metrics = shop.start(["metrics", "--listen", "0"]);
  await metrics.untilStderr("http://");
  const [url = ""] = /http:\/\/[\d.:]+/.exec(metrics.stderr) ?? [];
  const health = async () => (await fetch(`${url}/health`)).status;
  const worker = shop.start(gatedWorker(shop));
  await shop.untilLedger("the first item runs", (lines) => lines.length === 1);
  await askPostgres(`ALTER SCHEMA ${schema} RENAME TO ${schema}_away`);
  shop.write("gate", "");
  await worker.untilStderr("unexpected error");
  expect(await health()).toBe(503);
  const { code, stderr } = await shop.run(["queue", "add", "nowhere", "--data", "1"]);
  expect([code, stderr]).toEqual([expect.any(Number), expect.not.stringMatching(STACK)]);
  await askPostgres(`DROP SCHEMA IF EXISTS ${schema} CASCADE`); // made anew by the command above
  await askPostgres(`ALTER SCHEMA ${schema}_away RENAME TO ${schema}`);
  expect(await worker.ended).toMatchObject({ code: 0, stderr: expect.not.stringMatching(STACK) });
  await until("the metrics server answers", async () => (await health()) === 200);
  expect(shop.ledger).toEqual(["1", "2"]);
  expect(await shop.check()).toBe(SOUND);
  metrics.signal("SIGTERM");
  await metrics.ended;
});

it("a worker ends when the version of the schema is raised, and writes nothing more", async () => {
  const shop = await openWithItems();
  const worker = shop.start(gatedWorker(shop));
  await shop.untilLedger("the first item runs", (lines) => lines.length === 1);
  await askPostgres(`UPDATE ${schemaOf(shop)}.store SET version = version + 1`);
  shop.write("gate", "");
  const { code, stderr } = await worker.ended;
  expect([code, stderr]).toEqual([75, expect.stringContaining("while this process used it")]);
  expect(stderr).not.toMatch(STACK);
  expect(shop.ledger).toEqual(["1"]);
});

it("a user without rights, or an unknown one, is not waited for", async () => {
  const shop = await openWithItems();
  const role = `journey_${randomName(8)}`;
  await askPostgres(`CREATE ROLE ${role} LOGIN`);
  onTestFinished(async () => {
    await askPostgres(`DROP ROLE ${role}`);
  });
  const as = (user: string) => {
    const url = new URL(postgresUrl(schemaOf(shop)));
    url.username = user;
    return { env: { REDRIVE_STORE: url.href } };
  };
  for (const [user, words] of [
    [role, "denies access to this user"],
    ["nobody_of_that_name", "rejects the user"],
  ] as const) {
    for (const args of [
      ["queue", "list"],
      ["worker", "--queue", "q", "--", "true"],
    ]) {
      const { code, stderr } = await shop.run(args, as(user));
      expect([user, args, code, stderr]).toEqual([user, args, 75, expect.stringContaining(words)]);
      expect(stderr).not.toMatch(STACK);
    }
  }
});
