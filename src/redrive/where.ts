/**
 * What a search uses of expressions. One module, because the first import of each module costs a millisecond; it is imported when
 * a selection has an expression.
 */
export { compileMatcher, compilePartMatcher, LETTER_VARIABLES, letterVariables } from "./matcher.ts";
export { narrowedBy } from "./push-down.ts";
export { storeCondition } from "./store-condition.ts";
