/**
 * Fail-over of PostgreSQL: a primary, a hot standby that is not promoted yet, and a virtual address that moves
 * between them.
 */
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../support/postgres-server.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { openWorkshop, SOUND } from "./workshop.ts";

let primary: PostgresServer;
let standby: PostgresServer;

beforeAll(async () => {
  primary = await PostgresServer.make();
  standby = await primary.makeStandby();
}, 120_000);

afterAll(async () => {
  await standby?.remove();
  await primary?.remove();
});

const STACK = /\n +at /;

async function ask(url: string, sql: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe("a store on a primary with a standby", () => {
  it("is found by a URL with several hosts, in any order", async () => {
    const shop = openWorkshop({ onPostgres: false });
    const hosts = [standby, primary].map(({ url }) => new URL(url).host).join();
    const env = { REDRIVE_STORE: `postgres://postgres@${hosts}/postgres?schema=hosts` };
    expect(await shop.run(["queue", "create", "q"], { env })).toMatchObject({ code: 0 });
    expect(await shop.run(["queue", "add", "q", "--data", "1"], { env })).toMatchObject({ code: 0 });
    const worker = ["worker", "--queue", "q", "--drain", "--quiet", "--", "true"];
    expect(await shop.run(worker, { env })).toMatchObject({ code: 0 });
    const any = { REDRIVE_STORE: `${env.REDRIVE_STORE}&target_session_attrs=any` };
    expect(await shop.run(["queue", "add", "q", "--data", "2"], { env: any })).toMatchObject({ code: 75 });
  }, 120_000);

  it("survives a virtual address that reaches the standby before it is promoted", async () => {
    const proxy = await TcpProxy.before(primary.url);
    onTestFinished(() => proxy.close());
    const shop = openWorkshop({ onPostgres: false });
    const env = { REDRIVE_STORE: `${proxy.through(primary.url)}?schema=moved` };
    await shop.run(["queue", "create", "q"], { env });
    for (const data of ["1", "2", "3"]) await shop.run(["queue", "add", "q", "--data", data], { env });
    const script = `echo "$1" >> ${shop.ledgerPath}; while [ ! -e ${shop.path("gate")} ]; do sleep 0.02; done`;
    const command = ["--", "sh", "-c", script, "sh", "{}"];
    const worker = shop.start(["worker", "--queue", "q", "-j", "1", "--drain", ...command], { env });
    await shop.untilLedger("the first item runs", (lines) => lines.length === 1);

    proxy.moveTo(standby.url);
    shop.write("gate", "");
    await worker.untilStderr("read-only");
    for (const args of [
      ["queue", "add", "q", "--data", "4"],
      ["queue", "list"],
      ["dlq", "list"],
      ["map", "--", "true"],
    ]) {
      const { code, stderr } = await shop.run(args, { env, stdin: "x\n" });
      expect([args, code, stderr]).toEqual([args, 75, expect.stringContaining("read-only")]);
      expect(stderr).not.toMatch(STACK);
    }

    await primary.stop(); // sends the standby what it has not received yet
    await ask(standby.url, "SELECT pg_promote()");
    await until("the standby is promoted", async () => {
      const [row] = await ask(standby.url, "SELECT pg_is_in_recovery() AS waits");
      return JSON.stringify(row) === '{"waits":false}';
    });
    const { code, stderr } = await worker.ended;
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(STACK)]);
    expect([...new Set(shop.ledger)].sort()).toEqual(["1", "2", "3"]);
    expect((await shop.run(["store", "check"], { env })).stdout).toBe(SOUND);
  }, 120_000);
});
