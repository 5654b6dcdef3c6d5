/** Converts one CSV file of orders to JSON. Reports an invalid file as a permanent failure, so that it is not retried. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

const [source, outFolder] = process.argv.slice(2);
const [header, ...rows] = readFileSync(source, "utf8").trim().split("\n");
const names = header.split(",");

const orders = rows.map((row, index) => {
  const values = row.split(",");
  if (values.length !== names.length) {
    refuse(`row ${index + 1} has ${values.length} values for ${names.length} columns`);
  }
  return Object.fromEntries(names.map((name, column) => [name, values[column]]));
});

mkdirSync(outFolder, { recursive: true });
writeFileSync(join(outFolder, `${basename(source, ".csv")}.json`), JSON.stringify(orders));
console.log(`${source}: ${orders.length} orders`);

/** Redrive reads what happened from this file; without Redrive the message on stderr has to do. */
function refuse(message) {
  const report = { type: "ValidationFailed", class: "permanent", message, context: [`reading ${source}`] };
  if (process.env.REDRIVE_FAILURE_FILE)
    writeFileSync(process.env.REDRIVE_FAILURE_FILE, JSON.stringify(report));
  console.error(message);
  process.exit(1);
}
