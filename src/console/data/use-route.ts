/** Fetches a route of the API, and refetches it when its topic changes. */
import { type UseQueryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { ResponseOf, RouteName } from "../../server/client.ts";
import { call, type Given } from "./api.ts";

/** The topics are those of live.ts. Identical requests from several components are sent only once. */
export function useRoute<Name extends RouteName>(
  topic: string,
  route: Name,
  ...[given, options]: Record<never, never> extends Given<Name>
    ? [given?: Given<Name>, options?: Options<Name>]
    : [given: Given<Name>, options?: Options<Name>]
): UseQueryResult<ResponseOf<Name>> {
  return useQuery({
    ...options,
    queryKey: [topic, route, given],
    queryFn: ({ signal }) => call(route, given ?? ({} as Given<Name>), { signal }),
  });
}

type Options<Name extends RouteName> = Omit<UseQueryOptions<ResponseOf<Name>>, "queryKey" | "queryFn">;
