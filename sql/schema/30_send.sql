-- Sending. One generated function per queue does the work: its statements are static, so their plans are kept, which
-- doubles the rate.

-- Writes send_<queue id>: inserts one message into the segment that the pointer names and returns its id.
create function generate_send(queue_id int) returns void
language plpgsql
set search_path from current
as $generate$
declare
  branches text;
  settings queue;
begin
  select * into settings from queue q where q.id = queue_id;
  select string_agg(format($sql$
    when %2$s then
      insert into message_%1$s_%2$s (seq, id, type, payload, headers) values (message_id, message_id, type_name, payload, headers);$sql$,
      queue_id, segment), '' order by segment)
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
  due_at timestamptz;
begin
  -- one look for all that is rare: plpgsql sets up every expression anew in every transaction
  if type_name is null or octet_length(payload) > %3$s or options is not null then
    perform check_send(type_name, payload, %3$s);
    perform check_send_options(options);
    headers := options -> 'headers';
    due_at := send_due_at(options);
    if due_at > clock_timestamp() then
      perform send_later(%4$s, due_at, array[message_id], type_name, array[payload], array[headers]);
      return message_id;
    end if;
  end if;
  -- a segment younger than this function is served by the first: receivers read the whole ring
  case pointer_segment(pg_sequence_last_value('segment_pointer_%1$s')) %2$s
    else
      insert into message_%1$s_0 (seq, id, type, payload, headers) values (message_id, message_id, type_name, payload, headers);
  end case;
  %5$s
  return message_id;
end
$send$;
revoke all on function send_%1$s(text, text, jsonb) from public
$ddl$, queue_id, branches, settings.payload_bytes_max, settings.uid, wake_statement(queue_id));
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
