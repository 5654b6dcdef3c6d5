/** Refused receipts: letters that are sent again, receipts.json, the metrics, and no token anywhere. */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fillUp, mountSmall, NO_MOUNTS } from "../support/mounts.ts";
import { until } from "../support/until.ts";
import {
  type EntryJson,
  entriesIn,
  metrics,
  NOWHERE,
  openGate,
  REFUSED,
  receipt,
  recover,
  sendMany,
  sendOne,
  target,
} from "./gate.ts";
import { asJsonLines, type ErrorJson, type OperationJson, openWorkshop, SOUND } from "./workshop.ts";

const because = NO_MOUNTS === null ? "" : ` (skipped: ${NO_MOUNTS})`;

describe("redrive receipts recover", () => {
  it("sends refused receipts again: those that succeed leave, the others are logged and kept", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    const sent = await sendMany(shop, 3, "--key-field", "task_id");
    expect(sent.code).toBe(3);
    expect(sent.stdout).toContain("dead       t-1  HTTP 422 Unprocessable Entity: no such task");
    expect((await recover(shop, "--dry-run", "--json")).json<OperationJson>()).toMatchObject({
      operation_id: null,
      selected: 3,
      refused: 0,
    });
    expect(server.ledger.filter(({ method }) => method === "POST").length).toBe(3);
    server.otherwise = ({ key }, response) => void response.writeHead(key === "t-2" ? 422 : 200).end();
    const again = await recover(shop);
    expect(again.code).toBe(3);
    expect(again.stdout).toContain("3 letters of gate: 2 succeeded, 1 failed again.");
    expect(again.stderr).toContain("t-2 was not delivered");
    expect((await shop.letters("--queue", "gate")).map(({ item_id }) => item_id)).toEqual(["t-2"]);
    server.otherwise = 200;
    expect((await recover(shop, "--yes", "--json")).json<OperationJson>()).toMatchObject({
      ...{ selected: 1, redriven: 1, succeeded: 1, failed: 0, refused: 0, remaining: 0 },
    });
    expect((await recover(shop)).stdout).toBe("gate has no letters.\n");
    expect(await shop.check()).toBe(SOUND);
  });

  it("`dlq retry` delivers too, with corrected data under its own key", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    await sendMany(shop, 2, "--key-field", "task_id");
    await shop.run(["dlq", "edit", "t-2", "--set", 'status="done"', "--yes"]);
    server.otherwise = 200;
    const retried = await shop.run(["dlq", "retry", "gate", "--force", "--json"]);
    expect(retried.json<OperationJson>()).toMatchObject({ selected: 2, succeeded: 2, remaining: 0 });
    expect(server.ledger.slice(2).map(({ key, body }) => [key, JSON.parse(body)])).toEqual(
      expect.arrayContaining([
        ["t-1", receipt(1)],
        ["t-2.r2", { ...receipt(2), status: "done" }],
      ]),
    );
  });

  it("waits with --on-outage wait while the target is down in the middle of it, and continues", async () => {
    const { shop, server } = await openGate("--on-outage", "wait");
    server.otherwise = REFUSED;
    await sendMany(shop, 3);
    server.otherwise = ({ method }, response) => void response.writeHead(method === "HEAD" ? 200 : 503).end();
    const recovering = shop.start(["receipts", "recover", "gate", "--quiet"], { stdin: "" });
    await recovering.untilStderr("gate does not accept receipts now (HTTP 503");
    server.otherwise = 200;
    const { code, stdout } = await recovering.ended;
    expect([code, stdout]).toEqual([0, "3 letters of gate: 3 succeeded, 0 failed again.\n"]);
  });

  it("reports that the target cannot be reached, exits with 75 and changes nothing", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    await sendMany(shop, 2);
    const before = await shop.letters();
    await shop.run(["receipts", "target", "gate", "--url", NOWHERE]);
    const gone = await recover(shop);
    expect(gone.code).toBe(75);
    expect(gone.stderr).toMatch(
      /gate cannot be reached: .*ECONNREFUSED.* Nothing was changed; 2 letters wait/,
    );
    expect((await recover(shop, "--json")).json<ErrorJson>().error.code).toBe("target_unreachable");
    expect(await shop.letters()).toEqual(before);
    expect((await shop.json<{ operations: unknown[] }>("ops", "list")).operations).toEqual([]);
    await shop.run(["receipts", "target", "gate", "--url", server.url]);
    await shop.run(["receipts", "pause", "gate", "--reason", "a bad token"]);
    const paused = await recover(shop);
    expect(paused.code).toBe(75);
    expect(paused.stderr).toContain("a bad token");
  });

  it("runs a canary, and obeys its rate", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    await sendMany(shop, 5);
    const canary = await recover(shop, "--canary");
    expect(canary.code).toBe(3);
    expect(canary.stderr).toContain("The canary stopped");
    expect(server.ledger.filter(({ method }) => method === "POST").length).toBe(6);
    server.otherwise = 200;
    const begun = performance.now();
    expect((await recover(shop, "--rate", "5/s")).code).toBe(0);
    expect(performance.now() - begun).toBeGreaterThan(700); // four waits of a fifth of a second
  });

  it("is continued after kill -9, by `ops resume` and by another recover, and accounts for all", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    await sendMany(shop, 30, "--key-field", "task_id");
    server.ledger.length = 0;
    let answered = 0;
    server.otherwise = (_, response) => {
      answered += 1;
      if (answered <= 10) response.writeHead(200).end(); // the others get no answer
    };
    const posts = () => server.ledger.filter(({ method }) => method === "POST");
    const killed = shop.start(["receipts", "recover", "gate"], { stdin: "" });
    await until("some were sent", () => posts().length >= 15);
    killed.signal("SIGKILL");
    await killed.ended;
    server.otherwise = 200;
    const resumed = await shop.run(["ops", "resume", "--json"]);
    expect(resumed.json<OperationJson>()).toMatchObject({
      selected: 30,
      succeeded: 30,
      failed: 0,
      remaining: 0,
    });
    expect(resumed.code).toBe(0);
    expect(new Set(posts().map(({ key }) => key)).size).toBe(30);
    expect((await target(shop)).counts).toMatchObject({ done: 30, dead: 0, letters: 0 });

    server.otherwise = REFUSED;
    await shop.run(["receipts", "send", "gate", "--key-field", "id"], {
      stdin: asJsonLines([{ id: "a" }, { id: "b" }]),
    });
    server.otherwise = ({ method }, response) => void (method === "HEAD" && response.writeHead(200).end());
    const second = shop.start(["receipts", "recover", "gate"], { stdin: "" });
    await until("they were sent", () => posts().filter(({ key }) => key === "b").length >= 2);
    second.signal("SIGKILL");
    await second.ended;
    server.otherwise = 200;
    const { stderr, code } = await recover(shop);
    expect(stderr).toMatch(/op-\w+/);
    expect(code).toBe(0);
    expect((await target(shop)).counts).toMatchObject({ dead: 0, letters: 0, ready: 0 });
    expect(await shop.check()).toBe(SOUND);
  });

  it("ends when the target refuses our token; the letters stay ready", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    await sendMany(shop, 3);
    server.otherwise = ({ method }, response) => void response.writeHead(method === "HEAD" ? 200 : 401).end();
    const { code, stderr } = await recover(shop);
    expect(code).toBe(75);
    expect(stderr).toMatch(/gate is paused since .*HTTP 401/);
    server.otherwise = 200;
    await shop.run(["receipts", "resume", "gate"]);
    expect((await recover(shop)).code).toBe(0);
    expect((await target(shop)).counts).toMatchObject({ done: 3, letters: 0 });
  });
});

