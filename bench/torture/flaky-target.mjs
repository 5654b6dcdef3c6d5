/**
 * An unreliable receipt service: it fails, throttles, loses answers after the work was done, and breaks connections. Its
 * ledger records what it did, whatever it answered.
 */
import { createServer } from "node:http";

/** The behaviours by weight. */
const MOODS = [
  [66, "ok"],
  [10, "slow"],
  [8, "error"],
  [8, "lost"], // processed, but the answer never arrives
  [6, "broken"], // not processed and not answered
  [1.6, "half"], // processed, but half of the answer arrives
  [0.4, "throttled"],
];

export async function openFlakyTarget(chance) {
  /** `{ key, body }` of all processed receipts, in order. */
  const ledger = [];
  let requests = 0;
  const server = createServer((request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("error", () => undefined); // the sender was killed
    request.on("end", () => {
      requests += 1;
      const entry = { key: request.headers["idempotency-key"], body: Buffer.concat(chunks).toString() };
      behave(chance.pick(MOODS), { entry, ledger, response });
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/complete`,
    ledger,
    get requests() {
      return requests;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function behave(mood, { entry, ledger, response }) {
  const known = ledger.some(({ key }) => key === entry.key);
  const done = () => ledger.push(entry);
  const accept = () => {
    done();
    // Reports a repeated key, like services that support idempotency keys.
    if (known)
      response.writeHead(409, JSON_TYPE).end(JSON.stringify({ code: "already_completed", key: entry.key }));
    else response.writeHead(200, JSON_TYPE).end('{"ok":true}');
  };
  switch (mood) {
    case "ok":
      return accept();
    case "slow":
      return void setTimeout(accept, 15);
    case "error":
      return response.writeHead(500).end("a bad day");
    case "lost":
      done();
      return response.destroy();
    case "broken":
      return response.destroy();
    case "half":
      done();
      response.writeHead(200, { ...JSON_TYPE, "content-length": "40" });
      response.write('{"ok":');
      return void setImmediate(() => response.destroy());
    case "throttled":
      return response.writeHead(429, { "retry-after": "1" }).end();
  }
}

const JSON_TYPE = { "content-type": "application/json" };
