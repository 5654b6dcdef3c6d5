/** Joins the customers with what the map phase found out about them: node join.mjs RESULTS > OUTPUT */
import { readFileSync } from "node:fs";

const { customers } = JSON.parse(readFileSync("customers.json", "utf8"));
const results = JSON.parse(readFileSync(process.argv[2], "utf8"));
const found = new Map(results.map((entry) => [entry.item_id, entry.result]));
const enriched = customers
  .filter(({ id }) => found.get(id))
  .map((customer) => ({ ...customer, currency: found.get(customer.id).currency }));
console.log(JSON.stringify(enriched, null, 2));
