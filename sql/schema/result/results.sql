-- Results: what came of messages whose sender wants to know. Kept for messages with the header pgque-result-ttl-ms alone, or whose worker gives one:
-- a queue that uses none has no row here, and nothing of its functions knows of it.
--
-- A result is written in the transaction that settles the message, or makes a dead letter of it: it is there if and only if that has committed.
-- Three tables take turns, as with dedupe keys: see rotate_expiring.

create table result (
  segment int not null,
  -- of the queue: its number may be given out again, this is not
  queue_uid bigint not null,
  message_id bigint not null,
  -- by name: results outlive a consumer
  consumer text not null,
  -- done, or dead: a dead letter. One that is redriven may have both, the later counts
  state text not null,
  -- of done: JSON, or null for none
  result text,
  -- of dead: that of the dead letter
  reason text,
  settled_at timestamptz not null,
  expires_at timestamptz not null,
  -- the header pgque-reply-to: who knows it has sent the message, and may read what came of it
  reply_to text
) partition by list (segment);

create table result_0 partition of result for values in (0) with (autovacuum_enabled = off);
create table result_1 partition of result for values in (1) with (autovacuum_enabled = off);
create table result_2 partition of result for values in (2) with (autovacuum_enabled = off);
create index result_by_message on result (queue_uid, message_id);

comment on table result is 'What came of messages whose sender wants to know, and until when it is kept.';

-- Which table takes inserts, and since when: see segment_pointer.
create sequence result_pointer minvalue 0;
select setval('result_pointer', pointer_to(0));

-- A result has so many bytes at most.
create function result_bytes_max() returns int
language sql
immutable
return 1048576;

-- How long the sender wants the result of a message to be kept, 30 days at most; null: not at all. What is no such number, which any sender may have
-- written, is none.
create function result_ttl(headers jsonb) returns interval
language sql
immutable
return case when jsonb_typeof(headers -> 'pgque-result-ttl-ms') = 'number'
  then least(greatest((headers -> 'pgque-result-ttl-ms')::numeric, 1), 2592000000)::float8 * interval '1 ms'
end;

-- The channel that is notified of a result, as headers name it: sixteen hexadecimal digits that somebody has drawn. Anything else names none.
create function reply_channel(reply_to text) returns text
language sql
immutable
return case when reply_to ~ '^[0-9a-f]{16}$' then 'pgque_reply_' || reply_to end;

-- The row of one result. Notifies whoever waits for it, when this transaction commits, unless the cluster's queue of notifications is half full.
create function new_result(
  queue_uid bigint, message_id bigint, consumer text, state text, result text, reason text, headers jsonb, ttl interval
) returns result
language plpgsql
volatile
set search_path from current
as $$
declare
  channel constant text := reply_channel(headers ->> 'pgque-reply-to');
  now constant timestamptz := clock_timestamp();
begin
  if channel is not null and pg_notification_queue_usage() < 0.5 then
    perform pg_notify(channel, jsonb_build_object('id', message_id::text, 'consumer', consumer)::text);
  end if;
  return row(
    pointer_segment(pg_sequence_last_value('result_pointer')), queue_uid, message_id, consumer, state, result, reason, now, now + ttl,
    headers ->> 'pgque-reply-to'
  );
end
$$;
