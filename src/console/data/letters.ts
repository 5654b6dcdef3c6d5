/** Reads letters page by page. Their total is read separately, because counting may take longer. */

import { call } from "./api.ts";
import { dataText, type Letter } from "./letter.ts";
import { usePages } from "./list.ts";
import { LETTER_ORDERS, type ListSearch, letterQuery, oneOf } from "./search.ts";
import { useRoute } from "./use-route.ts";

export function useLetters(search: ListSearch) {
  const sort = oneOf(LETTER_ORDERS, search.sort);
  const query = { ...letterQuery(search), ...(sort && { sort }) };
  return usePages(
    ["letters", query],
    async (page, signal) => {
      const found = await call("GET /letters", { query: { ...query, ...page } }, { signal });
      return page.cursor === undefined ? found : { ...found, items: found.items.map(brief) };
    },
    ({ items }) => items,
  );
}

/**
 * Keeps only what a row of a list shows. Complete letters of a long list would take hundreds of megabytes.
 */
function brief(letter: Letter): Letter {
  const { item_data: data, failure_history: history } = letter;
  return {
    ...letter,
    item_data: dataText(data),
    failure_history: history
      .slice(-1)
      .map(({ stack_trace: _, stdout_tail: __, stderr_tail: ___, ...rest }) => rest),
  };
}

export function useLetterCount(search: ListSearch) {
  const query = letterQuery(search);
  return useRoute("letters", "GET /letters/count", { query });
}
