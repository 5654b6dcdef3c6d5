/** Sends receipts to a service that is closed at first and rejects some: each one is delivered or kept. */
import { createServer } from "node:http";
import { open, RedriveError } from "redrive";

// The other side. It is closed at first, and refuses receipts without a status.
let isOpen = false;
const taken = new Map<string, string>();
const service = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const receipt = JSON.parse(body);
  response.statusCode = !isOpen ? 503 : receipt.status ? 200 : 422;
  const key = request.headers["idempotency-key"];
  if (response.statusCode === 200) taken.set(String(key), receipt.task_id);
  response.setHeader("content-type", "application/json").end("{}");
});
await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
const address = service.address();
const port = typeof address === "object" ? address?.port : undefined;

const redrive = await open();
const target = redrive.receipts("audit", { url: `http://127.0.0.1:${port}/receipts`, timeout: "5s" });

// It is on the disk before `send` answers, whether or not anybody is there to take it.
const kept = await target.send({ task_id: "t-1", status: "complete" }, { key: "t-1", wait: false });
console.log("t-1 is kept:", kept.isNew);
isOpen = true;
console.log("t-1 is delivered:", await kept.delivered());

// The same again is the one that was sent; another one under the same key is a conflict.
console.log("again:", await target.send({ task_id: "t-1", status: "complete" }, { key: "t-1" }));
await target
  .send({ task_id: "t-1", status: "failed" }, { key: "t-1" })
  .catch((error) => console.log(error instanceof RedriveError && error.code));

// What the other side refuses is a letter at once.
console.log("t-2 is delivered:", await target.send({ task_id: "t-2" }, { key: "t-2" }));
for await (const { id, failures } of redrive.letters({ queue: "audit" }))
  console.log(id, failures[0]?.message);

console.log([...taken]);
await target.drain("5s");
await redrive.close();
service.close();
