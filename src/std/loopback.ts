/** Recognises names and addresses of this machine, for the checks that prevent DNS rebinding. */
import { isIPv4 } from "node:net";

/** The name or address in a Host header, without its port. */
export function hostName(host: string): string {
  return host
    .replace(/:\d+$/, "")
    .replace(/^\[|\]$/g, "")
    .toLowerCase();
}

/** Whether a host name or address always refers to this machine. */
export function isLoopbackName(name: string): boolean {
  const plain = name.replace(/^::ffff:/, "");
  if (plain === "localhost" || plain.endsWith(".localhost") || plain === "::1") return true;
  return isIPv4(plain) && plain.startsWith("127.");
}
