/** `redrive/triage`: the pure functions that group failures and explain the groups. */

export { type Analysis, analysisToJson, type PatternGroup } from "../triage/analyse.ts";
export { compareFailures, type FailureDifference } from "../triage/compare-failures.ts";
export { errorLine } from "../triage/error-line.ts";
export { type Explanation, explainFailure } from "../triage/explain.ts";
export { type FailureGroup, type GroupRule, groupOf } from "../triage/grouping.ts";
export { ALGORITHM, type Signature, type SignedFailure, signatureOf } from "../triage/signature.ts";
export { type FailureTitle, failureTitle, groupTitle, type Location, titleLine } from "../triage/title.ts";
