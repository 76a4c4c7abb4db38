-- Dedupe keys: of the messages that are sent to a queue with the same key within its time to live, the first is sent, and the others are
-- answered with its id.
--
-- Who sends with a key holds an advisory lock on it until the transaction ends, so the look-up sees whatever was sent with it before; there
-- is no unique constraint, whose losers would leave dead tuples, and none that could span the ring. Three tables take turns, see
-- rotate_expiring. Keys are looked up in the current and the one before. A sender that finds the pointer moved after its insert inserts into the new table as well.

create table dedupe (
  segment int not null,
  -- of the queue: its number may be given out again, this is not
  queue_uid bigint not null,
  key text not null,
  -- negative: cancel has given the key back, which the message with this id had
  message_id bigint not null,
  expires_at timestamptz not null
) partition by list (segment);

create table dedupe_0 partition of dedupe for values in (0) with (autovacuum_enabled = off);
create table dedupe_1 partition of dedupe for values in (1) with (autovacuum_enabled = off);
create table dedupe_2 partition of dedupe for values in (2) with (autovacuum_enabled = off);
-- of a key that is used often, those that have run out are not read
create index dedupe_by_key on dedupe (queue_uid, key, expires_at);

comment on table dedupe is 'Keys with which messages were sent, until when they count, and the first message of each.';

-- Which table takes inserts, and since when: see segment_pointer.
create sequence dedupe_pointer minvalue 0;
select setval('dedupe_pointer', pointer_to(0));

-- The lock on a key of a queue is hashtextextended(key, seed).
create function dedupe_seed(queue_uid bigint) returns bigint
language sql
stable
return hashint8extended(queue_uid, lock_seed('dedupe', 0));

-- Claims the key that options name for this message. Returns null, or the id of the message that has it already. With if_waiting = replace that one is
-- cancelled where nobody has received it, and this one takes the key. With postpone it is sent anew for the time of this one, and has the key and a new id.
create function claim_key(queue_uid bigint, options jsonb, message_id bigint) returns bigint
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  wanted constant text := dedupe_key(options);
  ttl constant interval := dedupe_ttl(options);
  pointer bigint;
  first_id bigint;
  postponed_id bigint;
  holder_id bigint := message_id;
begin
  perform require_read_committed('send with a dedupe_key');
  perform pg_advisory_xact_lock(hashtextextended(wanted, dedupe_seed(queue_uid)));
  pointer := pg_sequence_last_value('dedupe_pointer');
  first_id := (look_up_key(queue_uid, wanted, pointer_segment(pointer))).message_id;
  if first_id is not null then
    case options ->> 'if_waiting'
      when 'replace' then
        perform replace_message(claim_key.queue_uid, wanted, first_id);
      when 'postpone' then
        postponed_id := postpone_message(claim_key.queue_uid, wanted, first_id, send_due_at(options));
        holder_id := coalesce(postponed_id, holder_id);
      else
        return first_id;
    end case;
  end if;
  insert into dedupe values (pointer_segment(pointer), claim_key.queue_uid, wanted, holder_id, clock_timestamp() + ttl);
  if pg_sequence_last_value('dedupe_pointer') <> pointer then
    insert into dedupe
    values (pointer_segment(pg_sequence_last_value('dedupe_pointer')), claim_key.queue_uid, wanted, holder_id, clock_timestamp() + ttl);
  end if;
  return postponed_id;
end
$$;

-- The message that has a key, whose lock is held; null: none. current_table: what the pointer says. By name: a look at the parent would lock the third table
-- too, until this transaction ends.
create function look_up_key(queue_uid bigint, wanted text, current_table int, out message_id bigint, out expires_at timestamptz)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  looked_at constant timestamptz := clock_timestamp();
  claim record;
