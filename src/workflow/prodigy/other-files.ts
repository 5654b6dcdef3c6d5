/** Finds and reads the other files of a workflow of Prodigy. It reads only files that the workflow names. */
import { dirname, extname, isAbsolute, join, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "../../std/json.ts";
import * as yaml from "../../yaml/edit-yaml.ts";
import { problemText, readYaml } from "../../yaml/read-yaml.ts";

export interface FileAccess {
  /** The absolute path of the workflow. */
  readonly path: string;
  readonly cwd: string;
  readonly home: string;
  /** Returns undefined if there is no such file. */
  readonly read: (path: string) => string | undefined;
}

export type OtherFile =
  | { readonly workflow: JsonObject; readonly files: WorkflowFiles }
  | { readonly problem: string };

export class WorkflowFiles {
  readonly #access: FileAccess;
  /** This file and those through which it was reached. */
  readonly #chain: readonly string[];

  constructor(access: FileAccess, chain: readonly string[] = [access.path]) {
    this.#access = access;
    this.#chain = chain;
  }

  /** A path is relative to the file that names it, or to the current folder. */
  besides(path: string): readonly string[] {
    return this.#below([""], path);
  }

  bases(name: string): readonly string[] {
    return this.#below(["bases", "templates", "workflows", ""], name);
  }

  templates(name: string): readonly string[] {
    const own = this.#below([".prodigy/templates", "templates", ""], name);
    return [...own, ...named(join(this.#access.home, ".prodigy/templates", name))];
  }

  #below(folders: readonly string[], name: string): readonly string[] {
    const path = name.startsWith("~/") ? join(this.#access.home, name.slice(2)) : name;
    if (isAbsolute(path)) return named(path);
    const tops = [dirname(this.#chain.at(-1) ?? ""), this.#access.cwd];
    return tops.flatMap((top) => folders.flatMap((folder) => named(resolve(top, folder, path))));
  }

  /** Reads the first of the files that exists. A list of steps is returned as `commands`. */
  read(paths: readonly string[], what: string): OtherFile {
    for (const path of paths) {
      const text = this.#access.read(path);
      if (text === undefined) continue;
      if (this.#chain.includes(path))
        return { problem: `${what} refers back to itself: ${[...this.#chain, path].join(", ")}` };
      const read = readYaml(text, {
        notMapping: "a workflow must be a mapping, or a list of steps",
        rewrite: (document) => {
          if (yaml.isSeq(document.contents))
            document.contents = yaml.mapOf(document.contents, { commands: document.contents });
        },
      });
      const [problem] = read.problems([]);
      if (problem !== undefined || !isJsonObject(read.raw))
        return { problem: `${what} cannot be read: ${problem ? problemText(problem, path) : path}` };
      const files = new WorkflowFiles(this.#access, [...this.#chain, path]);
      return { workflow: read.raw, files };
    }
    return { problem: `${what} was not found. Looked for ${[...new Set(paths)].join(", ")}` };
  }
}

function named(path: string): readonly string[] {
  return extname(path) === "" ? [`${path}.yml`, `${path}.yaml`, path] : [path];
}
