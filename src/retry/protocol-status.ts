/** What the answers of another service mean: HTTP statuses, and JSON-RPC codes, which arrive inside HTTP 200. */
import type { Kind } from "./signs.ts";

/** What an HTTP status says. */
export function classifyHttp(status: number): Kind {
  const fields = { http_status: status };
  if (status === 408) return { name: "Timeout", fields };
  if (status === 425) return { name: "ClientError", errorClass: "transient", fields };
  if (status === 429) return { name: "RateLimited", fields };
  if (status === 401 || status === 403) return { name: "PermissionError", fields };
  if (status === 503) return { name: "ServerError", errorClass: "outage", fields };
  if (status >= 500 && status <= 599) return { name: "ServerError", fields };
  if (status >= 400 && status <= 499) return { name: "ClientError", fields };
  return { name: "Unknown", fields }; // a redirect or a success that was not expected
}

const CALL_IS_WRONG: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32602]);
const INTERNAL_ERROR = -32603;

/** The codes that the JSON-RPC 2.0 specification defines. The others are the application's own, and unknown to us. */
export function classifyJsonRpc(code: number): Kind {
  const fields = { json_rpc_code: code };
  if (CALL_IS_WRONG.has(code)) return { name: "ClientError", fields };
  if (code === INTERNAL_ERROR) return { name: "ServerError", fields };
  if (code >= -32099 && code <= -32000) return { name: "ServerError", errorClass: "unknown", fields };
  return { name: "Unknown", fields };
}
