/** Makes the properties of a test file draw from the seed of the run. */
import fc from "fast-check";
import { seeds } from "./seeds.ts";

const [seed] = seeds(1);
fc.configureGlobal({ ...(seed !== undefined && { seed }) });
