/** Tests use the same PostgreSQL server class as the torture runs. */
export { PostgresServer } from "../../bench/torture/postgres-server.mjs";
