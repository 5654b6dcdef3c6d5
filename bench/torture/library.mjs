/** The names of the built library that torture runs use. */
export { openStore } from "../../dist/engine.js";
export { open } from "../../dist/index.js";
export { TestClock } from "../../dist/testing.js";
