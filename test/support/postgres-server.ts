/** The PostgreSQL server of tests is the one that is tortured. */
export { PostgresServer } from "../../bench/torture/postgres-server.mjs";
