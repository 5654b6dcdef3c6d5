/**
 * Benchmarks `redrive serve` over loopback: the latency of lists, groups and single letters with 32 connections, the start, and
 * live events to many clients. Run: node bench/server.mjs [LETTERS] [SSE_CLIENTS] (default 1000000, 1000), after a build.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { percentile, say, withFolder } from "./kit.mjs";
import { openOrFill, printed, start } from "./letter-server.mjs";

const LETTERS = Number(process.argv[2] ?? 1_000_000);
const CLIENTS = Number(process.argv[3] ?? 1000);
const CONNECTIONS = 32;
const CALLS = 6400;
const EVENTS_SECONDS = 10;
const EVENTS_PER_SECOND = 100;

await withFolder(async (folder) => {
  const url = process.env.REDRIVE_BENCH_STORE ?? `sqlite:${join(folder, "letters.db")}`;
  say(`${LETTERS} letters are made`);
  const { engine, jobs } = await openOrFill(url, LETTERS);
  const env = { ...process.env, REDRIVE_HOME: folder, REDRIVE_STORE: url };
  const token = await printed(env, ["token", "create", "--name", "bench", "--role", "admin"]);
  const server = await start(env);
  const job = jobs[0];
  const figures = {
    letters: LETTERS,
    start_ms: server.startMs,
    list: await latency(server, token, () => `/letters?limit=50&queue=${job}`),
    // Pages of ten queues, so that few of the requests that wait at the same time can share a read.
    other_lists: await latency(server, token, (call) => `/letters?limit=50&queue=bench-${1 + (call % 10)}`),
    groups: await latency(server, token, () => "/groups?limit=50"),
    // Another letter with each request, spread over all of them.
    inspect: await latency(
      server,
      token,
      (call) => `/letters/bench-${1 + (call % 10)}/item-${(call * 7919) % (LETTERS / 10)}`,
    ),
    overview: await latency(server, token, () => "/overview", CALLS / 10),
    jobs: await latency(server, token, () => "/jobs?limit=50", CALLS / 10),
    live: CLIENTS > 0 ? await live(server, token, engine, job) : null,
    rss_mb: memoryOf(server.child.pid),
  };
  server.child.kill("SIGTERM");
  await once(server.child, "exit");
  await engine.close();
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
});

/** Sends requests over all connections at once, each as soon as the one before is answered. */
async function latency({ origin }, token, pathOf, calls = CALLS) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const headers = { authorization: `Bearer ${token}` };
  const times = [];
  let next = 0;
  const began = performance.now();
  const worker = async () => {
    while (next < calls) {
      const call = next++;
      const sent = performance.now();
      await get(`${origin}/api/v1${pathOf(call)}`, { agent, headers });
      if (call >= calls / 10) times.push(performance.now() - sent); // the first ones warm up
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  const seconds = (performance.now() - began) / 1000;
  agent.destroy();
  const ms = (share) => Math.round(percentile(times, share) * 10) / 10;
  return { p50_ms: ms(50), p99_ms: ms(99), per_second: Math.round(calls / seconds) };
}

function get(url, options) {
  return new Promise((resolve, reject) => {
    request(url, options, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${response.statusCode} for ${url}`));
      response.resume();
      response.on("end", resolve);
    })
      .on("error", reject)
      .end();
  });
}

/** Counts the events that reach all clients while 100 events a second are written. */
async function live({ origin, child }, token, engine, job) {
  const headers = { authorization: `Bearer ${token}` };
  let received = 0;
  const streams = await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      follow(`${origin}/api/v1/events`, headers, (count) => (received += count)),
    ),
  );
  let peak = 0;
  for (let second = 0; second < EVENTS_SECONDS; second += 1) {
    const began = performance.now();
    for (let sent = 0; sent < EVENTS_PER_SECOND; sent += 1)
      await engine.recordChange({ author: "bench", action: "bench", queue: job });
    peak = Math.max(peak, memoryOf(child.pid));
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, 1000 - (performance.now() - began))));
  }
  await new Promise((resolve) => setTimeout(resolve, 3000));
  for (const stream of streams) stream.destroy();
  return {
    clients: CLIENTS,
    expected: CLIENTS * EVENTS_SECONDS * EVENTS_PER_SECOND,
    received,
    peak_rss_mb: peak,
  };
}

function follow(url, headers, onEvents) {
  return new Promise((resolve, reject) => {
    request(url, { headers, agent: false }, (response) => {
      response.setEncoding("utf8");
      response.on("data", (text) =>
        onEvents(text.split("\nid: ").length - 1 + (text.startsWith("id: ") ? 1 : 0)),
      );
      response.on("error", () => undefined); // it is closed at the end
      resolve(response);
    })
      .on("error", reject)
      .end();
  });
}

function memoryOf(pid) {
  const [, kilobytes = "0"] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Math.round(Number(kilobytes) / 1024);
}
