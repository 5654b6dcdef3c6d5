/** Calls the API's routes for an agent, with the same handlers, roles, masks and audit, but without HTTP. */

import { authorText } from "../../item/author.ts";
import type { JsonObject } from "../../std/json.ts";
import type { Principal } from "../auth/principal.ts";
import type { Reply, RequestContext, ServerContext } from "../context.ts";
import type { RequestOf, RouteName } from "../contract.ts";
import { type HandledRoute, handledRoutes } from "../handlers.ts";
import { contextFor, requireRights, runHandler } from "../pipeline.ts";
import { checkInput } from "../read-input.ts";

export interface Agent {
  readonly context: ServerContext;
  readonly principal: Principal;
  /** Aborted when the agent disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** The arguments of a call. The route rejects missing ones. */
type Given<Name extends RouteName> = Partial<RequestOf<Name>> & {
  readonly headers?: Readonly<Record<string, string>>;
};

export class RouteCaller {
  readonly context: ServerContext;
  readonly signal: AbortSignal;
  readonly author: string;
  readonly #principal: Principal;

  constructor({ context, principal, signal }: Agent) {
    this.context = context;
    this.signal = signal;
    this.#principal = principal;
    this.author = authorText(principal.name, "mcp");
  }

  /** Returns the document of a route that answers with JSON. */
  async document<Name extends RouteName>(name: Name, given: Given<Name>): Promise<JsonObject> {
    const { document } = (await this.#run(name, given)) as Reply;
    return document as JsonObject;
  }

  /** Returns the response of a route that sends a file. */
  async file<Name extends RouteName>(name: Name, given: Given<Name>): Promise<Response> {
    return (await this.#run(name, given)) as Response;
  }

  async #run<Name extends RouteName>(name: Name, given: Given<Name>): Promise<Reply | Response> {
    const handled = routeOf(name);
    const { route } = handled;
    if (route.role !== "public") requireRights(this.#principal, route.role);
    const input = checkInput(route, { params: given.params, query: given.query ?? {}, body: given.body });
    return runHandler(handled, await this.#contextWith(given.headers ?? {}), input);
  }

  #contextWith(headers: Readonly<Record<string, string>>): Promise<RequestContext> {
    return contextFor(this.context, {
      principal: this.#principal,
      author: this.author,
      headers: new Headers(headers),
      signal: () => this.signal,
      stream: null,
    });
  }
}

const ROUTES_BY_NAME = new Map<string, HandledRoute>(handledRoutes().map((one) => [one.name, one]));

export function routeOf(name: RouteName): HandledRoute {
  const handled = ROUTES_BY_NAME.get(name);
  if (handled === undefined) throw new Error(`There is no route ${name}.`);
  return handled;
}
