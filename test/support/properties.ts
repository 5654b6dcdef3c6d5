/** Seeds the property tests of a file with the seed of the run. */
import fc from "fast-check";
import { seeds } from "./seeds.ts";

const [seed] = seeds(1);
fc.configureGlobal({ ...(seed !== undefined && { seed }) });
