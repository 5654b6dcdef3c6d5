/**
 * Everything that a search needs for expressions, in one module, because each first import costs a
 * millisecond. It is imported only when a selection has an expression.
 */
export { compileMatcher, compilePartMatcher, LETTER_VARIABLES, letterVariables } from "./matcher.ts";
export { narrowedBy } from "./push-down.ts";
export { storeCondition } from "./store-condition.ts";
