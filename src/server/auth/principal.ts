/** The caller of a request, and the permissions of the role. Roles are compared only in this file. */
import { ROLES, type Role } from "../contract/route.ts";

export interface Principal {
  /** The name in notes, operations and the audit. */
  readonly name: string;
  readonly role: Role;
  /** `open`: the server was created without authentication by a program that does its own. */
  readonly kind: "token" | "session" | "open";
  /** The id of the token or session, for rate limits and idempotency keys. */
  readonly id: string;
  readonly expiresAt?: number;
  /** Whether a login provider identified the person. */
  readonly provided?: boolean;
}

/** Whether a role includes the permissions of another. */
export function mayAct(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}