describe("receipts.json", () => {
  const ENTRY = { receipt: receipt(1), failed_at: "2024-01-15T10:30:45.000Z", attempts: 5 };
  const SAME_LEASE = { ...ENTRY, receipt: receipt(2), attempts: 7 };

  it("pitfalls 33, 34 and 37: every entry of a lease is imported with its real count, delivered or kept, and exported again", async () => {
    const { shop, server } = await openGate();
    shop.write("receipts.json", JSON.stringify([ENTRY, SAME_LEASE]));
    const imported = await shop.run(["dlq", "import", "receipts.json", "--job", "gate", "--json"]);
    expect(imported.json()).toMatchObject({ imported: 2 });
    await shop.run(["dlq", "export", "again.json", "--format", "receipts", "--queue", "gate"]);
    expect(entriesIn(shop.path("again.json"))).toEqual([ENTRY, SAME_LEASE]);
    server.otherwise = ({ body }, response) =>
      void response.writeHead(body.includes('"t-1"') || body === "" ? 200 : 422).end();
    expect((await recover(shop)).code).toBe(3);
    const { stdout } = await shop.run([
      "dlq",
      "export",
      "-",
      "--format",
      "receipts",
      "--queue",
      "gate",
      "--json",
    ]);
    const [left, ...others] = JSON.parse(stdout) as readonly EntryJson[];
    expect(others).toEqual([]);
    expect(left).toMatchObject({ receipt: receipt(2), attempts: 8 });
    expect(left?.failed_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await shop.run(["dlq", "import", "again.json", "--job", "gate", "--json"])).json()).toMatchObject(
      {
        imported: 0,
      },
    );
  });

  it("keeps a key that does not follow from the receipt, so that the server recognises it elsewhere", async () => {
    const { shop, server } = await openGate();
    server.otherwise = REFUSED;
    await sendOne(shop, 1, "--key", "k-1");
    await shop.run(["dlq", "export", "r.json", "--format", "receipts"]);
    expect(entriesIn(shop.path("r.json"))).toMatchObject([{ receipt: receipt(1), idempotency_key: "k-1" }]);
    const other = openWorkshop();
    await other.run(["receipts", "target", "gate", "--url", server.url]);
    await other.run(["dlq", "import", shop.path("r.json"), "--job", "gate"]);
    server.otherwise = 200;
    expect((await other.run(["receipts", "recover", "gate"])).code).toBe(0);
    expect(server.keys.at(-1)).toBe("k-1");
  });

  it("is mirrored while receipts are sent, delivered and recovered, and is complete whenever it is read", async () => {
    const { shop, server } = await openGate();
    const path = shop.path("receipts.json");
    server.otherwise = REFUSED;
    await sendMany(shop, 2, "-j", "1", "--mirror", "receipts.json");
    expect(entriesIn(path)).toMatchObject([{ receipt: receipt(1), attempts: 1 }, { receipt: receipt(2) }]);
    const delivering = shop.start(["receipts", "deliver", "gate", "--mirror", "receipts.json"], {
      stdin: "",
    });
    await sendOne(shop, 3, "--no-wait");
    await until("the mirror has the third", () => entriesIn(path).length === 3);
    delivering.signal("SIGTERM");
    await delivering.ended;
    server.otherwise = 200;
    await recover(shop, "--mirror", "receipts.json");
    expect(entriesIn(path)).toEqual([]);
    expect(readdirSync(shop.home).filter((name) => name.startsWith(".draft"))).toEqual([]);
  });

  it("pitfall 34: a mirror that cannot be written is reported, the old one stays, and receipts are delivered", async () => {
    const { shop, server } = await openGate();
    shop.write("old.json", "[]\n");
    const folder = shop.path("gone");
    server.otherwise = REFUSED;
    const { code, stderr } = await sendMany(shop, 2, "--mirror", join(folder, "receipts.json"));
    expect(code).toBe(3);
    expect(stderr).toMatch(/receipts\.json could not be written: ENOENT.*the store has every letter/);
    expect(shop.read("old.json")).toBe("[]\n");
    expect((await shop.letters()).length).toBe(2);
  });

  it.skipIf(NO_MOUNTS !== null)(
    `pitfall 34: on a full disk the old mirror stays whole${because}`,
    async () => {
      const { shop, server } = await openGate();
      mountSmall(shop.path("small"), 64 * 1024);
      const path = shop.path("small/receipts.json");
      server.otherwise = REFUSED;
      await sendOne(shop, 1, "--mirror", path);
      const before = readFileSync(path, "utf8");
      fillUp(shop.path("small/ballast"));
      const { code, stderr } = await sendMany(shop, 50, "--mirror", path);
      expect(code).toBe(3);
      expect(stderr).toContain("could not be written: ENOSPC");
      expect(readFileSync(path, "utf8")).toBe(before);
      expect(readdirSync(shop.path("small")).sort()).toEqual(["ballast", "receipts.json"]);
      rmSync(shop.path("small/ballast"));
      await recover(shop, "--mirror", path);
      expect(entriesIn(path).length).toBe(50);
    },
  );
});

