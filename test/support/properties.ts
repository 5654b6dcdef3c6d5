/** fast-check, which draws the data of property tests from the seed of the run. Only files that use it load it. */
import fc from "fast-check";
import { seeds } from "./seeds.ts";

const [seed] = seeds(1);
fc.configureGlobal({ ...(seed !== undefined && { seed }) });

export { fc };
