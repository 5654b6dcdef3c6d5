/** The statements that create a SQLite store with its current schema at once, derived from the migrations. */
export declare function newStoreSql(): Promise<string>;
