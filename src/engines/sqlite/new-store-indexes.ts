/** The indexes and triggers of a new store. Generated from the migrations by `npm run schema`. */
export const NEW_STORE_INDEXES = [
  `CREATE INDEX holders_here ON holders (no) WHERE gone = 0`,
  `CREATE INDEX items_leased ON items (holder) WHERE state = 'leased'`,
  `CREATE INDEX letters_by_group ON letters (grp, no)`,
  `CREATE INDEX evidence_by_item ON "late_results" (ref)`,
  `CREATE INDEX events_by_queue ON events (queue, id)`,
  `CREATE INDEX closed_discarded ON "resolved_letters" (grp, no) WHERE kind = 'discard'`,
  `CREATE INDEX closed_resolved ON "resolved_letters" (grp, no) WHERE kind <> 'discard'`,
  `CREATE INDEX notes_by_item ON notes (ref)`,
  `CREATE INDEX groups_by_signature ON groups (signature)`,
  `CREATE INDEX group_notes_by_group ON group_notes (signature)`,
  `CREATE INDEX items_ready ON items (queue, priority, due_at, ref) WHERE state = 'ready' AND waits = 0`,
  `CREATE INDEX items_ready_again ON items (operation, priority, due_at, ref) WHERE state = 'ready' AND operation IS NOT NULL`,
  `CREATE INDEX items_held ON items (queue, ref) WHERE state = 'held'`,
  `CREATE INDEX items_by_ordering_key ON items (queue, ordering_key, state, waits, ref) WHERE ordering_key IS NOT NULL`,
  `CREATE INDEX items_by_origin ON items (origin, ref) WHERE origin IS NOT NULL`,
  `CREATE INDEX items_dead ON items (queue, attempts, ref) WHERE state = 'dead'`,
  `CREATE INDEX items_dead_by_id ON items (item_id, ref) WHERE state = 'dead'`,
  `CREATE TRIGGER items_added_dead AFTER INSERT ON items WHEN NEW.state = 'dead' BEGIN INSERT INTO "letters_by_attempts" (queue, attempts, count) VALUES (NEW.queue, NEW.attempts, 1)
    ON CONFLICT DO UPDATE SET count = count + 1; END`,
  `CREATE TRIGGER items_died AFTER UPDATE OF state, attempts ON items WHEN NEW.state = 'dead' BEGIN INSERT INTO "letters_by_attempts" (queue, attempts, count) VALUES (NEW.queue, NEW.attempts, 1)
    ON CONFLICT DO UPDATE SET count = count + 1; END`,
  `CREATE TRIGGER items_were_dead AFTER UPDATE OF state, attempts ON items WHEN OLD.state = 'dead' BEGIN UPDATE "letters_by_attempts" SET count = count - 1 WHERE queue = OLD.queue AND attempts = OLD.attempts; END`,
  `CREATE TRIGGER letters_by_age_removed AFTER DELETE ON "letters_by_age" BEGIN
    UPDATE "letters_by_age_of_all" SET count = count - OLD.count WHERE number_range = OLD.number_range;
  END`,
  `CREATE INDEX message_templates_empty ON "message_templates" (no) WHERE count = 0`,
  `CREATE INDEX message_templates_open ON "message_templates" (no) WHERE is_open = 1`,
  `CREATE INDEX indexed_messages_by_template ON "indexed_messages" (template, no)`,
  `CREATE TRIGGER indexed_messages_removed AFTER DELETE ON "indexed_messages" BEGIN
    UPDATE "message_templates" SET count = count - 1 WHERE no = OLD.template;
    DELETE FROM "parameter_texts" WHERE rowid = OLD.no AND OLD.parameters <> '';
  END`,
  `CREATE TRIGGER letters_left AFTER DELETE ON letters WHEN OLD.no <= (SELECT no FROM "indexed_to") BEGIN
    DELETE FROM "indexed_messages" WHERE no = OLD.no;
    DELETE FROM "unindexed_letters" WHERE no = OLD.no;
    UPDATE "indexed_to" SET no = 0 WHERE NOT EXISTS (SELECT 1 FROM "indexed_messages") AND NOT EXISTS (SELECT 1 FROM "unindexed_letters");
  END`,
  `CREATE TRIGGER letters_regrouped AFTER UPDATE OF grp ON letters WHEN NEW.no <= (SELECT no FROM "indexed_to") BEGIN
    DELETE FROM "indexed_messages" WHERE no = NEW.no;
    INSERT OR IGNORE INTO "unindexed_letters" (no) VALUES (NEW.no);
  END`,
  `CREATE INDEX events_of_errors ON events (queue, id) WHERE (type = 'attempt_failed' OR type = 'attempt_lost' OR type = 'failure_imported' OR type = 'runner_failed' OR type = 'store_write_failed')`,
  `CREATE TRIGGER letters_by_age_added AFTER INSERT ON "letters_by_age" BEGIN
    INSERT INTO "letters_by_age_of_all" (number_range, count, first_at, last_at, first_min, first_max)
    VALUES (NEW.number_range, NEW.count, NEW.first_at, NEW.last_at, NEW.first_min, NEW.first_max)
    ON CONFLICT DO UPDATE SET count = count + NEW.count, first_at = min(first_at, NEW.first_at),
                              last_at = max(last_at, NEW.last_at), first_min = min(first_min, NEW.first_min),
                              first_max = max(first_max, NEW.first_max);
  END`,
  `CREATE TRIGGER letters_by_age_changed AFTER UPDATE ON "letters_by_age" BEGIN
    UPDATE "letters_by_age_of_all" SET count = count + NEW.count - OLD.count, first_at = min(first_at, NEW.first_at),
                             last_at = max(last_at, NEW.last_at), first_min = min(first_min, NEW.first_min),
                             first_max = max(first_max, NEW.first_max)
     WHERE number_range = NEW.number_range;
  END`,
  `CREATE INDEX agent_runs_by_queue ON agent_runs (queue)`,
  `CREATE INDEX agent_runs_by_item ON agent_runs (ref, attempt) WHERE ref IS NOT NULL`,
];
