/** Reads letters page by page, and their number apart from the list, because counting may take longer. */
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { call } from "./api.ts";
import { type LetterSearch, letterQuery } from "./search.ts";

const PAGE = 100;

export function useLetters(search: LetterSearch) {
  const letters = useInfiniteQuery({
    queryKey: ["letters", search],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...letterQuery(search), limit: PAGE, ...(pageParam !== "" && { cursor: pageParam }) };
      return call("GET /letters", { query }, { signal });
    },
    initialPageParam: "",
    getNextPageParam: ({ next }) => next,
  });
  const rows = letters.data?.pages.flatMap(({ items }) => items) ?? [];
  const readMore = () => {
    if (letters.hasNextPage && !letters.isFetchingNextPage) void letters.fetchNextPage();
  };
  return { ...letters, rows, readMore };
}

export function useLetterCount(search: LetterSearch) {
  return useQuery({
    queryKey: ["letters", "count", search],
    queryFn: ({ signal }) => call("GET /letters/count", { query: letterQuery(search) }, { signal }),
  });
}
