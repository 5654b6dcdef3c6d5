/** Ships one order: `node ship.mjs ID COUNTRY KG`. A stand-in for a carrier, which needs no network. */
import { existsSync } from "node:fs";

const [id, country, kg] = process.argv.slice(2);
const COUNTRIES = ["DE", "FR", "GB", "IT", "PT"];

if (country === "PT" && !existsSync("lisbon.open"))
  fail("the office in Lisbon does not answer: connection refused");
if (!COUNTRIES.includes(country)) fail(`country code ${country} is not known`);
if (Number(kg) > 30) fail(`a parcel of ${kg} kg is too heavy`);
console.log(`${id} goes to ${country}`);

function fail(message) {
  console.error(message);
  process.exit(1);
}
