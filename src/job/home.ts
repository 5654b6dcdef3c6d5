/** Where Redrive keeps its files: the folder, and what lies where in it. */
import { createHash } from "node:crypto";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { fileNameOf, jobLogsFolder } from "../item/item-path.ts";

/** `REDRIVE_HOME`, else `~/.redrive`. */
export function homeOf(env: NodeJS.ProcessEnv): string {
  return env.REDRIVE_HOME || join(homedir(), ".redrive");
}

/** `--store`, else `REDRIVE_STORE`, else a SQLite file in the home. */
export function storeUrlOf(env: NodeJS.ProcessEnv, option?: string): string {
  return option || env.REDRIVE_STORE || `sqlite:${join(homeOf(env), "redrive.db")}`;
}

/**
 * Copies of files that work named as evidence, `ab/abcd…`: named by the SHA-256 of their content. The home's own store has
 * them at the top; any other store has a folder below, so that what one of them does not name can be deleted.
 */
export function evidenceFolder(home: string, storeUrl: string): string {
  const folder = join(home, "evidence");
  const store = fromAnywhere(storeUrl);
  if (store === fromAnywhere(storeUrlOf({ REDRIVE_HOME: home }))) return folder;
  return join(folder, createHash("sha256").update(store).digest("hex").slice(0, 16));
}

/** A relative path leads to another file from every folder. */
function fromAnywhere(storeUrl: string): string {
  const path = /^sqlite:(.+)$/.exec(storeUrl)?.[1];
  return path === undefined ? storeUrl : `sqlite:${resolve(path)}`;
}

/** Logs of a job: `{item}/{attempt}.log`, `{phase}.log` of a workflow, and the output of running attempts in `.running/`. */
export interface JobLogs {
  readonly folder: string;
  readonly runningFolder: string;
  log(itemId: string, attempt: number): string;
  /** Of setup, reduce or merge. */
  phase(name: string): string;
  /** The path that the files of one running attempt start with. */
  running(ref: number, attempt: number): string;
}

/** The paths of a job's logs. */
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
