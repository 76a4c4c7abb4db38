-- Dedupe keys of a batch of messages, one each or none. As for one message, see send/dedupe.sql; and of those in the batch with one key the
-- first is sent.

-- Claims the keys that options name for the messages with these ids. Returns an id for each: its own if it is to be sent, otherwise that of
-- the message that has its key. The keys' locks are taken in one order, so that two batches do not wait for each other. A lock each is why there may
-- be so many keys and no more: all sessions share a table of some thousands.
create function claim_keys(queue_uid bigint, options jsonb, ids bigint[]) returns bigint[]
language plpgsql
volatile
set search_path from current
as $$
#variable_conflict use_variable
declare
  wanted constant text[] := dedupe_keys(options, cardinality(ids));
  ttl constant interval := dedupe_ttl(options);
  seed constant bigint := dedupe_seed(queue_uid);
  pointer bigint;
  key_lock bigint;
  claimed record;
begin
  perform require_read_committed('send_batch with dedupe_keys');
  for key_lock in select distinct hashtextextended(w.key, seed) from unnest(wanted) as w(key) where w.key is not null order by 1 loop
    perform pg_advisory_xact_lock(key_lock);
  end loop;
  pointer := pg_sequence_last_value('dedupe_pointer');
  select * into claimed from look_up_keys(queue_uid, wanted, ids, pointer_segment(pointer));
  insert into dedupe
  select pointer_segment(pointer), queue_uid, n.key, n.id, clock_timestamp() + ttl from unnest(claimed.new_keys, claimed.new_ids) as n(key, id);
  if pg_sequence_last_value('dedupe_pointer') <> pointer then
    insert into dedupe
    select pointer_segment(pg_sequence_last_value('dedupe_pointer')), queue_uid, n.key, n.id, clock_timestamp() + ttl
      from unnest(claimed.new_keys, claimed.new_ids) as n(key, id);
  end if;
  return claimed.answers;
end
$$;

-- Looks keys up whose locks are held, in the current table and the one before, by name: see claim_key. answers: for each message the one that has its key;
-- new_keys and new_ids: keys that nobody has, and the first message of each.
create function look_up_keys(
  queue_uid bigint, wanted text[], ids bigint[], current_table int, out answers bigint[], out new_keys text[], out new_ids bigint[]
)
language plpgsql
volatile
set search_path from current
set enable_seqscan = off
as $$
begin
  execute format(qualified($sql$
    with message as (
      select m.key, m.id, m.n, first_value(m.id) over (partition by m.key order by m.n) as first_id
        from unnest($2, $3) with ordinality as m(key, id, n)
    ),
    looked_up as materialized (
      select m.*, case when m.key is not null and m.id = m.first_id then (
               select d.message_id
                 from (select * from {schema}.dedupe_%1$s union all select * from {schema}.dedupe_%2$s) d
                where d.queue_uid = $1 and d.key = m.key and d.expires_at > $4 and d.message_id > 0
                  and not {schema}.is_key_released($1, m.key, d.message_id, %1$s)
                limit 1
             ) end as found_id
        from message m
    ),
    answered as (
      select l.*, max(l.found_id) over (partition by l.key) as known_id from looked_up l
    )
    select array_agg(case when a.key is null then a.id else coalesce(a.known_id, a.first_id) end order by a.n),
           array_agg(a.key order by a.n) filter (where a.id = a.first_id and a.key is not null and a.known_id is null),
           array_agg(a.id order by a.n) filter (where a.id = a.first_id and a.key is not null and a.known_id is null)
      from answered a
  $sql$), current_table, (current_table + 2) % 3) into answers, new_keys, new_ids using queue_uid, wanted, ids, clock_timestamp();
end
$$;

-- The dedupe keys of a batch of so many messages.
create function dedupe_keys(options jsonb, messages int) returns text[]
language plpgsql
immutable
set search_path from current
as $$
declare
  keys_max constant int := 1000;
  given constant jsonb := options -> 'dedupe_keys';
  wrong jsonb;
  keys int;
begin
  if jsonb_typeof(given) <> 'array' or jsonb_array_length(given) <> messages then
    raise exception using
      errcode = 'PQ004',
      message = format('expected dedupe_keys to be an array of %s, as many as payloads, got: %s', messages, left(given::text, 100)),
      hint = 'Use null for a message without a key.';
  end if;
  select k into wrong from jsonb_array_elements(given) as k
   where k <> 'null' and (jsonb_typeof(k) <> 'string' or octet_length(k #>> '{}') not between 1 and 1000) limit 1;
  if wrong is not null then
    raise exception using
      errcode = 'PQ004',
      message = format('expected each of dedupe_keys to be a string of 1 to 1000 bytes or null, got: %s', left(wrong::text, 100)),
      hint = 'Of the messages with one key the first is sent.';
  end if;
  select count(distinct k) into keys from jsonb_array_elements(given) as k where k <> 'null';
  if keys > keys_max then
    raise exception using
      errcode = 'PQ004',
      message = format('expected at most %s different dedupe_keys, got: %s', keys_max, keys),
      hint = 'Send in several transactions: each key holds a lock until the transaction ends.';
  end if;
  return array(select k.value from jsonb_array_elements_text(given) with ordinality as k(value, n) order by n);
end
$$;
