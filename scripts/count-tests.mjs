/**
 * Prints `N passed, N failed` from Vitest's JSON report. A run that ended badly never counts as "0 failed": a file that
 * could not be loaded is a failure, and so is a run without a report. Usage: count-tests.mjs REPORT EXIT_STATUS
 */
import { readFileSync } from "node:fs";

const [reportPath = "", status = "1"] = process.argv.slice(2);
const { passed, failed } = count(readReport(reportPath));
const bad = failed === 0 && status !== "0" ? 1 : failed;
process.stdout.write(`${passed} passed, ${bad} failed\n`);
process.exitCode = bad === 0 && passed > 0 ? 0 : 1;

function readReport(path) {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return { numPassedTests: 0, numFailedTests: 1, testResults: [] }; // the tests did not get as far as a report
  }
}

function count({ numPassedTests, numFailedTests, testResults }) {
  const unloaded = testResults.filter(
    ({ status, assertionResults }) =>
      status === "failed" && assertionResults.every((one) => one.status !== "failed"),
  );
  return { passed: numPassedTests, failed: numFailedTests + unloaded.length };
}
