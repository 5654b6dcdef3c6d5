/** A queue with a typed payload, a function over files, and what becomes of the failures. */
import { open, PermanentError } from "redrive";
import { z } from "zod";

const files = ["cat.png", "dog.png", "notes.txt"];

async function resize(file: string) {
  if (!file.endsWith(".png")) throw new PermanentError(`${file} is not a picture`);
  return { file, width: 120 };
}

await using redrive = await open(); // REDRIVE_STORE or the embedded store; or "postgres://…", "sqlite:./work.db", "memory:"

// Declared in code, created in the store at first use: safe at every deploy, changed settings are applied.
const invoices = redrive.queue("invoices", {
  schema: z.object({ vat: z.string(), total: z.number() }), // any Standard Schema; infers the payload
  retries: 3,
  backoff: "exponential:1s:30s",
});
await invoices.add({ vat: "DE811907980", total: 120 }, { key: "4711" });

const worker = invoices.work(
  async ({ data, attempt, signal, note, progress }) => {
    if (!data.vat) throw new PermanentError("no VAT id");
    return { paid: data.total }; // typed result
  },
  { concurrency: 8 },
);

const { succeeded, letters } = await redrive.map("thumbnails", files, resize, { concurrency: 4 });

for await (const letter of invoices.letters({ class: "permanent" }))
  console.log(letter.data.total, letter.failures.at(-1)?.message);
await invoices.letters({ group: "…" }).retry({ canary: 5 });

console.log(succeeded, "resized,", await letters.count(), "dead");
worker.on("succeeded", ({ result }) => console.log("paid", result.paid));
const unpaid = await invoices.add({ vat: "", total: 75 }, { key: "4712" });
await unpaid.result().catch((error) => console.log(error.code, error.cause.data));