begin
  case current_table
    when 0 then
      select d.message_id, d.expires_at into claim from (select * from dedupe_0 union all select * from dedupe_2) d
       where d.queue_uid = look_up_key.queue_uid and d.key = wanted and d.expires_at > looked_at and d.message_id > 0
         and not is_key_released(d.queue_uid, d.key, d.message_id, current_table)
       limit 1;
    when 1 then
      select d.message_id, d.expires_at into claim from (select * from dedupe_1 union all select * from dedupe_0) d
       where d.queue_uid = look_up_key.queue_uid and d.key = wanted and d.expires_at > looked_at and d.message_id > 0
         and not is_key_released(d.queue_uid, d.key, d.message_id, current_table)
       limit 1;
    when 2 then
      select d.message_id, d.expires_at into claim from (select * from dedupe_2 union all select * from dedupe_1) d
       where d.queue_uid = look_up_key.queue_uid and d.key = wanted and d.expires_at > looked_at and d.message_id > 0
         and not is_key_released(d.queue_uid, d.key, d.message_id, current_table)
       limit 1;
  end case;
  message_id := claim.message_id;
  expires_at := claim.expires_at;
end
$$;

-- Whether cancel has given back the key of a message. Asked of keys that somebody has alone.
create function is_key_released(queue_uid bigint, wanted text, message_id bigint, current_table int) returns boolean
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
begin
  case current_table
    when 0 then return exists (
      select from (select * from dedupe_0 union all select * from dedupe_2) d
       where d.queue_uid = is_key_released.queue_uid and d.key = wanted and d.message_id = -is_key_released.message_id
    );
    when 1 then return exists (
      select from (select * from dedupe_1 union all select * from dedupe_0) d
       where d.queue_uid = is_key_released.queue_uid and d.key = wanted and d.message_id = -is_key_released.message_id
    );
    when 2 then return exists (
      select from (select * from dedupe_2 union all select * from dedupe_1) d
       where d.queue_uid = is_key_released.queue_uid and d.key = wanted and d.message_id = -is_key_released.message_id
    );
  end case;
end
$$;

-- Gives keys back that messages have, whose locks are held: who sends with one of them next is the first.
create function release_keys(queue_uid bigint, keys text[]) returns void
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
#variable_conflict use_column
declare
  pointer constant bigint := pg_sequence_last_value('dedupe_pointer');
  released dedupe[];
begin
  released := array(
    select row(pointer_segment(pointer), release_keys.queue_uid, w.key, -c.message_id, c.expires_at)::dedupe
      from (select distinct unnest(keys) as key) w
     cross join lateral look_up_key(release_keys.queue_uid, w.key, pointer_segment(pointer)) c
     where c.message_id is not null
  );
  insert into dedupe select r.* from unnest(released) as r;
  if pg_sequence_last_value('dedupe_pointer') <> pointer then
    insert into dedupe
    select pointer_segment(pg_sequence_last_value('dedupe_pointer')), r.queue_uid, r.key, r.message_id, r.expires_at from unnest(released) as r;
  end if;
end
$$;

create function dedupe_key(options jsonb) returns text
language plpgsql
immutable
set search_path from current
as $$
begin
  if jsonb_typeof(options -> 'dedupe_key') <> 'string' or octet_length(options ->> 'dedupe_key') not between 1 and 1000 then
    raise exception using
      errcode = 'PQ004',
      message = format('expected dedupe_key to be a string of 1 to 1000 bytes, got: %s', left((options -> 'dedupe_key')::text, 100)),
      hint = 'Of the messages with one key the first is sent.';
  end if;
  return options ->> 'dedupe_key';
end
$$;

-- How long a key counts: a number of seconds or an interval, up to 30 days; a day unless options say otherwise.
create function dedupe_ttl(options jsonb) returns interval
language plpgsql
immutable
set search_path from current
as $$
declare
  ttl constant interval := option_interval(options, 'dedupe_ttl', '30 days');
begin
  return coalesce(ttl, '1 day');
end
$$;
