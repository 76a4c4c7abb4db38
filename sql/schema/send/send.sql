-- Sending. One generated function per queue does the work: its statements are static, so their plans are kept.

-- What send and send_batch of a queue have beside seq, id, type, payload and headers, if the queue has lanes or messages that expire.
-- columns, one, many: the columns, and their values for one message and for one of many, m. unnested, names: what else is unnested for m.
-- declared, read_one, read_many: variables, and the statements that read them from the options. later_one, later_many: the arguments
-- lanes, keys and expires_at of send_later.
create function send_parts(
  queue_id int, out columns text, out one text, out many text, out unnested text, out names text, out declared text,
  out read_one text, out read_many text, out later_one text, out later_many text
)
language plpgsql
stable
set search_path from current
as $$
declare
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select '', '', '', '', '', '', '', '', 'null, null, ', 'null, null, '
    into columns, one, many, unnested, names, declared, read_one, read_many, later_one, later_many;
  if settings.lane_by = 'priority' then
    select 'lane, ', 'lane, ', 'lane, ', E'\n  lane int := 0;', format(qualified(E'\n    lane := {schema}.send_priority(options, %s);'), settings.lanes),
           'array[lane], null, ', 'array_fill(lane, array[cardinality(ids)]), null, '
      into columns, one, many, declared, read_one, later_one, later_many;
    read_many := read_one;
  elsif settings.lane_by = 'key' then
    select 'lane, key, ', format(qualified('{schema}.lane_of_%s(key, message_id), key, '), queue_id), format(qualified('{schema}.lane_of_%s(m.key, m.id), m.key, '), queue_id),
           ', keys', ', key', E'\n  key text;\n  keys text[];', format(qualified(E'\n    key := {schema}.send_key(options);')), format(qualified(E'\n    keys := {schema}.send_keys(options, cardinality(ids));')),
           format(qualified('array[{schema}.lane_of_%s(key, message_id)], array[key], '), queue_id),
           format(qualified('array(select {schema}.lane_of_%s(k.key, k.id) from unnest(keys, ids) with ordinality as k(key, id, n) order by n), keys, '), queue_id)
      into columns, one, many, unnested, names, declared, read_one, read_many, later_one, later_many;
  end if;
  if settings.allow_expiry then
    columns := columns || 'expires_at, ';
    one := one || 'expires_at, ';
    many := many || 'expires_at, ';
    declared := declared || E'\n  expires_at timestamptz;';
    read_one := read_one || format(qualified(E'\n    expires_at := {schema}.send_expires_at(options);'));
    read_many := read_many || format(qualified(E'\n    expires_at := {schema}.send_expires_at(options);'));
    later_one := later_one || 'expires_at';
    later_many := later_many || 'expires_at';
  else
    later_one := later_one || 'null';
    later_many := later_many || 'null';
  end if;
end
$$;

-- Writes send_<queue id>: inserts one message into the segment that the pointer names and returns its id.
create function generate_send(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  insert_into constant text := qualified($sql$
      insert into {schema}.message_%1$s_%2$s (%3$sseq, id, type, payload, headers) values (%4$smessage_id, message_id, type_name, payload, headers);$sql$);
  part constant record := send_parts(queue_id);
  branches text;
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select string_agg(format('when %2$s then ' || insert_into, queue_id, segment, part.columns, part.one), '' order by segment)
    into branches
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);

  execute format(qualified($ddl$
create or replace function {schema}.send_%1$s(type_name text, payload text, options jsonb) returns bigint
language plpgsql
security definer
set search_path = pg_catalog, pg_temp
as %2$L;
revoke all on function {schema}.send_%1$s(text, text, jsonb) from public
$ddl$), queue_id, format(qualified($body$
declare
  message_id constant bigint := nextval('{schema}.message_seq_%1$s');
  first_id bigint;
  headers jsonb;
  due_at timestamptz;%6$s
begin
  -- one look for all that is rare: plpgsql sets up every expression anew in every transaction
  if type_name is null or octet_length(payload) > %3$s or options is not null or {schema}.cluster_changed() then
    perform {schema}.require_same_cluster();
    if type_name is null or octet_length(payload) > %3$s then
      perform {schema}.check_send(type_name, payload, %3$s);
    end if;
    if options is not null and not {schema}.are_send_options(options, %10$L) then
      perform {schema}.refuse_send_options(%1$s, options, %10$L);
    end if;
    headers := options -> 'headers';
    if options ?| '{delay,at}' then
      due_at := {schema}.send_due_at(options);
    end if;%7$s
    if options ? 'dedupe_key' then
      first_id := {schema}.claim_key(%4$s, options, message_id);
      if first_id is not null then
        return first_id;
      end if;
    end if;
    if due_at > clock_timestamp() then
      perform {schema}.send_later(%4$s, due_at, array[message_id], %8$s, type_name, array[payload], array[headers]);
      return message_id;
    end if;
  end if;
  case {schema}.pointer_segment(pg_sequence_last_value('{schema}.segment_pointer_%1$s')) %2$s
    -- a segment younger than this function is served by the first: receivers read the whole ring
    else%9$s
  end case;
  %5$s
  return message_id;
end
$body$), queue_id, branches, settings.payload_bytes_max, settings.uid, wake_statement(queue_id), part.declared, part.read_one, part.later_one,
  format(insert_into, queue_id, 0, part.columns, part.one), known_send_options(queue_id, of_batch => false)));
end
$generate$;

-- Refuses what is not a type, and payloads that are too large.
create function check_send(type_name text, payload text, bytes_max int) returns void
language plpgsql
immutable
set search_path from current
as $$
begin
  if type_name is null then
    raise exception using errcode = 'PQ004', message = 'expected a message type, got: NULL', hint = 'Leave the type out for the type "default".';
  end if;
  if octet_length(payload) > bytes_max then
    raise exception using
      errcode = 'PQ004',
      message = format('payload too large: expected at most %s bytes, got: %s', bytes_max, octet_length(payload)),
      hint = 'Store it elsewhere and send a reference, or raise payload_bytes_max of the queue.';
  end if;
end
$$;
