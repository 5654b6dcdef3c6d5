/**
 * Everything that a search needs for expressions, in one module, because each first import costs a
 * millisecond. It is imported only when a selection has an expression.
 */
export {
  compiledWhere,
  compileMatcher,
  compilePartMatcher,
  LETTER_VARIABLES,
  letterVariables,
} from "./matcher.ts";
