/**
 * Generated requests never cause a 500, a crash or a leak, and the store stays sound. The short form runs with the tests;
 * `npm run fuzz:api` makes 10,000 requests with a new seed.
 */
import { expect, test } from "vitest";
import { RequestFuzz } from "./fuzz.ts";
import { queueWithLetters, serverKit } from "./kit.ts";

const REQUESTS = Number(process.env.REDRIVE_FUZZ_REQUESTS ?? 1500);
const SEED = Number(process.env.REDRIVE_FUZZ_SEED ?? 17);
const TIMEOUT_MS = 900_000;

test(`${REQUESTS} generated requests (seed ${SEED}) never get a server error`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const bugs: unknown[] = [];
  const kit = await serverKit({
    limits: { requests: { burst: 1e9, perSecond: 1 }, guesses: { burst: 1e9, perSecond: 1 } },
    log: (record) => {
      if (record.event === "bug") bugs.push(record.stack);
    },
  });
  await queueWithLetters(kit.engine, "orders", [
    { key: "o-1", data: { bad: "connect ECONNREFUSED 10.0.0.1:80" } },
    { key: "o-2", data: { bad: "no such customer 17" } },
    { key: "o-3", data: { size: 3 } },
  ]);
  const fuzz = new RequestFuzz(SEED);
  let authorization = `Bearer ${await kit.tokenFor("admin", "fuzz")}`;
  const statuses = new Map<number, number>();
  for (let sent = 0; sent < REQUESTS; sent += 1) {
    const request = fuzz.next(authorization);
    const what = `${request.method} ${request.url}`;
    const response = await kit.server.fetch(request);
    statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    const text = await textOf(response);
    if (response.status === 401) authorization = `Bearer ${await kit.tokenFor("admin", "fuzz")}`; // it revoked its own
    // Letters contain stack traces of the work; errors of the server must not.
    if (response.status >= 400) expect(text, what).not.toMatch(/\bat .+\.(ts|js):\d+/);
    if (response.status >= 500) expect.fail(`${response.status} for ${what}: ${text}\n${bugs.join("\n")}`);
    for (const [, id] of text.matchAll(/"(?:selection_id|operation_id|signature|token_id)":"([^"]+)"/g))
      if (id !== undefined && fuzz.seen.length < 200) fuzz.seen.push(id);
  }
  expect(bugs).toEqual([]);
  expect(statuses.get(200) ?? 0).toBeGreaterThan(REQUESTS / 50); // it is not all nonsense
  expect(await kit.engine.check()).toEqual([]);
});

/** Reads a document to its end, and of an endless stream only the first chunk. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  const reader = response.body?.getReader();
  const chunk = await reader?.read();
  await reader?.cancel();
  return new TextDecoder().decode(chunk?.value);
}
