/** The paths of Redrive's files: its home folder and what it contains. */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileNameOf, jobLogsFolder } from "../item/item.ts";

/** `REDRIVE_HOME`, or else `~/.redrive`. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.REDRIVE_HOME || join(homedir(), ".redrive");
}

/** `--store`, or else `REDRIVE_STORE`, or else a SQLite file in the home folder. */
export function storeUrlOf(env: NodeJS.ProcessEnv, option?: string): string {
  return option || env.REDRIVE_STORE || `sqlite:${join(homeOf(env), "redrive.db")}`;
}

/**
 * Copies of evidence files by the SHA-256 of their content (`ab/abcd…`). Every store but the home's own has a subfolder,
 * so that each can delete copies that it no longer names.
 */
export function evidenceFolder(home: string, storeUrl: string): string {
  const folder = join(home, "evidence");
  const store = absoluteUrl(storeUrl);
  if (store === absoluteUrl(storeUrlOf({ REDRIVE_HOME: home }))) return folder;
  return join(folder, createHash("sha256").update(store).digest("hex").slice(0, 16));
}

/** A relative path would mean a different file in every working directory. */
function absoluteUrl(storeUrl: string): string {
  const path = /^sqlite:(.+)$/.exec(storeUrl)?.[1];
  return path === undefined ? storeUrl : `sqlite:${resolve(path)}`;
}

/** The log paths of a job. `.running/` has the output of running attempts. */
export interface JobLogs {
  readonly folder: string;
  readonly runningFolder: string;
  log(itemId: string, attempt: number): string;
  /** The log of setup, reduce or merge. */
  phase(name: string): string;
  /** The path prefix for the files of one running attempt. */
  running(ref: number, attempt: number): string;
}

/** Returns the log paths of a job. */
export function jobLogs(home: string, jobId: string): JobLogs {
  const folder = jobLogsFolder(home, jobId);
  const runningFolder = join(folder, ".running");
  return {
    folder,
    runningFolder,
    log: (itemId, attempt) => `${folder}/${fileNameOf(itemId)}/${attempt}.log`,
    phase: (name) => `${folder}/${name}.log`,
    running: (ref, attempt) => `${runningFolder}/${ref}-${attempt}`,
  };
}
