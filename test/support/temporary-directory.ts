/** A new directory for one test file; the caller removes it after the tests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class TemporaryDirectory {
  readonly path = mkdtempSync(join(tmpdir(), "redrive-test-"));
  #files = 0;

  /** A path in the directory that no other call has returned. */
  file(name: string): string {
    this.#files += 1;
    return join(this.path, `${this.#files}-${name}`);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
