-- Sending. One generated function per queue does the work: its statements are static, so their plans are kept, which
-- doubles the rate.

-- What send and send_batch of a queue have beside seq, id, type, payload and headers: the columns, and their values for one message m.
create function lane_columns(queue_id int, out columns text, out one text, out many text)
language plpgsql
stable
set search_path from current
as $$
begin
  case (select q.lane_by from queue q where q.id = queue_id)
    when 'priority' then
      select 'lane, ', 'lane, ', 'lane, ' into columns, one, many;
    when 'key' then
      select 'lane, key, ', format('lane_of_%s(key, message_id), key, ', queue_id), format('lane_of_%s(m.key, m.id), m.key, ', queue_id)
        into columns, one, many;
    else
      select '', '', '' into columns, one, many;
  end case;
end
$$;

-- Writes send_<queue id>: inserts one message into the segment that the pointer names and returns its id.
create function generate_send(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  -- a segment younger than this function is served by the first: receivers read the whole ring
  insert_into constant text := $sql$
      insert into message_%1$s_%2$s (%3$sseq, id, type, payload, headers) values (%4$smessage_id, message_id, type_name, payload, headers);$sql$;
  lane constant record := lane_columns(queue_id);
  branches text;
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select string_agg(format('when %2$s then ' || insert_into, queue_id, segment, lane.columns, lane.one), '' order by segment)
    into branches
    from generate_series(0, segment_count(queue_id) - 1) as ring(segment);

  execute format($ddl$
create or replace function send_%1$s(type_name text, payload text, options jsonb) returns bigint
language plpgsql
security definer
set search_path from current
as $send$
declare
  message_id constant bigint := nextval('message_seq_%1$s');
  headers jsonb;
  due_at timestamptz;%6$s
begin
  -- one look for all that is rare: plpgsql sets up every expression anew in every transaction
  if type_name is null or octet_length(payload) > %3$s or options is not null then
    perform check_send(type_name, payload, %3$s);
    perform check_send_options(%1$s, options);
    headers := options -> 'headers';
    due_at := send_due_at(options);%7$s
    if due_at > clock_timestamp() then
      perform send_later(%4$s, due_at, array[message_id], %8$s, type_name, array[payload], array[headers]);
      return message_id;
    end if;
  end if;
  case pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')) %2$s
    else%9$s
  end case;
  %5$s
  return message_id;
end
$send$;
revoke all on function send_%1$s(text, text, jsonb) from public
$ddl$, queue_id, branches, settings.payload_bytes_max, settings.uid, wake_statement(queue_id),
  case settings.lane_by when 'priority' then '
  lane int := 0;' when 'key' then '
  key text;' else '' end,
  case settings.lane_by when 'priority' then format('
    lane := send_priority(options, %s);', settings.lanes) when 'key' then '
    key := send_key(options);' else '' end,
  case settings.lane_by when 'priority' then 'array[lane], null'
    when 'key' then format('array[lane_of_%s(key, message_id)], array[key]', queue_id) else 'null, null' end,
  format(insert_into, queue_id, 0, lane.columns, lane.one));
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
