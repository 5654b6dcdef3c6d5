/** The names of the built library that torture runs use. */
export { openStore, Queue } from "../../dist/engine.js";
