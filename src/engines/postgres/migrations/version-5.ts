/**
 * Migrates from version 4 to 5: options of single items, progress of running attempts, a store id, and the
 * function that runs Redrive's statements inside a caller's transaction (within.ts).
 */
export const VERSION_5 = `
  -- As JSON: retries, backoff and context of the item; null for an item that has none of them.
  ALTER TABLE payloads ADD COLUMN options text;

  -- The last progress that an attempt has reported.
  CREATE TABLE progress (ref bigint PRIMARY KEY, attempt integer NOT NULL, at bigint NOT NULL, value text NOT NULL)
    WITH (fillfactor = 50);

  ALTER TABLE store ADD COLUMN id text NOT NULL DEFAULT md5(random()::text || clock_timestamp()::text);

  -- Sets the search path only while it runs, so that other statements of the caller never see it. A violated unique index
  -- undoes the statement alone; any other error aborts the caller's transaction.
  CREATE FUNCTION run_within(path text, statement text, has_rows boolean) RETURNS text LANGUAGE plpgsql
    SET search_path = pg_catalog SET jit = off AS $function$
  DECLARE
    one record;
    found json[] := '{}';
    written bigint;
  BEGIN
    PERFORM set_config('search_path', path, true);
    IF has_rows THEN
      FOR one IN EXECUTE statement LOOP
        found := found || row_to_json(one);
      END LOOP;
      RETURN json_build_object('rows', array_to_json(found));
    END IF;
    EXECUTE statement;
    GET DIAGNOSTICS written = ROW_COUNT;
    RETURN json_build_object('written', written);
  EXCEPTION WHEN unique_violation THEN
    RETURN json_build_object('taken', SQLERRM);
  END $function$;
`;
