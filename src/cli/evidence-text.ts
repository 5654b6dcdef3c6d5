/** One file of evidence as a line for a person: what it is, where, and what is known of it. */
import { hostname } from "node:os";
import type { EvidenceFile } from "../item/evidence-file.ts";
import { thousands } from "./progress-rate.ts";

/** The machine is named when it is another one: there the path leads nowhere here. */
export function evidenceText(file: EvidenceFile): string {
  const { path, sha256, bytes, mediaType, host, missing, kept, problem } = file;
  const facts = [
    mediaType,
    bytes === undefined ? undefined : `${thousands(bytes)} ${bytes === 1 ? "byte" : "bytes"}`,
    sha256 === undefined ? undefined : `sha256 ${sha256.slice(0, 12)}…`,
    missing ? "missing" : undefined,
    problem,
    host === undefined || host === hostname() ? undefined : `on ${host}`,
    kept === undefined ? undefined : `kept as ${kept}`,
  ].filter((fact) => fact !== undefined);
  return facts.length === 0 ? path : `${path} (${facts.join(", ")})`;
}
