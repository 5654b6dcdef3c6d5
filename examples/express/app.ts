/** An Express server that takes invoices, pays them in the background, and shows and retries the ones that failed. */
import express, { type ErrorRequestHandler } from "express";
import { open, PermanentError, RedriveError } from "redrive";
import { z } from "zod";

const redrive = await open(process.env.REDRIVE_STORE ?? "memory:");
const invoices = redrive.queue("invoices", {
  schema: z.object({ vat: z.string(), total: z.number() }),
  retries: 3,
  unique: "return", // the same request twice adds one item
});
let isBankOpen = false;

// The worker may as well run in a process of its own, with the same two lines.
invoices.work(({ data }) => {
  if (data.vat === "") throw new PermanentError("no VAT id");
  if (data.total > 500 && !isBankOpen) throw new PermanentError("the bank refuses large sums");
  return { paid: data.total };
});

const app = express();
app.use(express.json());

// The item is stored before the answer is sent.
app.post("/invoices/:key", async (request, response) => {
  const { id, outcome } = await invoices.add(request.body, { key: request.params.key });
  response.status(202).json({ id, outcome });
});

app.get("/invoices/:key", async (request, response) => {
  const item = await invoices.item(request.params.key);
  if (item === null) response.status(404).json({ error: "unknown invoice" });
  else response.json({ id: item.id, state: item.state, attempts: item.attempts });
});

app.get("/letters", async (_request, response) => {
  const { letters, total } = await invoices.letters({ order: "item" }).page({ limit: 100 });
  const rows = letters.map(({ id, data, failures }) => ({ id, data, error: failures.at(-1)?.message }));
  response.json({ total, letters: rows });
});

app.post("/bank/open", async (_request, response) => {
  isBankOpen = true;
  const { selected, done } = await invoices.letters({ text: "large sums" }).retry({ force: true });
  response.json({ selected, done });
});

// Express 5 passes the errors of async handlers on. Wrong data is the caller's mistake, the rest is ours.
const onError: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  if (error instanceof RedriveError && error.code === "input_invalid")
    response.status(422).json({ error: error.message, field: error.field });
  else next(error);
};
app.use(onError);

const server = app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await redrive.close({ timeout: "10s" }); // finishes running attempts, releases the others
});
