-- One received message in the shape that PgQue's clients know: they build it as a ten-field row for nack.
create type message as (
  msg_id bigint,
  batch_id bigint,
  type text,
  payload text,
  retry_count int,
  created_at timestamptz,
  extra1 text,
  extra2 text,
  extra3 text,
  extra4 text
);

-- One received message with everything known of it.
create type received_message as (
  batch_id bigint,
  message_id bigint,
  attempt int,
  type text,
  payload text,
  headers jsonb,
  created_at timestamptz,
  leased_until timestamptz,
  -- null on a queue that has none
  priority int,
  key text,
  -- how many processes have ended with it in hand; null: none
  crashes int
);

-- What became of one message that was sent. deduplicated: it was not, for another message has its dedupe key; id is that one's. replaced_id: the message
-- that had the key, and was cancelled for this one, or has been given the new id because it was postponed; null: none.
create type sent as (id bigint, deduplicated boolean, replaced_id bigint);

-- Up to where the batches of a cursor are finished: see receive/open_batches.sql.
create type settled_watermark as (settled_before bigint, still_open bigint[]);
