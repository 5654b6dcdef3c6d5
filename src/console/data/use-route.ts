/** Reads what one route of the API returns, and reads it again when its topic changes. */
import { type UseQueryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import type { ResponseOf, RouteName } from "../../server/client.ts";
import { call, type Given } from "./api.ts";

/** The topics are those of live.ts. The same request of two components is sent once. */
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
