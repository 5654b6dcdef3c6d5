/** Listens on an address and returns its URL. If the address is in use, the error explains what to do. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { RedriveError } from "../errors.ts";

export interface ListenAddress {
  /** Default: loopback. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

export async function listenOn(
  server: Server,
  { host, port }: ListenAddress,
  scheme: "http" | "https" = "http",
): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        new RedriveError("usage", `Cannot listen on ${host}:${port}: ${error.code ?? error.message}.`, {
          cause: error,
          hint: "Choose another port, or 0 for a free one.",
        }),
      ),
    );
    server.listen({ host, port }, resolve);
  });
  const { address, port: bound } = server.address() as AddressInfo;
  return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${bound}`;
}
