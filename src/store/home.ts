/** The paths of Redrive's home folder and of the files in it. */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileNameOf, jobLogsFolder } from "../item/item.ts";

/** Returns `REDRIVE_HOME`, or `~/.redrive`. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.REDRIVE_HOME || join(homedir(), ".redrive");
}

/** Returns `--store`, or `REDRIVE_STORE`, or a SQLite file in the home folder. */
export function storeUrlOf(env: NodeJS.ProcessEnv, option?: string): string {
  return option || env.REDRIVE_STORE || `sqlite:${join(homeOf(env), "redrive.db")}`;
}

/**
 * The folder for copies of evidence files, named by SHA-256 (`ab/abcd…`). Every store except the home's default store has a
 * subfolder, so that each store can delete copies that it no longer references.
 */
export function evidenceFolder(home: string, storeUrl: string): string {
  const folder = join(home, "evidence");
  const store = absoluteUrl(storeUrl);
  if (store === absoluteUrl(storeUrlOf({ REDRIVE_HOME: home }))) return folder;
  return join(folder, createHash("sha256").update(store).digest("hex").slice(0, 16));
}

/** Makes the path absolute, because a relative one depends on the working directory. */
function absoluteUrl(storeUrl: string): string {
  const path = /^sqlite:(.+)$/.exec(storeUrl)?.[1];
  return path === undefined ? storeUrl : `sqlite:${resolve(path)}`;
}

/** The log paths of a job. `.running/` contains the output of running attempts. */
export interface JobLogs {
  readonly folder: string;
  readonly runningFolder: string;
  log(itemId: string, attempt: number): string;
  phase(name: string): string;
  /** The path prefix for the files of one running attempt. */
  running(ref: number, attempt: number): string;
}

/** The folder with the logs of a job's attempts. */
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
