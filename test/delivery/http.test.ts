/** Receipts over a network that fails: each fault has its meaning, and none of them loses a receipt. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HttpProtocol } from "../../src/delivery/http.ts";
import type { DeliveryOutcome } from "../../src/delivery/outcome.ts";
import { DEFAULT_TARGET, type DeliverySpec } from "../../src/delivery/target-settings.ts";
import type { Json } from "../../src/std/json.ts";
import type { Fault } from "../support/faulty-proxy.ts";
import { TemporaryDirectory } from "../support/temporary-directory.ts";
import { DeliveryKit, RECEIPT } from "./delivery-kit.ts";
import { ReceiptServer } from "./receipt-server.ts";

let kit: DeliveryKit;
let protocol: HttpProtocol;
beforeEach(async () => {
  kit = await DeliveryKit.open();
  protocol = new HttpProtocol({});
});
afterEach(async () => {
  await protocol.close();
  await kit.close();
});

/** Long enough for a busy machine, and short enough where nothing will come. */
const TIMEOUT_MS = 30_000;
const SHORT_MS = 300;

/** One try, through the faulty network unless another address is given. */
function deliver(change: Partial<DeliverySpec> = {}, receipt: Json = RECEIPT): Promise<DeliveryOutcome> {
  const settings = { ...DEFAULT_TARGET.delivery, url: kit.url, timeoutMs: TIMEOUT_MS, ...change };
  return protocol.deliver(receipt, {
    key: "k-1",
    attempt: 1,
    signal: new AbortController().signal,
    settings,
  });
}

const NOT_REACHED = {
  status: "transport_error",
  errorType: { name: "TransportError" },
  errorClass: "outage",
};
const UNKNOWN = { status: "unknown", errorType: { name: "TransportError" }, errorClass: "transient" };

describe("a network failure", () => {
  it("a refused connection: the receipt was not sent, and waits", async () => {
    await kit.proxy.refuse();
    const outcome = await deliver();
    expect(outcome).toMatchObject(NOT_REACHED);
    expect(outcome).toMatchObject({ errorType: { fields: { errno: "ECONNREFUSED" } } });
  });

  it("an unknown host name: the receipt was not sent, and waits", async () => {
    const outcome = await deliver({ url: "http://no-such-host.invalid/" });
    expect(outcome).toMatchObject(NOT_REACHED);
  });

  it.each(["reset_after_request", "drip", "half", "black_hole"] as readonly Fault[])(
    "%s: nobody knows what became of it",
    async (fault) => {
      kit.server.otherwise = { status: 200, body: { ok: true, text: "x".repeat(200) } };
      kit.proxy.fail(fault);
      expect(await deliver({ timeoutMs: SHORT_MS })).toMatchObject(UNKNOWN);
      expect(kit.server.ledger).toHaveLength(fault === "black_hole" ? 0 : 1);
    },
  );

  it("an error whose body never ends counts, because its status arrived", async () => {
    kit.server.say(
      (_entry, response) => void response.writeHead(422, { "content-type": "text/plain" }).write("no"),
    );
    expect(await deliver({ timeoutMs: SHORT_MS })).toMatchObject({
      status: "refused",
      errorType: { fields: { http_status: 422 } },
    });
  });

  it("a kept connection that was closed meanwhile is no failure: the request is repeated at once", async () => {
    expect(await deliver()).toEqual({ status: "delivered" });
    kit.proxy.fail("reset_after_request", 1);
    expect(await deliver()).toEqual({ status: "delivered" });
    expect(kit.server.keys).toEqual(["k-1", "k-1", "k-1"]);
  });

  it("an answer that is longer than allowed is not read to its end", async () => {
    kit.server.otherwise = { status: 200, body: { text: "x".repeat(5000) } };
    expect(await deliver({ answerBytesMax: 1000 })).toMatchObject({
      ...UNKNOWN,
      message: expect.stringContaining("longer than allowed"),
    });
    expect(await deliver({ answerBytesMax: 10_000 })).toEqual({ status: "delivered" });
  });

  it("an answer that is not HTTP is no answer", async () => {
    kit.server.say((_entry, response) => void response.socket?.end("SSH-2.0-OpenSSH_9.6\r\n"));
    expect(await deliver()).toMatchObject(UNKNOWN);
  });

  it("a stop ends the attempt at once", async () => {
    kit.proxy.fail("black_hole");
    const stop = new AbortController();
    const settings = { ...DEFAULT_TARGET.delivery, url: kit.url, timeoutMs: 3_600_000 };
    const trying = protocol.deliver(RECEIPT, { key: "k", attempt: 1, signal: stop.signal, settings });
    stop.abort();
    expect(await trying).toMatchObject({ message: expect.stringContaining("it was stopped") });
  });
});

