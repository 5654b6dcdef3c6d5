/** Reads all items of a job, up to the maximum that a page can display. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { call } from "./api.ts";

const PAGE = 500;
export const ITEMS_MAX = 10_000;

export function useJobItems(job: string) {
  const items = useInfiniteQuery({
    queryKey: ["items", job, "grid"],
    queryFn: ({ pageParam, signal }) =>
      call(
        "GET /items",
        { query: { queue: job, limit: PAGE, ...(pageParam !== "" && { cursor: pageParam }) } },
        { signal },
      ),
    initialPageParam: "",
    getNextPageParam: ({ next }, pages) => (pages.length * PAGE < ITEMS_MAX ? next : null),
  });
  const { hasNextPage, isFetchingNextPage, fetchNextPage, data, error } = items;
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const rows = useMemo(() => data?.pages.flatMap((page) => page.items) ?? [], [data]);
  return { rows, error };
}
