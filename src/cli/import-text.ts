/** What an import did, as the one JSON document and as text for people. */
import type { Imported } from "../dead-letter/exchange/import.ts";
import type { JsonObject } from "../kit/json.ts";

/** The document of `--json`. */
export function importToJson(imported: Imported, isDry: boolean): JsonObject {
  return {
    imported: imported.imported,
    extended: imported.extended,
    existing: imported.existing,
    refused: imported.refused.map((one) => ({ ...one })),
    refused_count: imported.refusedCount,
    jobs: imported.jobs.map(({ jobId, isNew, ...counts }) => ({ job_id: jobId, created: isNew, ...counts })),
    ignored_fields: imported.ignoredFields,
    foreign_signatures: imported.foreignSignatures,
    quoted_numbers: imported.quotedNumbers,
    dry_run: isDry,
  };
}

const LINES_MAX = 10;

/** The same for people. */
export function importText(imported: Imported, isDry: boolean): string {
  const counts = `${imported.imported} imported, ${imported.extended} extended, ${imported.existing} were there`;
  const lines = [`${isDry ? "Would be: " : ""}${counts}, ${imported.refusedCount} refused.`];
  for (const { jobId, isNew, imported: count } of imported.jobs.slice(0, LINES_MAX)) {
    lines.push(`  ${jobId}${isNew ? " (new)" : ""}: ${count} imported`);
  }
  for (const { where, why } of imported.refused.slice(0, LINES_MAX)) lines.push(`  refused ${where}: ${why}`);
  if (imported.refusedCount > LINES_MAX) lines.push(`  … and ${imported.refusedCount - LINES_MAX} more`);
  if (imported.ignoredFields.length > 0) {
    lines.push(`  fields that are not of a letter were dropped: ${imported.ignoredFields.join(", ")}`);
  }
  if (imported.foreignSignatures > 0) {
    const signatures =
      imported.foreignSignatures === 1 ? "1 signature" : `${imported.foreignSignatures} signatures`;
    lines.push(
      `  ${signatures} of another program kept as source_signature; letters are grouped by their failures`,
    );
  }
  if (imported.quotedNumbers > 0) {
    const numbers = imported.quotedNumbers === 1 ? "1 number" : `${imported.quotedNumbers} numbers`;
    lines.push(`  ${numbers} beyond what JavaScript holds exactly kept as text`);
  }
  return `${lines.join("\n")}\n`;
}
