/** A job as both SQL stores write it down. */

import type { Job, JobKind, JobStatus, Pause } from "../item/job.ts";
import { compact, type JsonObject, parseJson } from "../std/json.ts";

export interface JobRow {
  readonly id: string;
  readonly name: string;
  readonly kind: JobKind;
  readonly spec: string;
  readonly progress: string;
  readonly status: JobStatus;
  readonly intake_complete: number;
  readonly created_at: number;
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly paused_at: number | null;
  readonly paused_by: string | null;
  readonly paused_why: string | null;
}

export function jobOf(row: JobRow): Job {
  return compact({
    id: row.id,
    name: row.name,
    kind: row.kind,
    spec: parseJson(row.spec) as JsonObject,
    progress: parseJson(row.progress) as JsonObject,
    status: row.status,
    intakeComplete: row.intake_complete === 1,
    createdAt: row.created_at,
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    pause: pauseOf(row),
  });
}

function pauseOf({ paused_at: at, paused_by: author, paused_why: reason }: JobRow): Pause | undefined {
  if (at === null || author === null || reason === null) return undefined;
  return { at, author, reason };
}
