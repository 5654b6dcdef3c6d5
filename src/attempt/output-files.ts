/** The two output files of a launch as the spawn launcher handles them; launcher.c does the same in C. */
import { closeSync, openSync, readSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type Captured, INLINE_BYTES_MAX } from "./launch.ts";

/**
 * A file of this launch alone. One that an earlier launch left is unlinked, not truncated, because a process that
 * outlived that launch may still write to it.
 */
export function openOutput(path: string): number {
  rmSync(path, { force: true });
  return openSync(path, "ax", 0o600);
}

/** An unlinked file that holds the input. Unlike a socket, a command can also open it as /dev/stdin. */
export function openInput(stdin: string | Uint8Array, path: string): number {
  rmSync(path, { force: true });
  try {
    writeFileSync(path, stdin, { mode: 0o600, flag: "wx" });
    return openSync(path, "r");
  } finally {
    rmSync(path, { force: true });
  }
}

/** Small output moves into memory and its file goes; large output stays where it is. */
export function collectOutput(path: string): Captured {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes > INLINE_BYTES_MAX) return { bytes };
  const inline = bytes > 0 ? readFrom(path, bytes) : undefined;
  rmSync(path, { force: true });
  return inline ? { bytes: inline.length, inline } : { bytes: 0 };
}

/** As many bytes as it had when we looked; a late process may add more. */
function readFrom(path: string, bytes: number): Buffer {
  const fd = openSync(path, "r");
  try {
    const content = Buffer.alloc(bytes);
    return content.subarray(0, readSync(fd, content, 0, bytes, 0));
  } finally {
    closeSync(fd);
  }
}
