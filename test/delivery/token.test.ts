/** The token of a target: read at every try, sent to nobody else, and seen nowhere. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { readToken } from "../../src/delivery/token.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { until } from "../support/until.ts";
import { DeliveryKit, RECEIPT, TARGET } from "./delivery-kit.ts";
import { ReceiptServer } from "./receipt-server.ts";

const SECRET = "s3cr3t/token+of=ours";
const directory = new TemporaryDirectory();
let kit: DeliveryKit;
let env: Record<string, string>;
beforeEach(async () => {
  kit = await DeliveryKit.open();
  env = { GATE_TOKEN: SECRET };
});
afterEach(() => kit.close());
afterAll(() => directory.remove());

const target = (options = {}) => kit.target({ token: { env: "GATE_TOKEN" }, env, ...options });
const authorizations = () => kit.server.ledger.map(({ headers }) => headers.authorization);
const pauseOf = async () => (await kit.engine.findJob(TARGET))?.pause;

describe("a token", () => {
  it("is read from the environment and sent as a bearer token", async () => {
    expect(await target().send(RECEIPT)).toBe(true);
    expect(authorizations()).toEqual([`Bearer ${SECRET}`]);
  });

  it("is read from a file, again for every attempt", async () => {
    const file = join(directory.path, "token");
    writeFileSync(file, "first-token\n");
    const sender = target({ token: { file } });
    await sender.send({ n: 1 });
    writeFileSync(file, "second-token\n");
    await sender.send({ n: 2 });
    expect(authorizations()).toEqual(["Bearer first-token", "Bearer second-token"]);
  });

  it("that cannot be read counts no attempt and pauses nothing: the receipt waits until it can", async () => {
    const file = join(directory.path, "token");
    rmSync(file, { force: true });
    const kept = await target({ token: { file } }).send(RECEIPT, { key: "k", wait: false });
    await until("it was tried", async () => (await kit.outcomes("k")).includes("released"));
    expect(await pauseOf()).toBeUndefined();
    expect(kit.server.ledger).toEqual([]);
    const faults = await kit.engine.listEvents({
      queue: TARGET,
      types: ["runner_failed"],
      after: 0,
      limit: 10,
    });
    expect(faults[0]?.data).toMatchObject({
      message: `The token in the file ${file} cannot be used: ENOENT.`,
    });
    writeFileSync(file, SECRET);
    expect(await kept.delivered()).toBe(true);
    expect(await kit.item("k")).toMatchObject({ attemptsCounted: 0 });
  });

  it.each([
    ["", "it is empty"],
    ["abc", "fewer than 4 characters"],
    ["two\nlines", "characters that are not allowed in a header"],
  ])("%j is none", async (value, why) => {
    await expect(readToken({ env: "X" }, { X: value })).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining(why),
    });
  });

  it("that is not set is named", async () => {
    await expect(readToken({ env: "X" }, {})).rejects.toMatchObject({
      message: expect.stringContaining("variable X"),
    });
    expect(await readToken(undefined, {})).toBeUndefined();
  });
});

describe("a target that refuses our credentials", () => {
  it.each([401, 403, 407])(
    "%i pauses the target; its receipts wait without an attempt, and continue after a resume",
    async (status) => {
      kit.server.otherwise = { status, body: { message: "who are you?" } };
      const sender = target({ retries: 0 });
      const sending = [1, 2, 3].map((n) => sender.send({ n }, { key: `k${n}` }));
      await until("it is paused", async () => (await pauseOf()) !== undefined);
      expect(await pauseOf()).toMatchObject({ reason: expect.stringContaining(`HTTP ${status}`) });
      await until("nothing is on its way", async () => (await sender.counts()).leased === 0);
      const tries = kit.server.ledger.length;
      expect(await sender.counts()).toMatchObject({ ready: 3, dead: 0 });
      expect((await kit.statuses()).auth).toBe(tries);
      env.GATE_TOKEN = "another-token";
      kit.server.otherwise = 200;
      await sender.resume();
      expect(await Promise.all(sending)).toEqual([true, true, true]);
      expect(await kit.item("k1")).toMatchObject({ attemptsCounted: 0 });
      expect(authorizations().at(-1)).toBe("Bearer another-token");
    },
  );

  it("a token that was changed while the receipt was being sent pauses nothing", async () => {
    kit.server.say((_entry, response) => {
      env.GATE_TOKEN = "another-token";
      response.writeHead(401).end();
    });
    expect(await target().send(RECEIPT, { key: "k" })).toBe(true);
    expect(await pauseOf()).toBeUndefined();
    expect(authorizations()).toEqual([`Bearer ${SECRET}`, "Bearer another-token"]);
    expect(await kit.item("k")).toMatchObject({ attemptsCounted: 0 });
  });

  it("a JSON-RPC error with that meaning inside 200 pauses too", async () => {
    kit.server.otherwise = {
      status: 200,
      body: {
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32000, message: "no", data: { code: "token_expired" } },
      },
    };
    const kept = await target().send(RECEIPT, { wait: false });
    await until("it is paused", async () => (await pauseOf()) !== undefined);
    expect(await kit.item(kept.key)).toMatchObject({ attemptsCounted: 0 });
  });
});

describe("a token is never revealed", () => {
  it("to another host by a redirect", async () => {
    const other = await ReceiptServer.open();
    kit.server.say({ status: 307, headers: { location: other.url } });
    expect(await target().send(RECEIPT)).toBe(false);
    expect(other.ledger).toEqual([]);
    await other.close();
  });

  it("in letters, failures, events, pauses, counters and settings, however the server repeats it", async () => {
    const echo = ({ headers }: { headers: { authorization?: string | undefined } }) => ({
      message: `bad token ${headers.authorization}`,
      again: encodeURIComponent(SECRET),
    });
    kit.server.say(
      (entry, response) =>
        void response.writeHead(500, { "content-type": "application/json" }).end(JSON.stringify(echo(entry))),
      (_entry, response) => void response.writeHead(500).end(`plain ${SECRET}`),
      (_entry, response) => {
        response.writeHead(500, { "content-length": "1000" }).write(`torn ${SECRET.slice(0, 12)}`);
        setTimeout(() => response.destroy(), 50);
      },
      { status: 302, headers: { location: `https://login.example/?token=${encodeURIComponent(SECRET)}` } },
      (entry, response) =>
        void response.writeHead(401, SECRET.replaceAll(/[^\w]/g, "-")).end(JSON.stringify(echo(entry))),
    );
    const sender = target({ breaker: null });
    expect(await sender.send(RECEIPT, { key: "k" })).toBe(false);
    await sender.send({ n: 2 }, { wait: false });
    await until("it is paused", async () => (await pauseOf()) !== undefined);
    const { ref } = await kit.item("k");
    const seen = JSON.stringify([
      await kit.engine.findJob(TARGET),
      await kit.engine.listAttempts(ref),
      await kit.engine.readLetter(ref),
      await kit.engine.listEvents({ after: 0, limit: 1000 }),
      await kit.engine.listErrors({ limit: 100 }),
      await kit.engine.listGroups({}),
      await kit.engine.listCounters(),
    ]);
    expect(seen).toContain("bad token Bearer ***");
    expect(seen).toContain("plain ***");
    expect(seen).not.toContain(SECRET);
    expect(seen).not.toContain(encodeURIComponent(SECRET));
    expect(seen).not.toContain(SECRET.slice(0, 12));
  });

  it("in the error if it cannot be used", async () => {
    const file = join(directory.path, "token");
    writeFileSync(file, "secret token with blanks");
    const error = await readToken({ file }).catch((thrown: unknown) => thrown);
    expect(String(error)).not.toContain("blanks");
    rmSync(file);
  });
});
