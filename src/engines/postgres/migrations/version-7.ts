/** Migrates from version 6 to 7: the index by which the events of one item are found at known times. */

/** Times only grow, so every row is added at the end of the index. Rows of runs of items have no `ref`. */
export const VERSION_7 = "CREATE INDEX events_of_items ON events (queue, at, ref)";