describe("TLS", () => {
  const directory = new TemporaryDirectory();
  afterEach(() => directory.remove());

  it("an untrusted certificate: the receipt was not sent, and waits", async () => {
    const [key, cert] = ["key.pem", "cert.pem"].map((name) => join(directory.path, name)) as [string, string];
    const subject = ["-subj", "/CN=127.0.0.1", "-days", "1", "-nodes", "-newkey", "rsa:2048"];
    execFileSync("openssl", ["req", "-x509", ...subject, "-keyout", key, "-out", cert], { stdio: "ignore" });
    const seen: string[] = [];
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      seen.push(String(request.url));
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    expect(await deliver({ url })).toMatchObject(NOT_REACHED);
    expect(seen).toEqual([]);
    await new Promise((resolve) => server.close(resolve));
  });

  it("a service without TLS: the receipt was not sent, and waits", async () => {
    const outcome = await deliver({ url: kit.server.url.replace("http:", "https:") });
    expect(outcome).toMatchObject(NOT_REACHED);
    expect(kit.server.ledger).toEqual([]);
  });
});

describe("redirects", () => {
  const to = (location: string, status = 307) => ({ status, headers: { location } });

  it("that keep the method are followed within the same host, with the body", async () => {
    kit.server.say(to("/v2/complete"), to("/v3/complete", 308));
    expect(await deliver()).toEqual({ status: "delivered" });
    expect(kit.server.ledger.map(({ method, path, body }) => [method, path, body])).toEqual(
      ["/complete", "/v2/complete", "/v3/complete"].map((path) => ["POST", path, JSON.stringify(RECEIPT)]),
    );
  });

  it("a loop ends after three", async () => {
    kit.server.otherwise = to("/complete");
    expect(await deliver()).toMatchObject({ status: "refused", errorClass: "permanent" });
    expect(kit.server.ledger).toHaveLength(4);
  });

  it.each([301, 302, 303])("%i would turn it into a GET, and is not followed", async (status) => {
    kit.server.say(to("/v2/complete", status));
    expect(await deliver()).toMatchObject({
      status: "refused",
      message: expect.stringContaining("/v2/complete"),
    });
    expect(kit.server.ledger).toHaveLength(1);
  });

  it("to another host or port, or without an address, are not followed", async () => {
    const other = await ReceiptServer.open();
    for (const location of [
      other.url,
      "https://127.0.0.1/",
      `http://user:word@127.0.0.1:${new URL(kit.url).port}/`,
    ]) {
      kit.server.say(to(location));
      expect(await deliver(), location).toMatchObject({ status: "refused" });
    }
    kit.server.say(307);
    expect(await deliver()).toMatchObject({ status: "refused" });
    expect(other.ledger).toEqual([]);
    await other.close();
  });
});

describe("a probe of a target", () => {
  const probe = (change: Partial<DeliverySpec> = {}) =>
    protocol.probe(
      { ...DEFAULT_TARGET.delivery, url: kit.url, timeoutMs: TIMEOUT_MS, ...change },
      AbortSignal.timeout(10_000),
    );

  it("accepts any answer except that of a proxy without a server; no receipt is sent", async () => {
    expect(await probe()).toEqual({ isReachable: true, detail: "HTTP 200" });
    kit.server.otherwise = 405;
    expect(await probe()).toMatchObject({ isReachable: true });
    kit.server.otherwise = 503;
    expect(await probe()).toEqual({ isReachable: false, detail: "HTTP 503" });
    expect(new Set(kit.server.ledger.map(({ method, body }) => method + body))).toEqual(new Set(["HEAD"]));
  });

  it("without a connection fails with the reason", async () => {
    await kit.proxy.refuse();
    expect(await probe()).toMatchObject({
      isReachable: false,
      detail: expect.stringContaining("ECONNREFUSED"),
    });
  });
});

it("a URL in a receipt is never fetched", async () => {
  const other = await ReceiptServer.open();
  const receipt = {
    ...RECEIPT,
    url: other.url,
    callback_url: other.url,
    artifact_pointers: [other.url],
    $ref: other.url,
  };
  expect(await deliver({}, receipt)).toEqual({ status: "delivered" });
  expect(other.ledger).toEqual([]);
  expect(kit.server.ledger).toHaveLength(1);
  await other.close();
});
