/** `redrive/testing`: an in-memory store, a controllable clock, and assertions on letters, for any test runner. */

export {
  assertLetter,
  assertLetters,
  assertNoLetters,
  type ExpectedLetter,
  type LetterSource,
} from "../library/testing/assert-letters.ts";
export {
  type DrainOptions,
  openTest,
  type TestOptions,
  type TestStore,
} from "../library/testing/open-test.ts";
export { TestClock } from "../library/testing/test-clock.ts";
