/** The numbers over HTTP: what is answered, also when the store is away, and to whom. */
import { request } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { RedriveError } from "../../src/errors.ts";
import { parseListen, serveMetrics, sharedRead } from "../../src/service/metrics-server.ts";
import { metricsText } from "../../src/service/metrics-text.ts";
import { WatchedStore } from "./watch-kit.ts";

/** A server on a store that can go away. */
async function open() {
  const store = await WatchedStore.open();
  await store.queue("orders");
  await store.die("orders", 2);
  const state = { isAway: false };
  const gone = new RedriveError("store_unavailable", "the server is away");
  const engine = new Proxy(store.engine, {
    get: (target, name: "newestEvent") =>
      state.isAway && name in target ? () => Promise.reject(gone) : target[name],
  });
  const server = await serveMetrics({
    engine,
    at: { host: "127.0.0.1", port: 0 },
    text: () => metricsText(engine),
  });
  onTestFinished(() => server.close());
  const get = async (path: string, method = "GET") => {
    const response = await fetch(server.url + path, { method });
    return {
      status: response.status,
      type: response.headers.get("content-type"),
      text: await response.text(),
    };
  };
  return { state, get, server };
}

describe("the metrics server", () => {
  it("answers with the text that Prometheus reads", async () => {
    const { get } = await open();
    const { status, type, text } = await get("/metrics?x=1");
    expect([status, type]).toEqual([200, "text/plain; version=0.0.4; charset=utf-8"]);
    expect(text).toContain('redrive_dead_letter_queue_size{queue="orders"} 2\n');
  });

  it.each([
    ["evil.example:80", 421],
    ["127.0.0.1.evil.example", 421],
    ["127.evil.example", 421],
    ["localhost:9464", 200],
    ["[::1]:9464", 200],
    ["127.0.0.1", 200],
  ])("on loopback answers a request for the host %j with %i", async (host, status) => {
    const { server } = await open();
    const found = await new Promise((resolve, reject) => {
      request(`${server.url}/metrics`, { headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(found).toBe(status);
  });

  it("pitfall 40: answers 503, and no number, while the store cannot be read", async () => {
    const { state, get } = await open();
    state.isAway = true;
    expect(await get("/metrics")).toMatchObject({
      status: 503,
      text: "store_unavailable: the server is away\n",
    });
    expect(JSON.parse((await get("/health")).text)).toEqual({
      status: "unhealthy",
      reason: { code: "store_unavailable", message: "the server is away" },
    });
    expect((await get("/health")).status).toBe(503);
    state.isAway = false;
    expect((await get("/metrics")).status).toBe(200);
    expect(await get("/health")).toMatchObject({ status: 200, text: '{"status":"ok"}\n' });
  });

  it("answers nothing else", async () => {
    const { get } = await open();
    expect((await get("/")).status).toBe(404);
    expect((await get("/metrics", "POST")).status).toBe(405);
    expect(await get("/metrics", "HEAD")).toMatchObject({ status: 200, text: "" });
  });

  it("reads the store once for concurrent requests, and again for later ones", async () => {
    let reads = 0;
    let finish: (text: string) => void = () => undefined;
    const read = sharedRead(() => {
      reads += 1;
      return new Promise((resolve) => {
        finish = resolve;
      });
    });
    const together = [read(), read(), read()];
    finish("first");
    expect(await Promise.all(together)).toEqual(["first", "first", "first"]);
    const later = read();
    finish("second");
    expect(await later).toBe("second");
    expect(reads).toBe(2);
  });

  it("reports a port that is not available", async () => {
    const { server } = await open();
    const port = Number(new URL(server.url).port);
    const store = await WatchedStore.open();
    const again = { engine: store.engine, at: { host: "127.0.0.1", port }, text: async () => "" };
    await expect(serveMetrics(again)).rejects.toMatchObject({
      code: "usage",
      message: `Cannot listen on 127.0.0.1:${port}: EADDRINUSE.`,
    });
  });
});

describe("where it listens", () => {
  it.each([
    ["9464", { host: "127.0.0.1", port: 9464 }],
    ["0.0.0.0:80", { host: "0.0.0.0", port: 80 }],
    ["[::1]:9464", { host: "::1", port: 9464 }],
    ["metrics.local:0", { host: "metrics.local", port: 0 }],
  ])("%s", (text, address) => {
    expect(parseListen(text)).toEqual(address);
  });

  it.each(["", "x", "70000", "::1:9464", "host:"])("refuses %j", (text) => {
    expect(() => parseListen(text)).toThrow("is not a port or HOST:PORT");
  });
});