describe("receipts and the outside", () => {
  it("pitfall 40: metrics are right after a restart, under the names of the source", async () => {
    const { shop, server } = await openGate("--retries", "1");
    server.say(500);
    await sendOne(shop, 1);
    server.otherwise = REFUSED;
    await sendMany(shop, 3);
    const told = await metrics(shop);
    expect(told).toMatchObject({
      'cognigate_receipts_total{status="delivered",success="true"}': 1,
      'cognigate_receipts_total{status="server_error",success="false"}': 1,
      'cognigate_receipts_total{status="refused",success="false"}': 2,
      'cognigate_receipts_total{status="auth",success="false"}': 0,
      cognigate_receipt_retries_total: 1,
      'cognigate_dead_letter_queue_size{queue="gate"}': 2,
      'cognigate_receipts_in_flight{target="gate"}': 0,
      cognigate_receipt_duration_seconds_count: 4,
      'cognigate_receipt_duration_seconds_bucket{le="+Inf"}': 4,
    });
    expect(told['cognigate_dead_letter_oldest_age_seconds{queue="gate"}']).toBeGreaterThanOrEqual(0);
    const { receipts, receipt_retries } = await shop.json<{ receipts: object; receipt_retries: number }>(
      "metrics",
    );
    expect([receipts, receipt_retries]).toMatchObject([{ delivered: 1, refused: 2 }, 1]);
  });

  it("reveals no token: not in the store, a log, a file, stdout or stderr", async () => {
    const { shop, server } = await openGate(
      "--token-env",
      "GATE_TOKEN",
      "--retries",
      "0",
      "--breaker",
      "none",
    );
    const token = "tok-Zx81-not-to-be-seen";
    const env = { GATE_TOKEN: token };
    let said = "";
    const run = async (...words: string[]) => {
      const { stdout, stderr } = await shop.run(words, { env });
      said += stdout + stderr;
    };
    // The server repeats what it was sent, in every place of its answer.
    server.otherwise = ({ headers }, response) =>
      void response
        .writeHead(422, { "content-type": "application/json" })
        .end(JSON.stringify({ error: `who is ${headers.authorization}?`, echo: headers }));
    await run("receipts", "send", "gate", "--data", '{"n":1}', "--mirror", "mirror.json");
    server.otherwise = (_, response) => void response.writeHead(500).end(`no ${token}`);
    await run("receipts", "send", "gate", "--data", '{"n":2}');
    server.otherwise = (_, response) =>
      void response.writeHead(302, { location: `http://x/?t=${token}` }).end();
    await run("receipts", "send", "gate", "--data", '{"n":3}', "--json");
    server.otherwise = (_, response) => void response.writeHead(401).end(token);
    await run("receipts", "recover", "gate");
    await run("receipts", "send", "gate", "--data", '{"n":4}');
    for (const words of [
      ["receipts"],
      ["receipts", "target", "gate"],
      ["receipts", "list", "gate"],
      ["metrics"],
    ])
      await run(...words);
    for (const words of [
      ["dlq", "list"],
      ["errors"],
      ["events"],
      ["groups"],
      ["ops", "list"],
      ["dlq", "analyze"],
    ])
      await run(...words, "--json");
    await run("dlq", "export", "letters.json");
    await run("dlq", "mirror");
    expect(server.ledger.every(({ headers }) => headers.authorization === `Bearer ${token}`)).toBe(true);
    expect(said).toContain("who is Bearer ***?");
    expect(said).not.toContain(token);
    for (const path of filesIn(shop.home)) expect(readFileSync(path).includes(token), path).toBe(false);
  });

  it("reports a missing token, and sends nothing without it", async () => {
    const { shop, server } = await openGate("--token-env", "GATE_TOKEN");
    const { code } = await sendOne(shop, 1, "--wait", "1s");
    expect(code).toBe(75);
    expect(server.ledger).toEqual([]);
    const log = await shop.json<{ errors: { message?: string; error_message?: string }[] }>("errors");
    expect(JSON.stringify(log)).toContain("GATE_TOKEN");
  });
});

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => statSync(path).isFile());
}
